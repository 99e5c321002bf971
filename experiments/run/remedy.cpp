#include "experiments/run/remedy.hpp"

#include "experiments/run/judge.hpp"
#include "planners/shared/cost_model.hpp"
#include "sim/base/error.hpp"
#include "sim/model/plan.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <algorithm>
#include <string>

namespace stagecraft {
namespace {

bool fits(const LayerGraph& graph, const Platform& platform, const Plan& plan) {
  if (!judge_plan(graph, platform, {plan, {}}).empty()) return false;
  const ScheduleProgram program = require_schedule(graph, platform, plan);
  return memory_needed(platform, ledger_peaks(graph, platform, plan, program)) == Bytes(0);
}

bool fits_at(const Inputs& inputs, Plan plan, std::int64_t microbatch_size) {
  plan.microbatch_size = microbatch_size;
  try {
    return fits(profile_at(inputs.model, microbatch_size, [](const std::string&) {}), inputs.platform, plan);
  } catch (const InputError&) {
    return false;
  }
}

/// The most parts into which a stage divides each microbatch: a microbatch needs a sample for each.
std::int64_t most_parts(const Plan& plan) {
  std::int64_t most = 1;
  for (const Stage& stage : plan.stages) {
    if (stage.replication == Replication::Split) most = std::max(most, std::ssize(stage.replicas));
  }
  return most;
}

/// The stages that have a replica on a device that ran out of memory.
std::vector<StageId> lacking_stages(const Platform& platform, const Plan& plan, const Report& report) {
  std::vector<StageId> stages;
  for (StageId id : indices<StageId>(plan.stages.size())) {
    const bool lacks = std::ranges::any_of(report.overflows, [&](const MemoryOverflow& overflow) {
      return platform.is_device(overflow.place) &&
             std::ranges::count(plan.stages[id.value()].replicas, Group(platform.device(overflow.place))) > 0;
    });
    if (lacks) stages.push_back(id);
  }
  return stages;
}

/// The memory with which no device would have run out: the highest peak of those that did, plus the memory that is
/// reserved there.
std::optional<Bytes> enough_memory(const Platform& platform, const Report& report) {
  Bytes most{0};
  for (const DeviceReport& device : report.devices) {
    if (device.memory.peak <= device.memory.capacity) continue;
    most = std::max(most, device.memory.peak + platform.kind(device.device).reserved);
  }
  return most > Bytes(0) ? std::optional(most) : std::nullopt;
}

/// For each stage that lacks memory, the largest cap on microbatches in flight with which its devices fit. The stages
/// are capped one after the other, each with the caps of the previous ones in place. Empty if no cap makes some stage
/// fit, or if the whole plan does not fit with all caps.
std::vector<std::pair<StageId, std::int64_t>> caps_that_fit(const LayerGraph& graph, const Platform& platform,
                                                            Plan plan, const std::vector<StageId>& stages) {
  std::vector<std::pair<StageId, std::int64_t>> caps;
  if (plan.schedule.name == "literal") return caps;  // its orders are given and follow no cap
  const ScheduleProgram before = require_schedule(graph, platform, plan);
  for (StageId id : stages) {
    Stage& stage = plan.stages[id.value()];
    const auto cap = largest_between(1, before.in_flight[id.value()], [&](std::int64_t value) {
      stage.in_flight = value;
      const Compilation compiled = compile_schedule(graph, platform, plan);
      const auto* program = std::get_if<ScheduleProgram>(&compiled);
      if (program == nullptr) return false;
      const auto peaks = ledger_peaks(graph, platform, plan, *program);
      return std::ranges::all_of(devices_of(stage), [&](DeviceId device) {
        const auto peak = std::ranges::find(peaks, device, &std::pair<DeviceId, Bytes>::first);
        return peak->second <= platform.capacity(device);
      });
    });
    if (!cap) return {};
    stage.in_flight = cap;
    caps.emplace_back(id, *cap);
  }
  return fits(graph, platform, plan) ? caps : std::vector<std::pair<StageId, std::int64_t>>{};
}

/// Whether the plan fits if the given stages recompute all their layers: each layer as a segment of its own if
/// `by_layer`, otherwise each stage as one segment.
bool fits_recomputed(const LayerGraph& graph, const Platform& platform, Plan plan, const std::vector<StageId>& stages,
                     bool by_layer) {
  for (StageId id : stages) {
    Stage& stage = plan.stages[id.value()];
    stage.memory.clear();
    if (!by_layer) stage.memory.emplace_back(Recompute{stage.layers});
    for (LayerId layer : stage.layers) {
      if (by_layer) stage.memory.emplace_back(Recompute{{layer}});
    }
  }
  return fits(graph, platform, plan);
}

}  // namespace

std::optional<std::int64_t> largest_between(std::int64_t begin, std::int64_t end,
                                            const std::function<bool(std::int64_t)>& holds) {
  if (end <= begin || !holds(begin)) return std::nullopt;
  std::int64_t least = begin;
  while (end - least > 1) {
    const std::int64_t middle = least + (end - least) / 2;
    (holds(middle) ? least : end) = middle;
  }
  return least;
}

Remedies find_remedies(const Inputs& inputs, const LayerGraph& graph, const Plan& plan, const Report& report) {
  Remedies remedies;
  const std::vector<StageId> stages = lacking_stages(inputs.platform, plan, report);
  if (stages.empty()) return remedies;
  remedies.memory = enough_memory(inputs.platform, report);
  remedies.microbatch_size = largest_between(most_parts(plan), plan.microbatch_size,
                                             [&](std::int64_t size) { return fits_at(inputs, plan, size); });
  remedies.in_flight = caps_that_fit(graph, inputs.platform, plan, stages);
  remedies.recompute_layers = fits_recomputed(graph, inputs.platform, plan, stages, true);
  remedies.recompute_stages = fits_recomputed(graph, inputs.platform, plan, stages, false);
  return remedies;
}

}  // namespace stagecraft
