#include "planners/balanced_cuts.hpp"

#include "planners/cost_model.hpp"
#include "sim/base/error.hpp"
#include "sim/model/graph_order.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

namespace stagecraft {

namespace {

void require_entries(std::size_t items, std::size_t pieces) {
  constexpr std::size_t kMost = 250'000'000;  // of 4 bytes
  if (items * pieces <= kMost) return;
  throw InputError("the table of " + std::to_string(items) + " layers in " + std::to_string(pieces) +
                       " stages would have " + std::to_string(items * pieces) + " entries",
                   {}, "this planner takes on 2.5e8: plan fewer stages, or with blocks for layers");
}

}  // namespace

// NOLINTNEXTLINE(readability-function-size): the recurrence is three loops and a comparison
std::vector<std::size_t> balanced_cuts(const std::vector<double>& prefix, const std::vector<double>& factors) {
  const std::size_t items = prefix.size() - 1;
  const std::size_t pieces = factors.size();
  STAGECRAFT_CHECK(pieces > 0 && pieces <= items, "at least one item for each piece");
  require_entries(items, pieces);
  std::vector<std::vector<std::uint32_t>> cut(pieces, std::vector<std::uint32_t>(items + 1));
  std::vector<double> best(items + 1);
  for (std::size_t j = 0; j <= items; ++j) best[j] = factors[0] * prefix[j];
  for (std::size_t p = 1; p < pieces; ++p) {
    std::vector<double> next(items + 1, std::numeric_limits<double>::infinity());
    for (std::size_t j = p + 1; j <= items; ++j) {
      for (std::size_t i = j; i-- > p;) {
        const double piece = factors[p] * (prefix[j] - prefix[i]);
        if (piece >= next[j]) break;
        if (best[i] < next[j]) {
          next[j] = std::max(best[i], piece);
          cut[p][j] = static_cast<std::uint32_t>(i);
        }
      }
    }
    best = std::move(next);
  }
  std::vector<std::size_t> first(pieces);
  for (std::size_t p = pieces, end = items; p-- > 1;) first[p] = end = cut[p][end];
  return first;
}

std::vector<Stage> balanced_stages(const LayerGraph& graph, const Platform& platform,
                                   const std::vector<std::vector<DeviceId>>& runs, bool recomputes) {
  const std::vector<LayerId> order = canonical_order(graph);
  std::vector<double> prefix(order.size() + 1);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Layer& layer = graph.layers[order[i]];
    const Seconds again = recomputes ? layer.forward : Seconds(0);
    prefix[i + 1] = prefix[i] + (layer.forward + layer.backward + again).value();
  }
  std::vector<double> factors;
  for (const std::vector<DeviceId>& run : runs) factors.push_back(slowest_factor(graph, platform, run));
  const std::vector<std::size_t> first = balanced_cuts(prefix, factors);
  std::vector<Stage> stages(runs.size());
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const std::size_t end = s + 1 < stages.size() ? first[s + 1] : order.size();
    stages[s].layers.assign(order.begin() + static_cast<std::ptrdiff_t>(first[s]),
                            order.begin() + static_cast<std::ptrdiff_t>(end));
    stages[s].devices = runs[s];
  }
  return stages;
}

}  // namespace stagecraft
