#include "planners/shared/savings/layer_units.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace stagecraft {
namespace {

constexpr Seconds kTiny{10e-6};  ///< an operator that takes less and keeps nothing is no unit of its own
const std::array<std::string, 3> kGrainWords{"operators", "layers", "blocks"};

/// For each position whether a unit ends behind it.
using Ends = std::vector<char>;

Ends ends_of_operators(const LayerGraph& graph, const std::vector<LayerId>& order) {
  const auto is_tiny = [&](std::size_t at) {
    const Layer& layer = graph.layers[order[at]];
    return layer.forward + layer.backward < kTiny && layer.stash == Bytes(0);
  };
  Ends ends(order.size(), 1);
  bool is_begun = false;  // by a layer that is not tiny
  for (std::size_t at = 0; at + 1 < order.size(); ++at) {
    is_begun = is_begun || !is_tiny(at);
    ends[at] = is_begun && !is_tiny(at + 1) ? 1 : 0;
  }
  return ends;
}

/// By position, those of the layers that use the layer's tensor, ascending.
std::vector<std::vector<std::size_t>> users_of(const LayerGraph& graph, const std::vector<LayerId>& order) {
  IndexVector<LayerId, std::size_t> position(graph.layers.size());
  for (std::size_t at = 0; at < order.size(); ++at) position[order[at]] = at;
  std::vector<std::vector<std::size_t>> users(order.size());
  for (const LayerEdge& edge : graph.edges) users[position[edge.from]].push_back(position[edge.to]);
  for (std::vector<std::size_t>& each : users) {
    std::ranges::sort(each);
    const auto doubles = std::ranges::unique(each);
    each.erase(doubles.begin(), doubles.end());
  }
  return users;
}

Ends ends_of_blocks(const LayerGraph& graph, const std::vector<LayerId>& order) {
  const std::vector<std::vector<std::size_t>> users = users_of(graph, order);
  Ends ends(order.size(), 1);
  std::size_t needed = 0;  // the last position up to which a tensor of an earlier layer is part of a branch
  for (std::size_t at = 0; at < order.size(); ++at) {
    ends[at] = needed <= at ? 1 : 0;
    if (!users[at].empty()) needed = std::max(needed, users[at].size() > 2 ? users[at].front() : users[at].back());
  }
  return ends;
}

}  // namespace

OptionInfo grain_option(std::string name, UnitGrain default_grain, std::string description) {
  return {std::move(name), kGrainWords.at(static_cast<std::size_t>(default_grain)), std::move(description),
          std::vector<std::string>(kGrainWords.begin(), kGrainWords.end())};
}

UnitGrain grain_of(const std::string& word) {
  const auto* const found = std::ranges::find(kGrainWords, word);
  STAGECRAFT_CHECK(found != kGrainWords.end(), "a word of the option");
  return static_cast<UnitGrain>(found - kGrainWords.begin());
}

std::vector<std::size_t> unit_bounds(const LayerGraph& graph, const std::vector<LayerId>& order, UnitGrain grain) {
  Ends ends(order.size(), 1);
  if (grain == UnitGrain::Operators) ends = ends_of_operators(graph, order);
  if (grain == UnitGrain::Blocks) ends = ends_of_blocks(graph, order);
  std::vector<std::size_t> bounds{0};
  for (std::size_t at = 0; at + 1 < order.size(); ++at) {
    if (ends[at] != 0) bounds.push_back(at + 1);
  }
  bounds.push_back(order.size());
  return bounds;
}

}  // namespace stagecraft
