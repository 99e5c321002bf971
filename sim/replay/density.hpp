#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace stagecraft {

/// Transfers by the links they cross: of those that a chain of shared links joins, the most.
/// **Shape** one list of network links for each transfer.
/// **Cost** about O(links crossed).
[[nodiscard]] std::size_t largest_group(std::span<const std::span<const std::uint32_t>> routes);

/// Whether most of these transfers depend on each other, and are so many that it pays to work out all their rates
/// whenever one ends. Where they fall into groups, only the rates of that one's group should be looked at.
[[nodiscard]] bool is_dense(std::span<const std::span<const std::uint32_t>> routes);

}  // namespace stagecraft
