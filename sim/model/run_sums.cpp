#include "sim/model/run_sums.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace stagecraft {
namespace {

/// The position of each layer in the order.
IndexVector<LayerId, std::size_t> positions_in(const std::vector<LayerId>& order) {
  IndexVector<LayerId, std::size_t> positions(order.size());
  for (std::size_t at = 0; at < order.size(); ++at) positions[order[at]] = at;
  return positions;
}

}  // namespace

RunSums::RunSums(std::vector<Bytes> before) : sums_(std::move(before)), cuts_(sums_.size() + 1) {}

// Common bytes count at the last of their layers in the run. So each pair of their layers that follow each other counts
// once too often if the run has both. The sums leave out every pair at its first layer; those whose second one lies
// beyond the end of the run are added again.
RunSums::RunSums(const std::vector<Bytes>& sizes, const std::vector<Common>& common) : sums_(sizes.size() + 1) {
  std::vector<Bytes> left_out(sizes.size());
  std::vector<std::vector<Pair>> at_cut(sizes.size() + 1);
  for (const Common& each : common) {
    for (std::size_t i = 0; i + 1 < each.at.size(); ++i) {
      left_out[each.at[i]] += each.bytes;
      for (std::size_t cut = each.at[i] + 1; cut <= each.at[i + 1]; ++cut) {
        at_cut[cut].push_back({each.at[i], each.bytes});
      }
    }
  }
  for (std::size_t at = 0; at < sizes.size(); ++at) sums_[at + 1] = sums_[at] + sizes[at] - left_out[at];
  cuts_.push_back(0);
  for (std::vector<Pair>& pairs : at_cut) {
    std::ranges::sort(pairs, {}, &Pair::first);
    for (std::size_t i = pairs.size(); i-- > 1;) pairs[i - 1].bytes += pairs[i].bytes;
    pairs_.insert(pairs_.end(), pairs.begin(), pairs.end());
    cuts_.push_back(pairs_.size());
  }
}

Bytes RunSums::beyond(std::size_t begin, std::size_t end) const {
  const auto last = pairs_.begin() + static_cast<std::ptrdiff_t>(cuts_[end + 1]);
  const auto found = std::lower_bound(pairs_.begin() + static_cast<std::ptrdiff_t>(cuts_[end]), last, begin,
                                      [](const Pair& pair, std::size_t first) { return pair.first < first; });
  return found == last ? Bytes(0) : found->bytes;
}

RunSums stash_sums(const LayerGraph& graph, const std::vector<LayerId>& order) {
  std::vector<Bytes> sizes;
  std::vector<RunSums::Common> common;
  for (const SharedTensor& tensor : graph.tensors) common.push_back({{}, tensor.bytes});
  for (std::size_t at = 0; at < order.size(); ++at) {
    sizes.push_back(graph.layers[order[at]].stash);
    for (const std::uint32_t tensor : graph.layers[order[at]].keeps) common[tensor].at.push_back(at);
  }
  return {sizes, common};
}

RunSums parameter_sums(const LayerGraph& graph, const std::vector<LayerId>& order) {
  std::vector<Bytes> sizes;
  for (const LayerId id : order) sizes.push_back(graph.layers[id].parameters);
  const IndexVector<LayerId, std::size_t> positions = positions_in(order);
  std::vector<RunSums::Common> common;
  for (const TiedParameters& tied : graph.tied) {
    RunSums::Common& table = common.emplace_back(RunSums::Common{{}, tied.bytes});
    for (const LayerId id : tied.layers) table.at.push_back(positions[id]);
    std::ranges::sort(table.at);
  }
  return {sizes, common};
}

Bytes stash_of(const LayerGraph& graph, const std::vector<LayerId>& layers) {
  Bytes sum;
  std::vector<std::uint32_t> kept;
  for (const LayerId id : layers) {
    const Layer& layer = graph.layers[id];
    sum += layer.stash;
    kept.insert(kept.end(), layer.keeps.begin(), layer.keeps.end());
  }
  std::ranges::sort(kept);
  for (std::size_t i = 1; i < kept.size(); ++i) {
    if (kept[i] == kept[i - 1]) sum -= graph.tensors[kept[i]].bytes;
  }
  return sum;
}

RunSums expert_sums(const LayerGraph& graph, const std::vector<LayerId>& order) {
  std::vector<Bytes> before(1);
  for (const LayerId id : order) before.push_back(before.back() + graph.layers[id].experts);
  return before;
}

Bytes parameters_of(const LayerGraph& graph, const std::vector<LayerId>& layers) {
  Bytes sum;
  for (const LayerId id : layers) sum += graph.layers[id].parameters;
  if (graph.tied.empty()) return sum;
  IndexVector<LayerId, char> is_here(graph.layers.size());
  for (const LayerId id : layers) is_here[id] = 1;
  for (const TiedParameters& tied : graph.tied) {
    const auto here = std::ranges::count_if(tied.layers, [&](LayerId id) { return is_here[id] != 0; });
    if (here > 1) sum -= tied.bytes * (here - 1);
  }
  return sum;
}

}  // namespace stagecraft
