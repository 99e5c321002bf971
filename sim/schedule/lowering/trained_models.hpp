#pragma once

#include "sim/model/layer_graph.hpp"
#include "sim/schedule/lower.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace stagecraft {

/// The models that a run trains one after the other, counted from 0: the first one, and `LowerOptions::models`.
class TrainedModels {
 public:
  /// `first` must outlive it.
  TrainedModels(const LayerGraph& first, std::vector<NextModel> next) : first_(first), next_(std::move(next)) {}

  [[nodiscard]] bool may_change() const { return !next_.empty(); }
  /// The one that is trained now.
  [[nodiscard]] std::size_t present() const { return present_; }
  [[nodiscard]] const LayerGraph& graph() const { return graph_of(present_); }
  [[nodiscard]] const LayerGraph& graph_of(std::size_t model) const {
    return model == 0 ? first_ : *next_[model - 1].graph;
  }
  /// The microbatch with which the next one is to begin; none if this one is the last.
  [[nodiscard]] std::optional<std::int64_t> next_begin() const {
    return present_ < next_.size() ? std::optional(next_[present_].microbatch) : std::nullopt;
  }
  /// The last one that is to begin with that microbatch or before.
  [[nodiscard]] std::size_t at(std::int64_t microbatch) const {
    const auto later = std::ranges::upper_bound(next_, microbatch, {}, &NextModel::microbatch);
    return static_cast<std::size_t>(later - next_.begin());
  }
  void train(std::size_t model) { present_ = model; }

 private:
  const LayerGraph& first_;
  std::vector<NextModel> next_;
  std::size_t present_ = 0;
};

}  // namespace stagecraft
