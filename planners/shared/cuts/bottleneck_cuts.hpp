#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace stagecraft {

/// The dynamic program that cuts items into non-empty pieces so that the largest cost of a piece is as small as
/// possible. `cost(p, i, j)` is that of piece p with the items [i, j); infinity forbids it. One table answers for every
/// number of pieces that it has rows for.
///
/// best(p, j) is the least possible largest cost if the first j items form p pieces:
///   best(p, j) = min over p - 1 <= i < j of max(best(p - 1, i), cost(p, i, j)).
/// The outer loop goes over p, so only the row of p - 1 is kept. The second term never falls as i goes down. The first
/// one never rises as i goes down, but for a few items: pieces are non-empty and differ, so with hardly more items than
/// pieces one item fewer may cost more. From where the row rises on, bisection finds the i at which the two terms
/// cross; the i before are scanned down until the second term reaches the best value found. The cut is read back from
/// the i stored for each (p, j).
class BottleneckTable {
 public:
  /// **Requires** fewer than 2^32 items.
  explicit BottleneckTable(std::size_t items) : items_(items) {}

  /// Adds rows up to `pieces`. **Requires** for all rows the same cost, which never falls when a piece gets another
  /// item in front. **Cost** O(new rows · items · log items) costs where rows rise, O(new rows · items²) at worst; 4
  /// bytes × rows · items.
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
      rising_ = items_;
      while (rising_ > 0 && best_[rising_ - 1] <= best_[rising_]) --rising_;
      largest_.push_back(best_[items_]);
    }
  }

  /// Of several optimal cuts the one with the smallest last piece, then the one with the smallest piece before it, and
  /// so on. **Shape** the first item of every piece; empty if no cut is allowed. **Requires** 1 <= `pieces` <= items,
  /// and rows for them.
  [[nodiscard]] std::vector<std::size_t> cuts(std::size_t pieces) const {
    if (largest_[pieces - 1] == kForbidden) return {};
    std::vector<std::size_t> first(pieces);
    for (std::size_t p = pieces, end = items_; p-- > 1;) first[p] = end = cut_[p][end];
    return first;
  }

 private:
  static constexpr double kForbidden = std::numeric_limits<double>::infinity();

  /// best(p, j), and the largest i that gives it.
  template <class Cost>
  [[nodiscard]] double scan(std::size_t p, std::size_t j, const Cost& cost, std::uint32_t& cut) const {
    const std::size_t rising = std::min(std::max(p, rising_), j);
    double least = cross(p, rising, j, cost, cut);
    for (std::size_t i = rising; i-- > p;) {  // downwards, so that the piece only grows and the scan can stop
      const double piece = cost(p, i, j);
      if (piece >= least) break;
      if (best_[i] >= least) continue;
      least = std::max(best_[i], piece);
      cut = static_cast<std::uint32_t>(i);
    }
    return least;
  }

  /// The same over begin <= i < j, where the row rises: at the last i whose piece costs at least as much as what is
  /// before it, or behind that.
  template <class Cost>
  [[nodiscard]] double cross(std::size_t p, std::size_t begin, std::size_t j, const Cost& cost,
                             std::uint32_t& cut) const {
    std::size_t behind = begin;
    for (std::size_t end = j; behind < end;) {
      const std::size_t middle = behind + (end - behind) / 2;
      if (cost(p, middle, j) >= best_[middle]) {
        behind = middle + 1;
      } else {
        end = middle;
      }
    }
    double least = kForbidden;
    if (behind < j) {
      least = best_[behind];
      const auto row = best_.begin();
      const auto last =
          std::upper_bound(row + static_cast<std::ptrdiff_t>(behind), row + static_cast<std::ptrdiff_t>(j), least);
      cut = static_cast<std::uint32_t>(last - row - 1);
    }
    if (behind == begin) return least;
    const double piece = cost(p, behind - 1, j);
    if (piece >= least) return least;
    cut = static_cast<std::uint32_t>(behind - 1);
    return piece;
  }

  std::size_t items_;
  std::vector<std::vector<std::uint32_t>> cut_;  ///< by row and end: where the last piece begins
  std::vector<double> best_;                     ///< the last row
  std::size_t rising_ = 0;                       ///< where it begins never to fall
  std::vector<double> largest_;                  ///< by row: of all items
};

/// The cuts of a table of its own. **Cost** as `BottleneckTable::extend`.
template <class Cost>
[[nodiscard]] std::vector<std::size_t> bottleneck_cuts(std::size_t items, std::size_t pieces, const Cost& cost) {
  BottleneckTable table(items);
  table.extend(pieces, cost);
  return table.cuts(pieces);
}

}  // namespace stagecraft
