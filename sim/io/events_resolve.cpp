#include "sim/base/text.hpp"
#include "sim/io/events_file.hpp"

#include <algorithm>
#include <unordered_map>
#include <variant>

namespace stagecraft {
namespace {

constexpr std::size_t kManyNames = 10'000;  // with more names, searching for the nearest one takes too long

template <class Id, class T>
std::unordered_map<std::string, Id> ids_by_name(const IndexVector<Id, T>& items) {
  std::unordered_map<std::string, Id> ids;
  for (Id id : indices(items)) ids.emplace(items[id].name, id);
  return ids;
}

template <class Id>
std::string hint_for(const std::string& name, const std::unordered_map<std::string, Id>& ids) {
  if (ids.size() > kManyNames) return {};
  std::vector<std::string> known;
  for (const auto& [each, id] : ids) known.push_back(each);
  std::ranges::sort(known);
  return suggest_name(name, known);
}

/// Resolves events for a platform. The tables of names are made when the first event needs them.
class Resolution {
 public:
  explicit Resolution(const Platform& platform) : platform_(platform), devices_(ids_by_name(platform.devices)) {}

  void add(const NamedEvent& named) {
    Event event = named.event;
    if (auto* slowdown = std::get_if<Slowdown>(&event.change)) slowdown->device = device(named, 0);
    if (auto* failure = std::get_if<Failure>(&event.change)) failure->device = device(named, 0);
    auto* change = std::get_if<BandwidthChange>(&event.change);
    if (change == nullptr) {
      events_.push_back(event);
      return;
    }
    for (LinkId link : named.names.size() == 2 ? links_between(named) : links_called(named)) {
      change->link = link;
      events_.push_back(event);
    }
  }
  [[nodiscard]] Events take() { return std::move(events_); }

 private:
  [[nodiscard]] DeviceId device(const NamedEvent& named, std::size_t position) const {
    const std::string& name = named.names.at(position);
    const auto found = devices_.find(name);
    if (found != devices_.end()) return found->second;
    throw InputError("the platform " + quote(platform_.spec.name) + " has no device " + quote(name), named.place,
                     hint_for(name, devices_));
  }

  /// The link of that name, or its two directions.
  [[nodiscard]] std::vector<LinkId> links_called(const NamedEvent& named) {
    if (links_.empty()) links_ = ids_by_name(platform_.links);
    const std::string& name = named.names.front();
    if (const auto found = links_.find(name); found != links_.end()) return {found->second};
    for (const auto& [forth, back] : {std::pair(".up", ".down"), std::pair(".forward", ".reverse")}) {
      const auto first = links_.find(name + forth);
      const auto second = links_.find(name + back);
      if (first != links_.end() && second != links_.end()) return {first->second, second->second};
    }
    throw InputError("the platform " + quote(platform_.spec.name) + " has no link " + quote(name), named.place,
                     hint_for(name, links_));
  }

  [[nodiscard]] std::vector<LinkId> links_between(const NamedEvent& named) {
    const DeviceId a = device(named, 0);
    const DeviceId b = device(named, 1);
    std::vector<LinkId> links;
    add_narrowest(named, a, b, links);
    add_narrowest(named, b, a, links);
    return links;
  }

  void add_narrowest(const NamedEvent& named, DeviceId from, DeviceId to, std::vector<LinkId>& into) {
    if (!find_route(platform_, platform_.place(from), platform_.place(to), route_)) {
      throw InputError("the devices " + quote(named.names[0]) + " and " + quote(named.names[1]) + " are not connected",
                       named.place);
    }
    const auto narrower = [&](LinkId a, LinkId b) {
      return platform_.links[a].bandwidth < platform_.links[b].bandwidth;
    };
    const LinkId narrowest = *std::ranges::min_element(route_.links, narrower);
    for (LinkId link : route_.links) {
      if (!narrower(narrowest, link) && std::ranges::find(into, link) == into.end()) into.push_back(link);
    }
  }

  const Platform& platform_;
  std::unordered_map<std::string, DeviceId> devices_;
  std::unordered_map<std::string, LinkId> links_;
  Events events_;
  Route route_;
};

}  // namespace

Events resolve_events(const std::vector<NamedEvent>& events, const Platform& platform) {
  Resolution resolution(platform);
  for (const NamedEvent& named : events) resolution.add(named);
  return resolution.take();
}

}  // namespace stagecraft
