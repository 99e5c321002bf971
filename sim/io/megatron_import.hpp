#pragma once

#include "sim/io/megatron_flags.hpp"
#include "sim/io/megatron_run.hpp"
#include "sim/io/network_units.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/schedule_choice.hpp"
#include "sim/model/training_choice.hpp"

#include <cstdint>
#include <vector>

namespace stagecraft {

/// What a run of Megatron-LM has of a plan for a model and some devices.
struct MegatronPlan {
  ScheduleChoice schedule;
  std::int64_t microbatches = 1;  ///< over all replicas, of groups
  TrainingChoice training;
  std::vector<Stage> stages;  ///< a replica is one device, which stands for the group of that number
};

/// The blocks of each stage: as the layout says, or as Megatron-LM divides them without one. Empty stages have no
/// symbols. **Throws** InputError for a layout or a division of other blocks, and one that Megatron-LM refuses.
[[nodiscard]] std::vector<LayoutStage> megatron_layout(const MegatronRun& run, const MegatronFlags& flags,
                                                       std::int64_t blocks);

/// The plan of the run on the first of `devices` devices, as many as the launcher has ranks, or all. Stage s is on the
/// ranks s mod `MegatronRun::pipeline` of the pipelines.
/// **Requires** a graph, whatever its degrees, with its units, and the flags from which the run was read.
/// **Throws** InputError, at the flag, for a run that does not fit the model or the devices.
[[nodiscard]] MegatronPlan megatron_plan(const MegatronRun& run, const MegatronFlags& flags, const LayerGraph& graph,
                                         const NetworkUnits& units, std::int64_t devices);

}  // namespace stagecraft
