#pragma once

#include "sim/base/error.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// A plan of vPipe's program: how many blocks each stage has, and which share of the stage, counted from its end, is
/// one checkpointed segment.
/// **Shape** both lists have one entry for each stage.
struct VpipePlan {
  std::vector<std::int64_t> partition;
  std::vector<double> recompute_ratio;  ///< 0 to 1
  InputPlace place;                     ///< of the partition
  friend bool operator==(const VpipePlan&, const VpipePlan&) = default;
};

/// A file with exactly the keys `partition` and `recompute_ratio`.
/// **Throws** InputError naming the place of the first defect.
/// **Source** the plans in the repository hku-systems/vpipe (2021).
[[nodiscard]] VpipePlan parse_vpipe(std::string_view text, const std::string& file_name);

/// The stages of the plan: stage s on the platform's s-th device. A block is a layer, in canonical order; if the graph
/// has one layer more than the plan has blocks, the first block has the first two layers, as vPipe's BERT has its
/// embedding and the first attention in one block. The last ⌊ratio × blocks⌋ blocks of a stage are one segment.
/// **Requires** an acyclic graph. **Throws** InputError, at the place of the partition, for another number of blocks
/// and for more stages than devices.
[[nodiscard]] std::vector<Stage> vpipe_stages(const VpipePlan& plan, const LayerGraph& graph, const Platform& platform);

}  // namespace stagecraft
