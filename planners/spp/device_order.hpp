#pragma once

#include "planners/shared/pair_bandwidths.hpp"
#include "sim/base/index.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stagecraft::spp {

/// Weights of a complete graph, whole numbers so that sums are exact and no tie is decided by rounding.
struct CutGraph {
  std::size_t size = 0;
  std::vector<std::int64_t> weights;  ///< [a · size + b], symmetric; what stands on the diagonal is not read
};

struct MinCut {
  std::int64_t weight = 0;
  std::vector<std::size_t> side;  ///< vertices of one side, ascending
};

/// The first minimum cut in the order of Stoer and Wagner: each phase starts at the smallest remaining vertex and takes
/// the most tightly connected one, the smaller of two that tie; a merged vertex is called by its smallest member; of
/// cuts of equal weight the one found first.
/// **Requires** at least two vertices, no negative weight, and size² times the largest below 2^61.
/// **Cost** O(size³) at worst; O(size²) where a bound on all cuts proves the first one found to be least.
[[nodiscard]] MinCut first_minimum_cut(const CutGraph& graph);

/// Devices in the order of recursive minimum cuts, the side that holds the smallest device first, so that devices with
/// thin cuts between them end up far apart. Equal bandwidths give the platform's order.
/// **Cost** O(devices⁴ / 12) at worst; O(devices³) on clusters of equal nodes.
/// **Source** SPP (INFOCOM 2022), recursive device ordering; the rules for ties are ours.
[[nodiscard]] std::vector<DeviceId> device_order(const PairBandwidths& bandwidths);

}  // namespace stagecraft::spp
