#pragma once

#include "planners/spp/partition_costs.hpp"
#include "planners/spp/partition_tables.hpp"

#include <cstddef>
#include <vector>

namespace stagecraft::spp {

/// For each of `targets` the partition with the smallest sum of the loads of stages and channels among those that reach
/// it; of equal sums the first found with r, l', r' ascending. Loads are rounded to a power of two between 2^-41 and
/// 2^-40 of the largest, so that sums are exact in any order.
///
/// With W the load that none may exceed, F(l, c, r, i) is the smallest sum of the first l layers in c stages on the
/// first i devices, the last stage on r of them:
///   H(l', c, p, r) = min over r' of F(l', c, r', p) + channel(l', r', r, p)       channels within W only
///   F(l, c, r, i)  = min over l' of H(l', c - 1, i - r, r) + stage(l'..l, r, i)   stages within W only
/// once for each different W. A cut at l' behind p devices is only looked at if the layers on either side could be done
/// within W on the devices there.
/// **Requires** tables of the problem's size; what they hold is overwritten. **Cost** as `best_partitions`, for each W.
[[nodiscard]] std::vector<Partition> smallest_sums(const PartitionProblem& problem, const PartitionCosts& costs,
                                                   const std::vector<LeastLoad>& targets, CutTable& table);

}  // namespace stagecraft::spp
