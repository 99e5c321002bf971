#include "planners/shared/cuts/balanced_cuts.hpp"
#include "planners/shared/savings/even_pipelines.hpp"
#include "planners/shared/savings/stage_devices.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <utility>

namespace stagecraft {
namespace {

/// The number of runs of devices that a placement is on.
std::size_t length_of(const Placement& placement) {
  std::size_t length = 0;
  for (const Chunk& chunk : placement) length = std::max<std::size_t>(length, chunk.device + 1);
  return length;
}

/// The schedule does not place so many stages. `possible`: the most that it places, up to `wanted`; 0 for none.
InputError unplaceable(const PlannerInfo& planner, const PlanRequest& request, std::size_t wanted, std::size_t replicas,
                       std::size_t possible) {
  const std::size_t each = largest_placement(request.schedule, 1, request.graph.layers.size()).size();
  const std::string hint =
      each > 1 ? fmt::format("it places {} on each device, so choose a multiple of that", each) : "";
  return InputError(fmt::format("planner {}: schedule {} cannot place {} on {}{}", quote(planner.name),
                                quote(schedule_text(request.schedule)), counted(wanted, "stage"),
                                counted(request.platform.devices.size(), "device"),
                                replicas > 1 ? fmt::format(", with {} replicas each", replicas) : ""),
                    {}, possible > 0 ? "it can place " + std::to_string(possible) : hint);
}

/// The schedule places stages on no number of devices that there are.
InputError nowhere_placed(const PlannerInfo& planner, const PlanRequest& request, std::size_t replicas) {
  const std::string who = "planner " + quote(planner.name) + ": schedule " + quote(request.schedule.name);
  const std::size_t devices = request.platform.devices.size() / replicas;
  if (devices > 1 || !require_family(request.schedule.name).even_devices) {
    return InputError(who + " needs more stages than the model has layers", {},
                      "fewer stages on each device, a finer model, or a schedule such as 1f1b");
  }
  return InputError(fmt::format("{} needs an even number of devices, but {} in the pipeline", who,
                                devices == 1 ? "there is one" : "there are none"),
                    {}, "fewer replicas, a platform with more devices, or a schedule such as 1f1b");
}

/// The length of a pipeline of as many stages as the option asks for, or else as many as there may be.
std::size_t longest(const PlannerInfo& planner, const PlanRequest& request, std::size_t replicas) {
  const std::size_t layers = request.graph.layers.size();
  const auto wanted = static_cast<std::size_t>(request.options.count("stages"));
  const bool is_straight = require_family(request.schedule.name).placement == straight_placement;
  require_devices(planner, request, is_straight ? std::max<std::size_t>(wanted, 1) : 1, replicas);
  const std::size_t most = wanted == 0 ? layers : wanted;
  const Placement placement = largest_placement(request.schedule, request.platform.devices.size() / replicas, most);
  if (const std::size_t possible = pipeline_stages(placement); wanted != 0 && possible != wanted) {
    throw unplaceable(planner, request, wanted, replicas, possible);
  }
  if (wanted > layers) {
    throw InputError("planner " + quote(planner.name) + ": " + counted(wanted, "stage") + ", but the model has only " +
                     counted(layers, "layer"));
  }
  if (placement.empty()) throw nowhere_placed(planner, request, replicas);
  return length_of(placement);
}

/// 1 if the platform names no nodes.
std::size_t devices_of_first_node(const Platform& platform) {
  const NodeId first = platform.devices[DeviceId(0)].node;
  if (first.is_none()) return 1;
  return static_cast<std::size_t>(std::ranges::count(platform.devices, first, &Device::node));
}

}  // namespace

std::vector<EvenShape> even_shapes(const PlannerInfo& planner, const PlanRequest& request) {
  const std::size_t devices = request.platform.devices.size();
  const auto microbatches = static_cast<std::size_t>(request.microbatches);
  const auto replicas = static_cast<std::size_t>(request.options.count("replicas"));
  if (replicas > 0) return {{longest(planner, request, replicas), replicas}};
  const std::size_t length = longest(planner, request, 1);
  const auto most_for = [&](std::size_t runs) { return std::min(devices / runs, microbatches); };
  std::vector<EvenShape> shapes;
  if (request.options.count("stages") > 0) {
    for (std::size_t count = 1; count < most_for(length); count *= 2) shapes.push_back({length, count});
    shapes.push_back({length, most_for(length)});
    return shapes;
  }
  for (std::size_t runs = length; runs > 0; --runs) {
    const Placement placement = largest_placement(request.schedule, runs, request.graph.layers.size());
    if (length_of(placement) == runs) shapes.push_back({runs, most_for(runs)});
  }
  return shapes;
}

std::vector<EvenShape> fewer_replicas(const PlanRequest& request, const std::vector<EvenShape>& shapes) {
  std::vector<EvenShape> fewer;
  if (request.options.count("replicas") > 0) return fewer;
  const auto microbatches = static_cast<std::size_t>(request.microbatches);
  const std::size_t in_node = devices_of_first_node(request.platform);
  std::set<std::pair<std::size_t, std::size_t>> known;
  for (const EvenShape& shape : shapes) known.emplace(shape.length, shape.replicas);
  for (const EvenShape& shape : shapes) {
    const std::size_t rounds = (microbatches + shape.replicas - 1) / shape.replicas;
    std::vector<std::size_t> counts = {in_node / shape.length, (microbatches + rounds - 1) / rounds};
    for (std::size_t count = 1; count < shape.replicas; count *= 2) counts.push_back(count);
    for (const std::size_t count : counts) {
      if (count == 0 || count >= shape.replicas || !known.emplace(shape.length, count).second) continue;
      fewer.push_back({shape.length, count});
    }
  }
  return fewer;
}

}  // namespace stagecraft
