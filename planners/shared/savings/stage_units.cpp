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

StageUnits::Run StageUnits::reach(std::size_t layer) const {
  Run reach{layer, layer + 1};
  const auto widen = [&](const std::vector<std::size_t>& positions) {
    const auto [same, behind] = std::ranges::equal_range(positions, layer);
    if (same != positions.begin()) reach.begin = std::min(reach.begin, *std::prev(same));
    if (behind != positions.end()) reach.end = std::max(reach.end, *behind + 1);
  };
  const auto widen_to = [&](std::uint32_t tensor) {
    widen(keepers_[tensor]);
    widen(users_[tensor]);
  };
  std::ranges::for_each(graph_.layers[order_[layer]].keeps, widen_to);
  std::ranges::for_each(graph_.layers[order_[layer]].reads, widen_to);
  std::ranges::for_each(made_[layer], widen_to);
  return reach;
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
  /// the rest of its first layer's checkpoint. If the stage begins with it, nothing is shared with layers before it,
  /// and a tensor that only these keep counts where it is read.
  [[nodiscard]] RunUnit unit(bool is_single) const {
    RunUnit unit{sums_, sums_};
    const Bytes checkpoint = std::max(rest_, Bytes(0)) + (is_single ? Bytes(0) : left_);
    unit.inner.checkpoint = std::min(checkpoint + counted_, sums_.stash);
    unit.first.checkpoint = std::min(checkpoint + counted_ + kept_before_, sums_.stash);
    unit.first.shared = Bytes(0);
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

  /// Where a tensor counts that the unit from `begin` on reads: if several layers of the stage keep it, at the last of
  /// them; if none does, at each reader.
  enum class Place { Here, Before, Behind };
  [[nodiscard]] Place place_of(std::uint32_t tensor, std::size_t begin) const {
    const std::size_t last = units_.last_keeper(tensor, stage_);
    if (last == units_.order_.size() || (begin <= last && last < end_)) return Place::Here;
    return last < begin ? Place::Before : Place::Behind;
  }

  void count(std::uint32_t tensor, Place place, bool is_read) {
    Bytes& sum = place == Place::Here ? counted_ : kept_before_;
    if (place == Place::Behind) return;
    sum = is_read ? sum + bytes(tensor) : sum - bytes(tensor);
  }

  void read_tensors(std::size_t at, const Layer& layer) {
    for (const std::uint32_t tensor : units_.made_[at]) {
      if (read_.erase(tensor)) count(tensor, place_of(tensor, at + 1), false);
      const std::size_t last = units_.last_keeper(tensor, stage_);
      const bool is_kept_here = at <= last && last < end_;
      if (is_kept_here && last_of(units_.users_[tensor], stage_).value_or(0) >= end_) left_ += bytes(tensor);
    }
    for (const std::uint32_t tensor : layer.keeps) {
      if (!read_.contains(tensor) || units_.last_keeper(tensor, stage_) != at) continue;
      count(tensor, Place::Before, false);
      count(tensor, Place::Here, true);
    }
    for (const std::uint32_t tensor : layer.reads) {
      if (read_.insert(tensor)) count(tensor, place_of(tensor, at), true);
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
  Bytes rest_;         // of the first layer's checkpoint, without what it reads
  SmallSet read_;      // from outside
  Bytes counted_;      // of these
  Bytes kept_before_;  // of those that count at a layer of the stage before it
  Bytes left_;         // of the tensors that stay for layers behind it
  SmallSet shared_;
};

SavingUnit StageUnits::unit(const Run& layers, const Run& stage) const {
  return units_before(layers.end, {layers.begin}, stage).front().inner;
}

std::vector<StageUnits::RunUnit> StageUnits::units_before(std::size_t end, const std::vector<std::size_t>& begins,
                                                          const Run& stage) const {
  std::vector<RunUnit> units;
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
