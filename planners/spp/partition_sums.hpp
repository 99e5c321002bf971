#pragma once

#include "planners/spp/partition_costs.hpp"
#include "planners/spp/partition_tables.hpp"

#include <vector>

namespace stagecraft::spp {

/// For each of `targets` the partition with the smallest sum of the loads of stages and channels among those with the
/// target's load; of equal sums the first found with r, l', r' ascending. Loads are rounded to multiples of a power of
/// two between 2^-41 and 2^-40 of the largest one, so that sums are exact in any order.
///
/// Dynamic program: let W be the load that no stage or channel may exceed. F(l, c, r, i) is the smallest sum if the
/// first l layers form c stages on the first i devices, with the last stage on r of them:
///   H(l', c, p, r) = min over r' of F(l', c, r', p) + channel(l', r', r, p)       channels within W only
///   F(l, c, r, i)  = min over l' of H(l', c - 1, i - r, r) + stage(l'..l, r, i)   stages within W only
/// It runs once for each different W. A cut at l' after p devices is considered only if the devices on either side can
/// compute their layers within W.
/// **Requires** a table of the problem's size; its content is overwritten. **Cost** as `best_partitions`, for each W.
[[nodiscard]] std::vector<Partition> smallest_sums(const PartitionProblem& problem, const PartitionCosts& costs,
                                                   const std::vector<LeastLoad>& targets, CutTable& table);

}  // namespace stagecraft::spp
