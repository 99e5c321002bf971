#include "experiments/run/idle_events.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <variant>

namespace stagecraft {
namespace {

/// The device that an event changes; none for one that changes a link or the whole run.
DeviceId device_of(const Event& event) {
  return std::visit(
      [](const auto& change) {
        if constexpr (requires { change.device; }) {
          return change.device;
        } else {
          return DeviceId::none();
        }
      },
      event.change);
}

/// The devices of a plan of the run, from a time on.
struct Use {
  Seconds from;
  std::set<DeviceId> devices;
};

std::vector<Use> uses_of(const Report& report, const Plan& first) {
  std::vector<Use> uses(1);
  for (const Stage& stage : first.stages) {
    for (DeviceId device : devices_of(stage)) uses.front().devices.insert(device);
  }
  const std::vector<const ReplanQuestion*> changes = changes_of_plan(report);
  for (std::size_t i = 0; i < std::min(changes.size(), report.course.replans.size()); ++i) {
    Use& use = uses.emplace_back(Use{report.course.replans[i].at, {}});
    for (const FollowingStage& stage : changes[i]->stages)
      use.devices.insert(stage.devices.begin(), stage.devices.end());
  }
  return uses;
}

}  // namespace

std::vector<std::size_t> idle_events(const Report& report, const Plan& first, const Events& events) {
  if (report.course.strikes.empty()) return {};
  const std::vector<Use> uses = uses_of(report, first);
  std::map<std::size_t, bool> idle;  // by position in the file: whether no device so far was in use
  for (const Strike& strike : report.course.strikes) {
    const Event& event = events[strike.event];
    const DeviceId device = device_of(event);
    if (device.is_none()) continue;
    // A plan that follows because of the event does not count yet.
    const auto next =
        std::ranges::find_if(uses.begin() + 1, uses.end(), [&](const Use& use) { return use.from >= strike.at; });
    const bool is_idle = !std::prev(next)->devices.contains(device);
    const auto [known, is_new] = idle.emplace(event.listed, is_idle);
    if (!is_new) known->second = known->second && is_idle;
  }
  std::vector<std::size_t> found;
  for (const auto& [listed, is_idle] : idle) {
    if (is_idle) found.push_back(listed);
  }
  return found;
}

}  // namespace stagecraft
