#include "experiments/view/plan_remarks.hpp"

#include "sim/base/text.hpp"
#include "sim/model/replicas.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/turn_programs.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <map>

namespace stagecraft {
namespace {

/// The stages of the deepest pipeline.
std::size_t deepest_pipeline(const Plan& plan) {
  std::map<std::uint32_t, std::size_t> stages;
  std::size_t most = 0;
  for (const Stage& stage : plan.stages) most = std::max(most, ++stages[stage.pipeline]);
  return most;
}

std::string zero_text(const Plan& plan) {
  if (!divides_gradients_in_pipeline(plan)) return "";
  return fmt::format("zero {} in a pipeline of {} stages: {}\n", plan.training.zero, deepest_pipeline(plan),
                     kGradientsInPipelines);
}

/// The bytes that go to the host of the first so many microbatches of a replica.
double swapped_bytes(const TurnPrograms& programs, std::int64_t microbatches) {
  const auto window = static_cast<std::int64_t>(programs.sets().size());
  double bytes = 0.0;
  for (std::int64_t at = 0; at < std::min(window, microbatches); ++at) {
    const std::int64_t times = (microbatches - at + window - 1) / window;
    for (const SwappedStash& part : programs.of(at).swapped) {
      bytes += static_cast<double>(times) * static_cast<double>(part.bytes.value());
    }
  }
  return bytes;
}

/// By device that leads a group: the bytes that it swaps to its host in an iteration.
std::map<DeviceId, double> swapped_by_device(const LayerGraph& graph, const Platform& platform, const Plan& plan) {
  std::map<DeviceId, double> swapped;
  const Replicas replicas(plan);
  for (const StageId id : indices<StageId>(plan.stages.size())) {
    const Stage& stage = plan.stages[id.value()];
    if (std::ranges::none_of(stage.memory, [](const MemoryAction& action) { return swaps(action); })) continue;
    ReplicaTurns turns(graph, platform, stage);
    for (const ReplicaId replica : replicas.of(id)) {
      const Replica& own = replicas[replica];
      swapped[own.device] +=
          swapped_bytes(turns.memory_of(own.device, own.share), replicas.count(replica, plan.microbatches));
    }
  }
  return swapped;
}

/// About the device that swaps most; empty where that is no more than its memory.
std::string swaps_text(const LayerGraph& graph, const Platform& platform, const Plan& plan) {
  const std::map<DeviceId, double> swapped = swapped_by_device(graph, platform, plan);
  const auto most = std::ranges::max_element(swapped, {}, [](const auto& entry) { return entry.second; });
  if (most == swapped.end() || most->second <= static_cast<double>(platform.capacity(most->first).value())) return "";
  return fmt::format("{} swaps {} to its host and back in each iteration, which is more than its memory\n",
                     platform.devices[most->first].name,
                     format_human_bytes(Bytes(static_cast<std::int64_t>(most->second))));
}

}  // namespace

const char* const kGradientsInPipelines =
    "DeepSpeed refuses it, and the distributed optimizer of Megatron-LM is zero 1";

bool divides_gradients_in_pipeline(const Plan& plan) {
  const auto has_replicas = [](const Stage& stage) { return stage.replicas.size() > 1; };
  const bool divides = std::ranges::any_of(plan.stages, has_replicas) || crosses_ring(plan.degrees);
  return divides && plan.training.zero >= 2 && deepest_pipeline(plan) > 1;
}

std::string plan_remarks(const LayerGraph& graph, const Platform& platform, const ScheduleProgram& program) {
  const Plan& plan = program.kept->plan;
  return zero_text(plan) + (program.synchronous ? swaps_text(graph, platform, plan) : "");
}

}  // namespace stagecraft
