#include "planners/spp/device_order.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

namespace stagecraft::spp {
namespace {

using Weight = std::int64_t;
using Vertices = std::vector<std::size_t>;

constexpr int kSumBits = 61;  // bits that a sum over all ordered pairs may have

/// The end of a phase of Stoer and Wagner: the weight of the cut that separates the vertex `last` from all others, and
/// the vertex taken before it.
struct PhaseEnd {
  Weight weight = 0;
  std::size_t last = 0;
  std::size_t before = 0;
};

/// The vertices not yet taken in a phase, ascending, and for each the sum of its weights to those that are taken.
struct Open {
  Vertices vertices;
  std::vector<Weight> tightness;
};

/// One phase: takes the vertices of `remaining` (ascending) in order of maximum adjacency, that is, always the one that
/// is most tightly connected to those already taken. `open` is scratch space.
PhaseEnd run_phase(const CutGraph& graph, const Vertices& remaining, Open& open) {
  open.vertices.assign(remaining.begin() + 1, remaining.end());
  open.tightness.assign(open.vertices.size(), 0);
  PhaseEnd end{0, remaining.front(), remaining.front()};
  while (!open.vertices.empty()) {
    const Weight* row = &graph.weights[end.last * graph.size];
    Weight most = -1;
    std::size_t tightest = 0;
    for (std::size_t i = 0; i < open.vertices.size(); ++i) {
      const Weight sum = open.tightness[i] + row[open.vertices[i]];
      open.tightness[i] = sum;
      if (sum > most) {
        most = sum;
        tightest = i;
      }
    }
    end = {most, open.vertices[tightest], end.last};
    open.vertices.erase(open.vertices.begin() + static_cast<std::ptrdiff_t>(tightest));
    open.tightness.erase(open.tightness.begin() + static_cast<std::ptrdiff_t>(tightest));
  }
  return end;
}

/// The different weights of one vertex to all others, smallest first, with the number of times each occurs. Clusters
/// have few different bandwidths, so counting is faster than sorting; with more than kFew different weights the row is
/// sorted instead. `row` is scratch space.
void weights_of(const CutGraph& graph, std::size_t vertex, std::vector<Weight>& row,
                std::vector<std::pair<Weight, std::size_t>>& counts) {
  row.clear();
  counts.clear();
  const Weight* weights = &graph.weights[vertex * graph.size];
  row.insert(row.end(), weights, weights + vertex);
  row.insert(row.end(), weights + vertex + 1, weights + graph.size);
  constexpr std::size_t kFew = 32;
  std::size_t at = 0;
  for (Weight weight : row) {
    if (at < counts.size() && counts[at].first == weight) {
      ++counts[at].second;
      continue;
    }
    const auto place = std::ranges::lower_bound(counts, weight, {}, &std::pair<Weight, std::size_t>::first);
    at = static_cast<std::size_t>(place - counts.begin());
    if (place != counts.end() && place->first == weight) {
      ++place->second;
      continue;
    }
    if (counts.size() == kFew) break;
    counts.insert(place, {weight, 1});
  }
  std::size_t counted = 0;
  for (const auto& [weight, count] : counts) counted += count;
  if (counted == row.size()) return;
  std::ranges::sort(row);  // there are more than kFew different weights
  counts.clear();
  for (Weight weight : row) counts.emplace_back(weight, 1);
}

/// A lower bound of all cuts. If the smaller side has k vertices, each of them has `size` - k edges to the other side,
/// so the cut weighs at least k times the least sum of the `size` - k lightest edges of a vertex.
Weight least_possible(const CutGraph& graph) {
  const std::size_t most = graph.size / 2;
  std::vector<Weight> least(most + 1, std::numeric_limits<Weight>::max());
  std::vector<Weight> row;
  std::vector<std::pair<Weight, std::size_t>> counts;
  for (std::size_t v = 0; v < graph.size; ++v) {
    weights_of(graph, v, row, counts);
    Weight sum = 0;
    for (const auto& [weight, count] : counts) sum += weight * static_cast<Weight>(count);
    for (std::size_t k = 1; k <= most; ++k) {
      least[k] = std::min(least[k], sum);
      sum -= counts.back().first;
      if (--counts.back().second == 0) counts.pop_back();
    }
  }
  Weight bound = std::numeric_limits<Weight>::max();
  for (std::size_t k = 1; k <= most; ++k) bound = std::min(bound, static_cast<Weight>(k) * least[k]);
  return bound;
}

/// Merges the vertex `gone` into `kept`: adds the weights of its edges.
void merge(CutGraph& graph, std::size_t kept, std::size_t gone) {
  for (std::size_t v = 0; v < graph.size; ++v) {
    graph.weights[kept * graph.size + v] += graph.weights[gone * graph.size + v];
    graph.weights[v * graph.size + kept] = graph.weights[kept * graph.size + v];
  }
}

/// The bandwidths times a power of two, rounded to whole numbers. The factor is so large that whole bytes per second
/// stay exact (up to 140 TB/s with 128 devices, 2 TB/s with 1,024), and so small that sums over all pairs do not
/// overflow.
CutGraph whole_bandwidths(const PairBandwidths& bandwidths) {
  const std::size_t size = bandwidths.size();
  double largest = 0.0;
  for (DeviceId a : indices<DeviceId>(size)) {
    for (DeviceId b : indices<DeviceId>(a.value())) largest = std::max(largest, bandwidths.between(a, b).value());
  }
  const int pairs = static_cast<int>(std::bit_width(size * size - 1));
  const int exponent = largest > 0.0 ? kSumBits - pairs - std::ilogb(largest) - 1 : 0;
  CutGraph graph{size, std::vector<Weight>(size * size)};
  for (DeviceId a : indices<DeviceId>(size)) {
    for (DeviceId b : indices<DeviceId>(a.value())) {
      const auto weight = static_cast<Weight>(std::nearbyint(std::ldexp(bandwidths.between(a, b).value(), exponent)));
      graph.weights[a.value() * size + b.value()] = graph.weights[b.value() * size + a.value()] = weight;
    }
  }
  return graph;
}

/// The graph of only some of the vertices, numbered by their positions in `vertices`.
CutGraph among(const CutGraph& graph, const Vertices& vertices) {
  CutGraph part{vertices.size(), {}};
  part.weights.reserve(vertices.size() * vertices.size());
  for (std::size_t a : vertices) {
    const Weight* row = &graph.weights[a * graph.size];
    for (std::size_t b : vertices) part.weights.push_back(row[b]);
  }
  return part;
}

bool is_uniform(const CutGraph& graph, const Vertices& vertices) {
  const Weight first = graph.weights[vertices[0] * graph.size + vertices[1]];
  for (std::size_t a : vertices) {
    const Weight* row = &graph.weights[a * graph.size];
    for (std::size_t b : vertices) {
      if (a != b && row[b] != first) return false;
    }
  }
  return true;
}

}  // namespace

MinCut first_minimum_cut(const CutGraph& graph) {
  STAGECRAFT_CHECK(graph.size > 1, "a cut has two sides");
  Vertices remaining(graph.size);
  std::vector<Vertices> members(graph.size);
  for (std::size_t v = 0; v < graph.size; ++v) {
    remaining[v] = v;
    members[v] = {v};
  }
  Open open;
  PhaseEnd end = run_phase(graph, remaining, open);
  MinCut best{end.weight, members[end.last]};
  constexpr std::size_t kWorthABound = 12;
  const Weight bound = graph.size < kWorthABound ? 0 : least_possible(graph);
  if (best.weight <= bound) return best;
  CutGraph merged = graph;
  while (remaining.size() > 2) {
    const auto [kept, gone] = std::minmax(end.last, end.before);
    merge(merged, kept, gone);
    members[kept].insert(members[kept].end(), members[gone].begin(), members[gone].end());
    std::erase(remaining, gone);
    end = run_phase(merged, remaining, open);
    if (end.weight < best.weight) best = {end.weight, members[end.last]};
    if (best.weight <= bound) break;
  }
  std::ranges::sort(best.side);
  return best;
}

std::vector<DeviceId> device_order(const PairBandwidths& bandwidths) {
  const CutGraph graph = whole_bandwidths(bandwidths);
  std::vector<DeviceId> order;
  std::vector<Vertices> open(1);  // a stack of vertex sets still to be cut, each ascending; the last one is next
  for (std::size_t v = 0; v < graph.size; ++v) open.front().push_back(v);
  while (!open.empty()) {
    const Vertices vertices = std::move(open.back());
    open.pop_back();
    if (vertices.size() < 2 || is_uniform(graph, vertices)) {
      for (std::size_t v : vertices) order.emplace_back(v);
      continue;
    }
    const MinCut cut = first_minimum_cut(among(graph, vertices));
    std::array<Vertices, 2> sides;
    std::size_t next = 0;
    for (std::size_t v = 0; v < vertices.size(); ++v) {
      const bool inside = next < cut.side.size() && cut.side[next] == v;
      if (inside) ++next;
      sides[inside ? 1 : 0].push_back(vertices[v]);
    }
    if (sides[1].front() < sides[0].front()) std::swap(sides[0], sides[1]);
    open.push_back(std::move(sides[1]));
    open.push_back(std::move(sides[0]));
  }
  return order;
}

}  // namespace stagecraft::spp
