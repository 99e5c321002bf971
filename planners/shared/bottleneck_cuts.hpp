#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace stagecraft {

/// Cuts items into `pieces` non-empty pieces so that the largest cost of a piece is as small as possible. `cost(p, i, j)`
/// is that of piece p with the items [i, j); infinity forbids it. Of several optimal cuts it takes the one with the
/// smallest last piece, then the one with the smallest piece before it, and so on.
///
/// Dynamic program: best(p, j) is the least possible largest cost if the first j items form p pieces:
///   best(p, j) = min over p - 1 <= i < j of max(best(p - 1, i), cost(p, i, j)).
/// The outer loop goes over p, so only the row of p - 1 is kept. The second term never falls as i goes down, so the
/// scan from i = j - 1 stops as soon as it reaches the best value found. (best(p - 1, i) need not be monotone in i,
/// because pieces are non-empty and differ.) The cut is read back from the i stored for each (p, j).
/// **Shape** the first item of every piece; empty if no cut is allowed.
/// **Requires** 1 <= `pieces` <= `items` < 2^32, and a cost that never falls when a piece gets another item in front.
/// **Cost** O(pieces · items²) costs at worst, 4 bytes × pieces · items.
template <class Cost>
[[nodiscard]] std::vector<std::size_t> bottleneck_cuts(std::size_t items, std::size_t pieces, const Cost& cost) {
  constexpr double kForbidden = std::numeric_limits<double>::infinity();
  std::vector<std::vector<std::uint32_t>> cut(pieces, std::vector<std::uint32_t>(items + 1));
  std::vector<double> best(items + 1, kForbidden);
  for (std::size_t j = 1; j <= items; ++j) best[j] = cost(0, 0, j);
  std::vector<double> next(items + 1);
  const auto scan = [&](std::size_t p, std::size_t j) {
    next[j] = kForbidden;
    for (std::size_t i = j; i-- > p;) {  // downwards, so that the piece only grows and the scan can stop
      const double piece = cost(p, i, j);
      if (piece >= next[j]) break;
      if (best[i] >= next[j]) continue;
      next[j] = std::max(best[i], piece);
      cut[p][j] = static_cast<std::uint32_t>(i);
    }
  };
  for (std::size_t p = 1; p < pieces; ++p) {
    for (std::size_t j = 0; j <= items; ++j) scan(p, j);
    best.swap(next);
  }
  if (best[items] == kForbidden) return {};
  std::vector<std::size_t> first(pieces);
  for (std::size_t p = pieces, end = items; p-- > 1;) first[p] = end = cut[p][end];
  return first;
}

}  // namespace stagecraft
