#pragma once

#include "planners/pipedream/down_sets.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/schedule/stage_program.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stagecraft::pipedream {

/// How to count tensors that several later stages need. Each of these stages needs a buffer for the tensor, but their
/// number is not known while the stage is chosen.
enum class Consumers {
  One,    ///< one stage, the least possible: never refuses a stage that would fit
  Every,  ///< one stage for each edge, the most possible: never accepts a stage that would not fit
};

/// The bytes of a stage (K, J] that becomes another one. Only the layers in which the two differ are looked at.
class ChangingStage {
 public:
  /// Begins as an empty stage. The graph and the states must outlive it. With `recomputes` a stage is one recompute
  /// segment.
  ChangingStage(const LayerGraph& graph, const DownSets& states, bool recomputes, Consumers consumers);

  /// **Requires** that `start` precedes `end` or is `kNothing`. **Cost** O(layers / 64), and for each layer that joins
  /// or leaves the edges of the tensors that it makes and reads.
  void become(std::size_t start, std::size_t end);

  /// The stage's program, without times. **Requires** that it is not empty. **Cost** O(layers / 64).
  [[nodiscard]] StageProgram work() const;

  /// The bytes that enter and leave the stage for one microbatch.
  [[nodiscard]] Bytes exchanged() const { return exchanged_; }

 private:
  struct Use {
    std::size_t bit = 0;
    Bytes bytes;
  };
  /// A tensor that several layers have, as far as they are in the stage.
  struct TensorUse {
    std::int64_t keepers = 0;
    std::int64_t readers = 0;
    bool is_made_here = false;
  };

  void flip(std::size_t bit);
  void exchange_again(std::size_t producer);
  void add_tensors(std::size_t bit, int sign);
  void add_parameters(std::size_t bit, int sign);
  [[nodiscard]] bool is_inside(std::size_t bit) const { return ((inside_[bit / 64] >> (bit % 64)) & 1U) != 0; }
  [[nodiscard]] const Layer& layer(std::size_t bit) const { return graph_->layers[states_->order[bit]]; }

  const LayerGraph* graph_;
  const DownSets* states_;
  bool recomputes_;
  Consumers consumers_;
  // Of the graph, by bit.
  std::vector<std::vector<Use>> uses_;
  std::vector<std::vector<std::size_t>> producers_;
  std::vector<std::vector<std::uint32_t>> tensors_;  ///< that the layer makes, reads or keeps
  std::vector<std::vector<std::uint32_t>> tied_;     ///< groups of the layer
  std::vector<std::size_t> rank_;                    ///< by decreasing workspace
  std::vector<Bytes> workspace_;                     ///< by rank
  // Of the stage.
  std::vector<std::uint64_t> inside_;        ///< its layers
  std::vector<std::uint64_t> ranks_inside_;  ///< likewise
  std::vector<Bytes> exchanged_by_;          ///< by producer; of `exchanged_`
  std::vector<TensorUse> tensor_uses_;
  std::vector<std::int64_t> tied_here_;  ///< by group: layers of the stage
  Bytes exchanged_;
  Bytes stash_;  ///< each tensor once, without those that are held
  Bytes held_;   ///< tensors from outside that a recompute segment reads
  Bytes parameters_;
};

}  // namespace stagecraft::pipedream
