#include "planners/shared/savings/stage_units.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace stagecraft {

StageUnits::StageUnits(const LayerGraph& graph, std::vector<LayerId> order)
    : graph_(graph),
      order_(std::move(order)),
      position_(graph.layers.size(), order_.size()),
      keepers_(graph.tensors.size()),
      users_(graph.tensors.size()) {
  for (std::size_t at = 0; at < order_.size(); ++at) {
    position_[order_[at]] = at;
    const auto use = [&](std::uint32_t tensor) {
      if (users_[tensor].empty() || users_[tensor].back() != at) users_[tensor].push_back(at);
    };
    for (const std::uint32_t tensor : graph.layers[order_[at]].keeps) keepers_[tensor].push_back(at);
    std::ranges::for_each(graph.layers[order_[at]].keeps, use);
    std::ranges::for_each(graph.layers[order_[at]].reads, use);
  }
}

SavingUnit StageUnits::unit(const Run& layers, const Run& stage) const {
  SavingUnit unit;
  for (std::size_t at = layers.begin; at < layers.end; ++at) {
    const Layer& layer = graph_.layers[order_[at]];
    unit.forward += layer.forward;
    unit.backward += layer.backward;
    unit.stash += own_stash(at, stage);
    unit.workspace = std::max(unit.workspace, layer.workspace);
  }
  unit.checkpoint = std::min(checkpoint(layers, stage), unit.stash);
  unit.shared = shared(layers, stage);
  return unit;
}

Bytes StageUnits::own_stash(std::size_t layer, const Run& stage) const {
  Bytes stash = graph_.layers[order_[layer]].stash;
  for (const std::uint32_t tensor : graph_.layers[order_[layer]].keeps) {
    if (last_keeper(tensor, stage) != layer) stash -= graph_.tensors[tensor].bytes;
  }
  return stash;
}

/// What the ledger keeps of a recomputed segment: the tensors that it reads from outside, unless they count at another
/// unit, and the rest of its first layer's checkpoint.
Bytes StageUnits::checkpoint(const Run& layers, const Run& stage) const {
  const Layer& first = graph_.layers[order_[layers.begin]];
  Bytes rest = first.checkpoint;
  for (const std::uint32_t tensor : first.reads) rest -= graph_.tensors[tensor].bytes;
  Bytes kept = std::max(rest, Bytes(0));
  for (const std::uint32_t tensor : tensors_read(layers)) {
    const std::size_t last = last_keeper(tensor, stage);
    if (last == order_.size() || (layers.begin <= last && last < layers.end)) kept += graph_.tensors[tensor].bytes;
  }
  return kept;
}

/// From outside; each once.
std::vector<std::uint32_t> StageUnits::tensors_read(const Run& layers) const {
  std::vector<std::uint32_t> read;
  for (std::size_t at = layers.begin; at < layers.end; ++at) {
    for (const std::uint32_t tensor : graph_.layers[order_[at]].reads) {
      const LayerId from = graph_.tensors[tensor].from;
      if (from.is_none() || position_[from] < layers.begin || position_[from] >= layers.end) read.push_back(tensor);
    }
  }
  std::ranges::sort(read);
  const auto doubles = std::ranges::unique(read);
  read.erase(doubles.begin(), doubles.end());
  return read;
}

/// The tensors that the unit's layers keep or read from outside and that layers of the stage before it use, too.
Bytes StageUnits::shared(const Run& layers, const Run& stage) const {
  std::vector<std::uint32_t> tensors = tensors_read(layers);
  for (std::size_t at = layers.begin; at < layers.end; ++at) {
    const std::vector<std::uint32_t>& keeps = graph_.layers[order_[at]].keeps;
    tensors.insert(tensors.end(), keeps.begin(), keeps.end());
  }
  std::ranges::sort(tensors);
  const auto doubles = std::ranges::unique(tensors);
  tensors.erase(doubles.begin(), doubles.end());
  Bytes sum;
  for (const std::uint32_t tensor : tensors) {
    const auto first = std::ranges::lower_bound(users_[tensor], stage.begin);
    if (first != users_[tensor].end() && *first < layers.begin) sum += graph_.tensors[tensor].bytes;
  }
  return sum;
}

std::size_t StageUnits::last_keeper(std::uint32_t tensor, const Run& stage) const {
  const auto behind = std::ranges::lower_bound(keepers_[tensor], stage.end);
  if (behind == keepers_[tensor].begin() || *std::prev(behind) < stage.begin) return order_.size();
  return *std::prev(behind);
}

}  // namespace stagecraft
