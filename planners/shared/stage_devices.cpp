#include "planners/shared/stage_devices.hpp"

#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>

namespace stagecraft {

OptionInfo stages_option(const std::string& limits) {
  return {"stages", std::int64_t{0}, "number of stages; 0: as many as " + limits + " allow", {}, 0};
}

OptionInfo replicas_option() {
  return {"replicas", std::int64_t{1}, "replicas of every stage, one device each", {}, 1};
}

void require_devices(const PlannerInfo& planner, const PlanRequest& request, std::size_t stages, std::size_t replicas) {
  const std::size_t devices = request.platform.devices.size();
  if (replicas <= devices && stages <= devices / replicas) return;
  throw InputError(fmt::format("planner {}: {} of {} {} more devices than the platform has, which is {}",
                               quote(planner.name), counted(stages, "stage"), counted(replicas, "replica"),
                               stages == 1 ? "needs" : "need", devices));
}

std::vector<std::vector<DeviceId>> device_runs(std::size_t count, std::size_t replicas) {
  std::vector<std::vector<DeviceId>> runs(count);
  for (std::size_t i = 0; i < count * replicas; ++i) runs[i / replicas].emplace_back(i);
  return runs;
}

std::vector<std::vector<DeviceId>> stage_devices(const PlannerInfo& planner, const PlanRequest& request,
                                                 std::size_t units) {
  const auto wanted = static_cast<std::size_t>(request.options.count("stages"));
  const auto replicas = static_cast<std::size_t>(request.options.count("replicas"));
  require_devices(planner, request, std::max<std::size_t>(wanted, 1), replicas);
  if (wanted > units) {
    throw InputError(fmt::format("planner {}: {}, but the model has only {}", quote(planner.name),
                                 counted(wanted, "stage"), counted(units, "unit")),
                     {}, "the option granularity decides what a unit is");
  }
  const std::size_t most = std::min(request.platform.devices.size() / replicas, units);
  return device_runs(wanted == 0 ? most : wanted, replicas);
}

}  // namespace stagecraft
