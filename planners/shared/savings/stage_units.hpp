#pragma once

#include "planners/shared/savings/saving.hpp"
#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/layer_graph.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace stagecraft {

/// The units of stages that are runs of an order of layers, with their figures on the profile's device. A tensor that
/// several layers of a stage keep counts at the last of them, as in the memory ledger.
class StageUnits {
 public:
  /// The layers [begin, end), by position.
  struct Run {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  /// The graph must outlive it. **Requires** a topological order. **Cost** O(layers and tensors of the graph).
  StageUnits(const LayerGraph& graph, std::vector<LayerId> order);

  /// The unit of these layers in that stage, which has them all. **Cost** O(layers and tensors of the unit, with a
  /// logarithm of the latter).
  [[nodiscard]] SavingUnit unit(const Run& layers, const Run& stage) const;

  /// The unit of a run, and what it would be if the stage began with it.
  struct RunUnit {
    SavingUnit inner;
    SavingUnit first;
  };

  /// The units of the runs that begin at one of `begins` and end before `end`. **Requires** descending begins of the
  /// stage, before `end`. **Cost** as for the longest of them alone.
  [[nodiscard]] std::vector<RunUnit> units_before(std::size_t end, const std::vector<std::size_t>& begins,
                                                  const Run& stage) const;

  /// From the layer, in both directions, to the nearest users, and the nearest that keep them, of the tensors that it
  /// uses or makes. **Cost** O(its tensors, with a logarithm of their users).
  [[nodiscard]] Run reach(std::size_t layer) const;

 private:
  class GrowingUnit;
  [[nodiscard]] Bytes own_stash(std::size_t layer, const Run& stage) const;
  /// The position of the last layer of the stage that keeps the tensor; `order_.size()` if none does.
  [[nodiscard]] std::size_t last_keeper(std::uint32_t tensor, const Run& stage) const;
  [[nodiscard]] static std::optional<std::size_t> last_of(const std::vector<std::size_t>& positions, const Run& stage);

  const LayerGraph& graph_;
  std::vector<LayerId> order_;
  IndexVector<LayerId, std::size_t> position_;     // beyond the order for a layer that is not in it
  std::vector<std::vector<std::size_t>> keepers_;  // by tensor
  std::vector<std::vector<std::size_t>> users_;
  std::vector<std::vector<std::uint32_t>> made_;  // by position: the tensors that the layer makes
};

}  // namespace stagecraft
