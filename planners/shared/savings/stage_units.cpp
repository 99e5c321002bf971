#include "planners/shared/savings/stage_units.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace stagecraft {

StageUnits::StageUnits(const LayerGraph& graph, std::vector<LayerId> order)
    : graph_(graph),
      order_(std::move(order)),
      position_(graph.layers.size(), order_.size()),
      keepers_(graph.tensors.size()),
      users_(graph.tensors.size()),
      made_(order_.size()) {
  for (std::size_t at = 0; at < order_.size(); ++at) {
    position_[order_[at]] = at;
    const auto use = [&](std::uint32_t tensor) {
      if (users_[tensor].empty() || users_[tensor].back() != at) users_[tensor].push_back(at);
    };
    for (const std::uint32_t tensor : graph.layers[order_[at]].keeps) keepers_[tensor].push_back(at);
    std::ranges::for_each(graph.layers[order_[at]].keeps, use);
    std::ranges::for_each(graph.layers[order_[at]].reads, use);
  }
  for (std::uint32_t tensor = 0; tensor < graph.tensors.size(); ++tensor) {
    const LayerId from = graph.tensors[tensor].from;
    if (!from.is_none() && position_[from] < order_.size()) made_[position_[from]].push_back(tensor);
  }
}

/// A unit that takes one layer after the other, from its last to its first.
class StageUnits::GrowingUnit {
 public:
  GrowingUnit(const StageUnits& units, std::size_t end, const Run& stage) : units_(units), end_(end), stage_(stage) {}

  void take(std::size_t at) {
    const Layer& layer = units_.graph_.layers[units_.order_[at]];
    sums_.forward += layer.forward;
    sums_.backward += layer.backward;
    sums_.stash += units_.own_stash(at, stage_);
    sums_.workspace = std::max(sums_.workspace, layer.workspace);
    read_tensors(at, layer);
    share_tensors(at, layer.keeps);
    share_tensors(at, layer.reads);
    rest_ = layer.checkpoint;
    for (const std::uint32_t tensor : layer.reads) rest_ -= bytes(tensor);
  }

  /// The unit of the layers taken so far. What the ledger keeps of it, recomputed, are the tensors that it reads from
  /// outside, unless they count at another unit, those that it makes and that only layers behind it read again, and
  /// the rest of its first layer's checkpoint.
  [[nodiscard]] SavingUnit unit(bool is_single) const {
    SavingUnit unit = sums_;
    unit.checkpoint = std::min(std::max(rest_, Bytes(0)) + counted_ + (is_single ? Bytes(0) : left_), unit.stash);
    return unit;
  }

 private:
  /// Few numbers, in any order.
  class SmallSet {
   public:
    [[nodiscard]] bool contains(std::uint32_t one) const { return std::ranges::find(numbers_, one) != numbers_.end(); }
    /// Whether it was not there.
    bool insert(std::uint32_t one) {
      if (contains(one)) return false;
      numbers_.push_back(one);
      return true;
    }
    /// Whether it was there.
    bool erase(std::uint32_t one) {
      const auto found = std::ranges::find(numbers_, one);
      if (found == numbers_.end()) return false;
      *found = numbers_.back();
      numbers_.pop_back();
      return true;
    }

   private:
    std::vector<std::uint32_t> numbers_;
  };

  [[nodiscard]] Bytes bytes(std::uint32_t tensor) const { return units_.graph_.tensors[tensor].bytes; }

  /// A tensor that several layers of the stage keep counts at the last of them; one that none keeps, at each reader.
  [[nodiscard]] bool counts(std::uint32_t tensor, std::size_t begin) const {
    return units_.last_keeper(tensor, stage_) == units_.order_.size() || counts_here(tensor, begin);
  }

  [[nodiscard]] bool counts_here(std::uint32_t tensor, std::size_t begin) const {
    const std::size_t last = units_.last_keeper(tensor, stage_);
    return begin <= last && last < end_;
  }

  void read_tensors(std::size_t at, const Layer& layer) {
    for (const std::uint32_t tensor : units_.made_[at]) {
      if (read_.erase(tensor) && counts(tensor, at + 1)) counted_ -= bytes(tensor);
      if (counts_here(tensor, at) && last_of(units_.users_[tensor], stage_).value_or(0) >= end_) left_ += bytes(tensor);
    }
    for (const std::uint32_t tensor : layer.keeps) {
      if (read_.contains(tensor) && units_.last_keeper(tensor, stage_) == at) counted_ += bytes(tensor);
    }
    for (const std::uint32_t tensor : layer.reads) {
      if (read_.insert(tensor) && counts(tensor, at)) counted_ += bytes(tensor);
    }
  }

  /// The tensors that the layers keep or read, and that layers of the stage before them use, too.
  void share_tensors(std::size_t at, const std::vector<std::uint32_t>& tensors) {
    for (const std::uint32_t tensor : tensors) {
      const std::size_t first = *std::ranges::lower_bound(units_.users_[tensor], stage_.begin);
      if (first < at && shared_.insert(tensor)) sums_.shared += bytes(tensor);
      if (first == at && shared_.erase(tensor)) sums_.shared -= bytes(tensor);
    }
  }

  const StageUnits& units_;
  std::size_t end_;
  const Run& stage_;
  SavingUnit sums_;
  Bytes rest_;     // of the first layer's checkpoint, without what it reads
  SmallSet read_;  // from outside
  Bytes counted_;  // of these
  Bytes left_;     // of the tensors that stay for layers behind it
  SmallSet shared_;
};

SavingUnit StageUnits::unit(const Run& layers, const Run& stage) const {
  return units_before(layers.end, {layers.begin}, stage).front();
}

std::vector<SavingUnit> StageUnits::units_before(std::size_t end, const std::vector<std::size_t>& begins,
                                                 const Run& stage) const {
  std::vector<SavingUnit> units;
  GrowingUnit growing(*this, end, stage);
  std::size_t at = end;
  for (const std::size_t begin : begins) {
    while (at > begin) growing.take(--at);
    units.push_back(growing.unit(units.empty()));
  }
  return units;
}

Bytes StageUnits::own_stash(std::size_t layer, const Run& stage) const {
  Bytes stash = graph_.layers[order_[layer]].stash;
  for (const std::uint32_t tensor : graph_.layers[order_[layer]].keeps) {
    if (last_keeper(tensor, stage) != layer) stash -= graph_.tensors[tensor].bytes;
  }
  return stash;
}

std::size_t StageUnits::last_keeper(std::uint32_t tensor, const Run& stage) const {
  return last_of(keepers_[tensor], stage).value_or(order_.size());
}

std::optional<std::size_t> StageUnits::last_of(const std::vector<std::size_t>& positions, const Run& stage) {
  const auto behind = std::ranges::lower_bound(positions, stage.end);
  if (behind == positions.begin() || *std::prev(behind) < stage.begin) return std::nullopt;
  return *std::prev(behind);
}

}  // namespace stagecraft
