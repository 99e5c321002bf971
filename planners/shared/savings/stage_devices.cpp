#include "planners/shared/savings/stage_devices.hpp"

#include "planners/shared/savings/even_pipelines.hpp"
#include "planners/shared/savings/layer_units.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/model/graph_order.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>

namespace stagecraft {

OptionInfo stages_option(const std::string& limits) {
  return {"stages",
          std::int64_t{0},
          "number of stages; 0: as many as " + limits +
              " allow for the replicas that are given, or else the best of those tried",
          {},
          0};
}

OptionInfo replicas_option() {
  return {"replicas", std::int64_t{0}, "replicas of every stage, one device each; 0: the best of those tried", {}, 0};
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
  const auto replicas = std::max<std::size_t>(static_cast<std::size_t>(request.options.count("replicas")), 1);
  require_devices(planner, request, std::max<std::size_t>(wanted, 1), replicas);
  if (wanted > units) {
    throw InputError(fmt::format("planner {}: {}, but the model has only {}", quote(planner.name),
                                 counted(wanted, "stage"), counted(units, "unit")),
                     {}, "the option granularity decides what a unit is");
  }
  return device_runs(wanted == 0 ? std::min(request.platform.devices.size() / replicas, units) : wanted, replicas);
}

namespace {

/// Whether the options leave the shape to the planner. With `replicas` there are as many stages as devices allow.
bool is_open(const Options& options) { return options.count("replicas") == 0; }

/// The number of replicas of the plan that runs, if all its stages have as many and there are devices for them.
std::optional<std::int64_t> running_replicas(const PlanRequest& request) {
  if (request.running == nullptr) return std::nullopt;
  const std::vector<Stage>& stages = request.running->stages;
  const std::size_t replicas = stages.front().replicas.size();
  const auto has_as_many = [&](const Stage& stage) { return stage.replicas.size() == replicas; };
  const std::size_t least = std::max<std::size_t>(1, static_cast<std::size_t>(request.options.count("stages")));
  if (!std::ranges::all_of(stages, has_as_many) || least * replicas > request.platform.devices.size())
    return std::nullopt;
  return static_cast<std::int64_t>(replicas);
}

std::vector<Options> with_shapes(const Options& options, const std::vector<EvenShape>& shapes) {
  std::vector<Options> all;
  for (const EvenShape& shape : shapes) {
    all.push_back(options.with("stages", static_cast<std::int64_t>(shape.length))
                      .with("replicas", static_cast<std::int64_t>(shape.replicas)));
  }
  return all;
}

}  // namespace

Variants shape_variants(const PlannerInfo& planner, const PlanRequest& request) {
  const Options& options = request.options;
  const UnitGrain grain = grain_of(options.word("granularity"));
  const std::size_t units = unit_bounds(request.graph, canonical_order(request.graph), grain).size() - 1;
  if (!is_open(options) || static_cast<std::size_t>(options.count("stages")) > units) return {};
  if (require_family(request.schedule.name).orders != nullptr) return {};
  if (const auto running = running_replicas(request)) return {{options.with("replicas", *running)}, {}};
  std::vector<EvenShape> shapes = even_shapes(planner, request);
  std::erase_if(shapes, [&](const EvenShape& shape) { return shape.length > units; });
  PlanRequest asked = request;
  asked.only_shape = true;
  if (may_recompute(request.memory)) asked.memory = MemoryPolicy::Recompute;
  const std::size_t most = shapes_to_compare(request.graph);
  std::vector<EvenShape> tried = best_even_shapes(planner, asked, shapes, most);
  std::vector<EvenShape> longest;  // for each number of replicas
  std::ranges::unique_copy(shapes, std::back_inserter(longest), {}, &EvenShape::replicas);
  const auto is_tried = [&](const EvenShape& shape) { return std::ranges::find(tried, shape) != tried.end(); };
  // A planner that moves cuts may find a plan where even pipelines have none.
  for (const std::vector<EvenShape>& others : {longest, shapes}) {
    for (const EvenShape& shape : others) {
      if (tried.size() < most && !is_tried(shape)) tried.push_back(shape);
    }
  }
  std::erase_if(longest, is_tried);
  return {with_shapes(options, tried), with_shapes(options, longest)};
}

}  // namespace stagecraft
