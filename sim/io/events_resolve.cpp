#include "sim/base/text.hpp"
#include "sim/io/events_file.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <type_traits>
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

/// Whether the name is the pattern, in which a `*` stands for any characters, also for none.
bool matches(std::string_view name, std::string_view pattern) {
  std::size_t at = 0;
  std::size_t in_pattern = 0;
  std::size_t star = std::string_view::npos;  // the last one, and the place up to which it stands for the name
  std::size_t covered = 0;
  while (at < name.size()) {
    if (in_pattern < pattern.size() && pattern[in_pattern] == '*') {
      star = in_pattern++;
      covered = at;
    } else if (in_pattern < pattern.size() && pattern[in_pattern] == name[at]) {
      ++at;
      ++in_pattern;
    } else if (star != std::string_view::npos) {
      in_pattern = star + 1;
      at = ++covered;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', in_pattern) == std::string_view::npos;
}

/// A link's name without its direction; the whole name of a link without one.
std::string_view without_direction(std::string_view name) {
  for (const std::string_view direction : {".up", ".down", ".forward", ".reverse"}) {
    if (name.ends_with(direction)) return name.substr(0, name.size() - direction.size());
  }
  return name;
}

bool is_pattern(const std::string& name) { return name.find('*') != std::string::npos; }

/// Resolves events for a platform. The tables of names are made when the first event needs them.
class Resolution {
 public:
  explicit Resolution(const Platform& platform)
      : platform_(platform), node_names_(node_names(platform)), devices_(ids_by_name(platform.devices)) {}

  void add(const NamedEvent& named) {
    Event event = named.event;
    event.listed = listed_++;
    if (auto* slowdown = std::get_if<Slowdown>(&event.change)) {
      add_for_devices(named, event, *slowdown);
    } else if (auto* failure = std::get_if<Failure>(&event.change)) {
      add_for_devices(named, event, *failure);
    } else if (auto* departure = std::get_if<Departure>(&event.change)) {
      add_for_devices(named, event, *departure);
    } else if (auto* limit = std::get_if<MemoryLimit>(&event.change)) {
      add_for_devices(named, event, *limit);
    } else if (auto* change = std::get_if<BandwidthChange>(&event.change)) {
      add_for_links(named, event, *change);
    } else if (auto* link_failure = std::get_if<LinkFailure>(&event.change)) {
      add_for_links(named, event, *link_failure);
    } else {
      events_.push_back(event);
    }
  }
  [[nodiscard]] Events take() { return std::move(events_); }

 private:
  /// `change` is that of `event`.
  template <class Change>
  void add_for_devices(const NamedEvent& named, const Event& event, Change& change) {
    for (DeviceId device : devices_called(named)) {
      change.device = device;
      if constexpr (std::is_same_v<Change, MemoryLimit>) require_memory(named, change);
      events_.push_back(event);
    }
  }

  template <class Change>
  void add_for_links(const NamedEvent& named, const Event& event, Change& change) {
    for (LinkId link : named.names.size() == 2 ? links_between(named) : links_called(named)) {
      change.link = link;
      events_.push_back(event);
    }
  }

  void require_memory(const NamedEvent& named, const MemoryLimit& limit) const {
    const Bytes most = platform_.memory(limit.device);
    if (limit.memory <= most) return;
    throw InputError("the device " + quote(platform_.devices[limit.device].name) + " has " + format_whole_bytes(most) +
                         " of memory, so it cannot have " + format_whole_bytes(limit.memory),
                     named.place);
  }

  [[nodiscard]] DeviceId device(const NamedEvent& named, std::size_t position) const {
    const std::string& name = named.names.at(position);
    const auto found = devices_.find(name);
    if (found != devices_.end()) return found->second;
    throw InputError("the platform " + quote(platform_.spec.name) + " has no device " + quote(name), named.place,
                     hint_for(name, devices_));
  }

  /// Whether the device's name matches, or the one that begins with its node's: `node2.gpu17`.
  [[nodiscard]] bool is_called(DeviceId id, const std::string& pattern) const {
    return matches(platform_.devices[id].name, pattern) ||
           (!pattern.starts_with('*') && matches(full_name(id), pattern));
  }

  /// With that of its node, if it has one.
  [[nodiscard]] std::string full_name(DeviceId id) const {
    const Device& device = platform_.devices[id];
    return device.node.is_none() ? device.name : node_names_[device.node] + "." + device.name;
  }

  /// What devices are called.
  [[nodiscard]] std::string names_of_devices() const {
    const DeviceId last(platform_.devices.size() - 1);
    return "its devices are " + quote(full_name(DeviceId(0))) + " to " + quote(full_name(last));
  }

  /// The device of that name, or those whose names match.
  [[nodiscard]] std::vector<DeviceId> devices_called(const NamedEvent& named) const {
    const std::string& name = named.names.front();
    if (const auto found = devices_.find(name); found != devices_.end()) return {found->second};
    std::vector<DeviceId> devices;
    for (DeviceId id : indices(platform_.devices)) {
      if (is_called(id, name)) devices.push_back(id);
    }
    if (!devices.empty()) return devices;
    if (!is_pattern(name)) return {device(named, 0)};  // refuses it
    throw InputError("the platform " + quote(platform_.spec.name) + " has no device whose name matches " + quote(name),
                     named.place, names_of_devices());
  }

  /// The link of that name, or its two directions, or the links whose names match with or without the direction.
  [[nodiscard]] std::vector<LinkId> links_called(const NamedEvent& named) {
    if (links_.empty()) links_ = ids_by_name(platform_.links);
    const std::string& name = named.names.front();
    if (const auto found = links_.find(name); found != links_.end()) return {found->second};
    if (is_pattern(name)) return links_that_match(named);
    for (const auto& [forth, back] : {std::pair(".up", ".down"), std::pair(".forward", ".reverse")}) {
      const auto first = links_.find(name + forth);
      const auto second = links_.find(name + back);
      if (first != links_.end() && second != links_.end()) return {first->second, second->second};
    }
    throw InputError("the platform " + quote(platform_.spec.name) + " has no link " + quote(name), named.place,
                     hint_for(name, links_));
  }

  [[nodiscard]] std::vector<LinkId> links_that_match(const NamedEvent& named) const {
    const std::string& pattern = named.names.front();
    std::vector<LinkId> links;
    for (LinkId id : indices(platform_.links)) {
      const std::string& name = platform_.links[id].name;
      if (matches(name, pattern) || matches(without_direction(name), pattern)) links.push_back(id);
    }
    if (!links.empty()) return links;
    throw InputError("the platform " + quote(platform_.spec.name) + " has no link whose name matches " + quote(pattern),
                     named.place);
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
  IndexVector<NodeId, std::string> node_names_;
  std::unordered_map<std::string, DeviceId> devices_;
  std::unordered_map<std::string, LinkId> links_;
  Events events_;
  std::uint32_t listed_ = 0;  ///< number of events so far, as the file lists them
  Route route_;
};

}  // namespace

Events resolve_events(const std::vector<NamedEvent>& events, const Platform& platform) {
  Resolution resolution(platform);
  for (const NamedEvent& named : events) resolution.add(named);
  return resolution.take();
}

}  // namespace stagecraft
