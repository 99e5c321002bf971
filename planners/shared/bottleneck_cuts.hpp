#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace stagecraft {

/// The dynamic program that cuts items into non-empty pieces so that the largest cost of a piece is as small as possible.
/// `cost(p, i, j)` is that of piece p with the items [i, j); infinity forbids it. One table answers for every number of
/// pieces that it has rows for.
///
/// best(p, j) is the least possible largest cost if the first j items form p pieces:
///   best(p, j) = min over p - 1 <= i < j of max(best(p - 1, i), cost(p, i, j)).
/// The outer loop goes over p, so only the row of p - 1 is kept. The second term never falls as i goes down, so the
/// scan from i = j - 1 stops as soon as it reaches the best value found. (best(p - 1, i) need not be monotone in i,
/// because pieces are non-empty and differ.) The cut is read back from the i stored for each (p, j).
class BottleneckTable {
 public:
  /// **Requires** fewer than 2^32 items.
  explicit BottleneckTable(std::size_t items) : items_(items) {}

  /// Adds rows up to `pieces`. **Requires** for all rows the same cost, which never falls when a piece gets another item
  /// in front. **Cost** O(new rows · items²) costs at worst, 4 bytes × rows · items.
  template <class Cost>
  void extend(std::size_t pieces, const Cost& cost) {
    std::vector<double> next(items_ + 1);
    for (std::size_t p = cut_.size(); p < pieces; ++p) {
      std::vector<std::uint32_t>& cut = cut_.emplace_back(items_ + 1);
      for (std::size_t j = 0; j <= items_; ++j) {
        next[j] = p > 0 ? scan(p, j, cost, cut[j]) : j > 0 ? cost(0, 0, j) : kForbidden;
      }
      best_.resize(items_ + 1);
      best_.swap(next);
      largest_.push_back(best_[items_]);
    }
  }

  /// Of several optimal cuts the one with the smallest last piece, then the one with the smallest piece before it, and so
  /// on. **Shape** the first item of every piece; empty if no cut is allowed. **Requires** 1 <= `pieces` <= items, and
  /// rows for them.
  [[nodiscard]] std::vector<std::size_t> cuts(std::size_t pieces) const {
    if (largest_[pieces - 1] == kForbidden) return {};
    std::vector<std::size_t> first(pieces);
    for (std::size_t p = pieces, end = items_; p-- > 1;) first[p] = end = cut_[p][end];
    return first;
  }

 private:
  static constexpr double kForbidden = std::numeric_limits<double>::infinity();

  template <class Cost>
  [[nodiscard]] double scan(std::size_t p, std::size_t j, const Cost& cost, std::uint32_t& cut) const {
    double least = kForbidden;
    for (std::size_t i = j; i-- > p;) {  // downwards, so that the piece only grows and the scan can stop
      const double piece = cost(p, i, j);
      if (piece >= least) break;
      if (best_[i] >= least) continue;
      least = std::max(best_[i], piece);
      cut = static_cast<std::uint32_t>(i);
    }
    return least;
  }

  std::size_t items_;
  std::vector<std::vector<std::uint32_t>> cut_;  ///< by row and end: where the last piece begins
  std::vector<double> best_;                     ///< the last row
  std::vector<double> largest_;                  ///< by row: of all items
};

/// The cuts of a table of its own. **Cost** O(pieces · items²) costs at worst, 4 bytes × pieces · items.
template <class Cost>
[[nodiscard]] std::vector<std::size_t> bottleneck_cuts(std::size_t items, std::size_t pieces, const Cost& cost) {
  BottleneckTable table(items);
  table.extend(pieces, cost);
  return table.cuts(pieces);
}

}  // namespace stagecraft
