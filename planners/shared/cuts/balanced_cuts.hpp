#pragma once

#include "planners/shared/cuts/bottleneck_cuts.hpp"
#include "sim/base/index.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <cstddef>
#include <utility>
#include <vector>

namespace stagecraft {

/// Cuts a chain into as many non-empty pieces as there are factors, so that the largest factor × sum of a piece is as
/// small as possible. Of several optimal cuts it takes the one with the smallest last piece, then the one with the
/// smallest piece before it, and so on (`BottleneckTable`). What was computed for one question serves the next ones
/// whose factors begin alike.
class BalancedCuts {
 public:
  /// **Shape** one entry more than there are items. **Requires** fewer than 2^32.
  explicit BalancedCuts(std::vector<double> prefix) : prefix_(std::move(prefix)), table_(prefix_.size() - 1) {}

  /// **Shape** the first item of every piece. **Requires** at least as many items as factors. **Throws** InputError for
  /// a table of more than 1 GiB. **Cost** as `BottleneckTable::extend`; O(pieces) if the table has rows for these
  /// factors.
  [[nodiscard]] std::vector<std::size_t> cuts(const std::vector<double>& factors);

 private:
  std::vector<double> prefix_;
  std::vector<double> factors_;  ///< those of the table's rows
  BottleneckTable table_;
};

/// The table for `placed_stages` of a graph. With `recomputes` every forward counts twice.
[[nodiscard]] BalancedCuts stage_cuts(const LayerGraph& graph, bool recomputes);

/// The schedule's placement on the longest chain of at most `devices` devices whose pipelines have at most `stages`
/// stages each; empty if there is none. **Throws** InputError as `schedule_parameters`.
[[nodiscard]] Placement largest_placement(const ScheduleChoice& schedule, std::size_t devices, std::size_t stages);

/// For every pipeline of the placement contiguous stages of the canonical order, one on each run of devices, such that
/// the largest forward + backward time of a stage on its slowest device is as small as possible, with the `table` of
/// `stage_cuts`. **Shape** `runs`: one for each device of the chain.
/// **Requires** at least as many layers as stages of a pipeline. **Throws** InputError if a device's speed is not
/// known, and as `BalancedCuts`.
[[nodiscard]] std::vector<Stage> placed_stages(const LayerGraph& graph, const Platform& platform,
                                               const Placement& placement,
                                               const std::vector<std::vector<DeviceId>>& runs, BalancedCuts& table);

/// The number of stages of the placement's longest pipeline.
[[nodiscard]] std::size_t pipeline_stages(const Placement& placement);

}  // namespace stagecraft
