#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace stagecraft {

/// The size of the largest group of transfers, where transfers that share a link are in the same group.
/// **Shape** one list of network links for each transfer.
/// **Cost** about O(links crossed).
[[nodiscard]] std::size_t largest_group(std::span<const std::span<const std::uint32_t>> routes);

/// Whether most of these transfers depend on each other and are so many that it is faster to compute all rates anew
/// whenever one of them ends. If they fall into small groups, computing only the rates of the group is faster.
[[nodiscard]] bool is_dense(std::span<const std::span<const std::uint32_t>> routes);

}  // namespace stagecraft
