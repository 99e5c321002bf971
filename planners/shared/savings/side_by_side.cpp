#include "planners/shared/savings/side_by_side.hpp"

#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/costs/evaluated_claim.hpp"
#include "planners/shared/savings/least_memory.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/model/check_plan.hpp"
#include "sim/model/platform_part.hpp"
#include "sim/model/replicas.hpp"
#include "sim/schedule/families/spp_pe/spp_pe.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>
#include <variant>

namespace stagecraft {
namespace {

constexpr const char* kPipelines = "pipelines";

/// The first of the equal parts of the platform, with the slowest and smallest devices that any part has in each place.
Platform first_part(const PlanRequest& request, std::size_t count) {
  const Platform& whole = request.platform;
  const std::size_t size = whole.devices.size() / count;
  Platform part = first_devices(whole, size);
  for (const DeviceId place : indices(part.devices)) {
    const double own = require_time_factor(whole, request.graph.device_kind, place);
    double slowest = own;
    Bytes capacity = whole.capacity(place);
    for (std::size_t i = 1; i < count; ++i) {
      const DeviceId other(place.value() + i * size);
      slowest = std::max(slowest, require_time_factor(whole, request.graph.device_kind, other));
      capacity = std::min(capacity, whole.capacity(other));
    }
    part.devices[place].slowdown *= slowest / own;
    part.devices[place].memory = capacity + whole.kind(place).reserved;
  }
  return part;
}

Group moved(Group group, std::size_t by) {
  for (DeviceId& device : group.devices) device = DeviceId(device.value() + by);
  return group;
}

/// The stage with the replicas of all parts. Their turns come as if the parts had the microbatches in turn; gradients
/// are summed up in one part after the other.
Stage repeated(const Stage& stage, std::size_t size, std::size_t count) {
  Stage all = stage;
  all.replication = Replication::RoundRobin;
  all.replicas.clear();
  all.ring.clear();
  for (const Group& replica : stage.replicas) {
    for (std::size_t i = 0; i < count; ++i) all.replicas.push_back(moved(replica, i * size));
  }
  if (stage.replicas.size() == 1) return all;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < stage.replicas.size(); ++j) {
      const std::size_t turn = stage.ring.empty() ? j : stage.ring[j];
      all.ring.push_back(static_cast<std::uint32_t>(turn * count + i));
    }
  }
  return all;
}

/// The plan of a part, on each of `count` parts of `size` devices.
Plan on_all_parts(Plan plan, std::size_t size, std::size_t count) {
  const std::vector<Stage> one = std::exchange(plan.stages, {});
  plan.microbatches *= static_cast<std::int64_t>(count);
  // `spp-pe` has one channel behind all replicas of a stage, and one for each pipeline.
  if (std::ranges::none_of(one, divides_microbatches) && plan.schedule.name != family_spp_pe.name) {
    for (const Stage& stage : one) plan.stages.push_back(repeated(stage, size, count));
    return plan;
  }
  for (std::size_t i = 0; i < count; ++i) {
    for (const Stage& stage : one) {
      Stage& copy = plan.stages.emplace_back(stage);
      copy.pipeline = static_cast<std::uint32_t>(i);
      for (Group& group : copy.replicas) group = moved(std::move(group), i * size);
    }
  }
  return plan;
}

void require_parts(const PlannerInfo& planner, const PlanRequest& request, std::int64_t pipelines) {
  const std::vector<std::int64_t> counts = pipeline_counts(request);
  if (std::ranges::find(counts, pipelines) != counts.end()) return;
  throw InputError(
      fmt::format("planner {}: {} and {} cannot be divided among {} pipelines of whole nodes or parts of one",
                  quote(planner.name), counted(request.platform.devices.size(), "device"),
                  counted(request.microbatches, "microbatch"), pipelines),
      {}, fmt::format("possible numbers are {}", fmt::join(counts, ", ")));
}

/// Replicas of a stage in several parts have to be connected to exchange gradients.
void require_connected(const PlannerInfo& planner, const PlanRequest& request, const Plan& plan) {
  const std::vector<Violation> violations = check_plan(request.graph, request.platform, plan);
  if (violations.empty()) return;
  throw InputError("planner " + quote(planner.name) +
                   ": the copies of a plan on equal parts of the platform cannot run: " + violations.front().message);
}

PlanResult with_count(PlanResult result, std::int64_t pipelines) {
  if (auto* planned = std::get_if<Planned>(&result)) planned->details.emplace_back(kPipelines, pipelines);
  return result;
}

}  // namespace

OptionInfo pipelines_option() {
  return {kPipelines,
          std::int64_t{0},
          "pipelines that run side by side with equal parts of the batch, each with its own copy of the model; 0: the "
          "number with which an iteration takes least; 1: as in the paper",
          {},
          0};
}

std::vector<std::int64_t> pipeline_counts(const PlanRequest& request) {
  const std::size_t devices = request.platform.devices.size();
  const std::vector<std::vector<DeviceId>> nodes = nodes_of(request.platform);
  const auto divides_nodes = [&](std::size_t part) {
    return std::ranges::all_of(nodes, [&](const std::vector<DeviceId>& node) {
      std::map<std::size_t, std::size_t> devices_in;
      for (const DeviceId device : node) ++devices_in[device.value() / part];
      const auto is_whole = [&](const auto& entry) { return entry.second == part; };
      return devices_in.size() == 1 || std::ranges::all_of(devices_in, is_whole);
    });
  };
  std::vector<std::int64_t> counts;
  for (std::size_t count = 1; count <= devices; ++count) {
    const auto pipelines = static_cast<std::int64_t>(count);
    if (devices % count != 0 || request.microbatches % pipelines != 0) continue;
    if (divides_nodes(devices / count)) counts.push_back(pipelines);
  }
  return counts;
}

Variants pipeline_variants(const PlanRequest& request) {
  constexpr std::size_t kMostDevices = 256;  // of a pipeline; planning for more takes a minute
  Variants variants;
  if (request.options.count(kPipelines) > 0) return variants;
  const std::vector<std::int64_t> counts = pipeline_counts(request);
  for (const std::int64_t count : counts) {
    const std::size_t devices = request.platform.devices.size() / static_cast<std::size_t>(count);
    if (devices > kMostDevices && count != counts.back()) continue;
    variants.tried.push_back(request.options.with(kPipelines, count));
  }
  return variants;
}

PlanResult plan_side_by_side(const PlannerInfo& planner, const PlanRequest& request,
                             const std::function<PlanResult(const PlanRequest&)>& plan_one) {
  const std::int64_t pipelines = request.options.count(kPipelines);
  if (pipelines < 2) return with_count(plan_one(request), 1);
  require_parts(planner, request, pipelines);
  const auto count = static_cast<std::size_t>(pipelines);
  const Platform part = first_part(request, count);
  PlanRequest asked = on_platform(request, part);
  asked.microbatches /= pipelines;
  asked.pipelines = pipelines;
  PlanResult result = plan_one(asked);
  auto* planned = std::get_if<Planned>(&result);
  if (planned == nullptr) return result;
  planned->plan = on_all_parts(std::move(planned->plan), part.devices.size(), count);
  planned->plan.predicted = {};
  require_connected(planner, request, planned->plan);
  result = judged(request, std::move(*planned));
  planned = std::get_if<Planned>(&result);
  if (planned == nullptr) return result;
  planned->plan.predicted.iteration_time = evaluated_claim(request, planned->plan).iteration_time;
  return with_count(std::move(result), pipelines);
}

}  // namespace stagecraft
