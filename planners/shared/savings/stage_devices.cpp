#include "planners/shared/savings/stage_devices.hpp"

#include "planners/shared/savings/even_pipelines.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <variant>

namespace stagecraft {

OptionInfo stages_option(const std::string& limits) {
  return {"stages", std::int64_t{0}, "number of stages; 0: as many as " + limits + " allow", {}, 0};
}

OptionInfo replicas_option() {
  return {
      "replicas",
      std::int64_t{0},
      "replicas of every stage, one device each; 0: one, or if that leaves devices idle as many as an even pipeline "
      "is best with",
      {},
      0};
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

namespace {

/// The shape of the best even pipeline that saves memory by recomputation at most; of the longest one if none fits.
EvenShape best_shape(const PlannerInfo& planner, const PlanRequest& request, std::size_t units) {
  std::vector<EvenShape> shapes = even_shapes(planner, request);
  std::erase_if(shapes, [&](const EvenShape& shape) { return shape.length > units; });
  PlanRequest asked = request;
  asked.only_shape = true;
  if (may_recompute(request.memory)) asked.memory = MemoryPolicy::Recompute;
  const PlanResult result = best_even_pipeline(planner, asked, shapes, "none");
  const auto* planned = std::get_if<Planned>(&result);
  if (planned == nullptr) return shapes.front();
  return {planned->plan.stages.size(), planned->plan.stages.front().replicas.size()};
}

}  // namespace

std::vector<std::vector<DeviceId>> stage_devices(const PlannerInfo& planner, const PlanRequest& request,
                                                 std::size_t units) {
  const std::size_t devices = request.platform.devices.size();
  const auto wanted = static_cast<std::size_t>(request.options.count("stages"));
  const auto given = static_cast<std::size_t>(request.options.count("replicas"));
  const std::size_t replicas = std::max<std::size_t>(given, 1);
  require_devices(planner, request, std::max<std::size_t>(wanted, 1), replicas);
  if (wanted > units) {
    throw InputError(fmt::format("planner {}: {}, but the model has only {}", quote(planner.name),
                                 counted(wanted, "stage"), counted(units, "unit")),
                     {}, "the option granularity decides what a unit is");
  }
  const std::size_t most = wanted == 0 ? std::min(devices / replicas, units) : wanted;
  const bool leaves_idle = wanted == 0 ? units < devices : 2 * wanted <= devices;
  if (given > 0 || !leaves_idle) return device_runs(most, replicas);
  const EvenShape shape = best_shape(planner, request, units);
  return device_runs(shape.length, shape.replicas);
}

}  // namespace stagecraft
