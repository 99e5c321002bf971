#pragma once

#include "sim/io/megatron_run.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"

#include <string>
#include <vector>

namespace stagecraft {

/// A plan as a run of Megatron-LM.
struct MegatronExport {
  MegatronRun run;
  std::vector<DeviceId> devices;   ///< by rank
  std::vector<std::string> notes;  ///< what the flags leave out
};

/// The run that a plan describes. `recomputes_attention`: the figures of its model are those of selective
/// recomputation.
/// **Requires** a plan without violations that its schedule can run, and its graph.
/// **Throws** InputError, at the key of the plan, for what Megatron-LM cannot say, and as `network_units`.
[[nodiscard]] MegatronExport megatron_export(const Plan& plan, const LayerGraph& graph, const Platform& platform,
                                             bool recomputes_attention);

}  // namespace stagecraft
