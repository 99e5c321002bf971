#include "sim/model/stash.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace stagecraft {

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

// A tensor counts at the last of its keepers in the run. So each pair of keepers that follow each other counts once too
// often if the run has both. The sums leave out every pair at its first keeper; those whose second one lies beyond the
// end of the run are added again.
StashSums::StashSums(const LayerGraph& graph, const std::vector<LayerId>& order) : sums_(order.size() + 1) {
  constexpr std::size_t kNobody = static_cast<std::size_t>(-1);
  std::vector<std::size_t> keeper(graph.tensors.size(), kNobody);  // the last one so far
  std::vector<Bytes> left_out(order.size());
  std::vector<std::vector<Pair>> at_cut(order.size() + 1);
  for (std::size_t at = 0; at < order.size(); ++at) {
    for (const std::uint32_t tensor : graph.layers[order[at]].keeps) {
      const std::size_t before = std::exchange(keeper[tensor], at);
      if (before == kNobody) continue;
      const Bytes bytes = graph.tensors[tensor].bytes;
      left_out[before] += bytes;
      for (std::size_t cut = before + 1; cut <= at; ++cut) at_cut[cut].push_back({before, bytes});
    }
  }
  for (std::size_t at = 0; at < order.size(); ++at) {
    sums_[at + 1] = sums_[at] + graph.layers[order[at]].stash - left_out[at];
  }
  cuts_.push_back(0);
  for (std::vector<Pair>& pairs : at_cut) {
    std::ranges::sort(pairs, {}, &Pair::first);
    for (std::size_t i = pairs.size(); i-- > 1;) pairs[i - 1].bytes += pairs[i].bytes;
    pairs_.insert(pairs_.end(), pairs.begin(), pairs.end());
    cuts_.push_back(pairs_.size());
  }
}

Bytes StashSums::beyond(std::size_t begin, std::size_t end) const {
  const auto last = pairs_.begin() + static_cast<std::ptrdiff_t>(cuts_[end + 1]);
  const auto found = std::lower_bound(pairs_.begin() + static_cast<std::ptrdiff_t>(cuts_[end]), last, begin,
                                      [](const Pair& pair, std::size_t first) { return pair.first < first; });
  return found == last ? Bytes(0) : found->bytes;
}

}  // namespace stagecraft
