#pragma once

#include "planners/shared/costs/pair_bandwidths.hpp"
#include "sim/base/index.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stagecraft::spp {

/// The weights of a complete graph. They are whole numbers, so that sums are exact and rounding decides no tie.
struct CutGraph {
  std::size_t size = 0;
  std::vector<std::int64_t> weights;  ///< [a · size + b], symmetric; the diagonal is not read
};

struct MinCut {
  std::int64_t weight = 0;
  std::vector<std::size_t> side;  ///< vertices of one side, ascending
};

/// The first minimum cut that the algorithm of Stoer and Wagner finds. In each phase it starts at the smallest
/// remaining vertex and takes the most tightly connected one, the smaller of two on a tie. A merged vertex has the
/// number of its smallest member. Of cuts of equal weight the first one counts.
/// **Requires** at least two vertices, no negative weight, and size² times the largest weight below 2^61.
/// **Cost** O(size³) at worst; O(size²) if a lower bound of all cuts proves that the first cut found is a minimum.
[[nodiscard]] MinCut first_minimum_cut(const CutGraph& graph);

/// The devices in the order of recursive minimum cuts: a set of devices is cut in two, the side with the smallest
/// device comes first, and both sides are ordered in the same way. So devices with little bandwidth between them end up
/// far apart. A set with equal bandwidths keeps the platform's order.
/// **Cost** O(devices⁴ / 12) at worst; O(devices³) on clusters of equal nodes.
/// **Source** SPP (INFOCOM 2022), recursive device ordering; the rules for ties are our own.
[[nodiscard]] std::vector<DeviceId> device_order(const PairBandwidths& bandwidths);

}  // namespace stagecraft::spp
