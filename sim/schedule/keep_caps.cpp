#include "sim/schedule/keep_caps.hpp"

#include "sim/model/plan.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <vector>

namespace stagecraft {
namespace {

void keep_caps_of_device(const Plan& plan, DeviceOrder& order) {
  std::map<StageId, std::vector<Action*>> forwards;  // of stages with a cap
  for (Action& action : order.actions) {
    if (action.kind == ActionKind::Forward && plan.stages[action.stage.value()].in_flight) {
      forwards[action.stage].push_back(&action);
    }
  }
  for (auto& [stage, all] : forwards) {
    std::ranges::stable_sort(all, {}, &Action::priority);
    const auto cap = static_cast<std::size_t>(*plan.stages[stage.value()].in_flight);
    for (std::size_t n = cap; n < all.size(); ++n) all[n]->after = all[n - cap]->microbatch;
  }
}

}  // namespace

void keep_caps(const Plan& plan, Schedule& schedule) {
  for (DeviceOrder& order : schedule.devices) {
    if (order.discipline == Discipline::Ready) keep_caps_of_device(plan, order);
  }
}

}  // namespace stagecraft
