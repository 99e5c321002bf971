#pragma once

#include <cstddef>
#include <span>

namespace stagecraft::dawnpiper {

/// Cuts [first, last] of a list of candidates, by position.
struct Interval {
  std::size_t first = 0;
  std::size_t last = 0;
  [[nodiscard]] std::size_t size() const { return last - first + 1; }
  friend bool operator==(const Interval&, const Interval&) = default;
};

/// The smallest interval that contains every cut with the least `compute` and every cut with the least `memory`.
///
/// Theorem: two stages take C_A(p) and C_B(p) and need M_A(p) and M_B(p) with the cut p; C_A and M_A never fall and C_B
/// and M_B never rise with p. To save memory costs a stage Ψ(M), the same function for both, which never falls. Then
/// some cut with the least max(C_A + Ψ(M_A), C_B + Ψ(M_B)) lies in the interval of max(C_A, C_B) and max(M_A, M_B).
/// For at the first cut q behind the interval and at all later ones, the larger compute and the larger memory are both
/// those of side A, and neither is less than at the interval's last cut. With only one cut of each set it is false, for
/// units that take no time or no memory make several cuts equal.
/// **Requires** one value or more, and as many of one as of the other. **Cost** O(cuts).
/// **Source** the theorem is DawnPiper's (Peng et al. 2025); its hypotheses and the proof are our reconstruction.
[[nodiscard]] Interval theorem_interval(std::span<const double> compute, std::span<const double> memory);

/// The interval with `cuts` more on both sides, as far as there are some. **Requires** count > last.
[[nodiscard]] Interval widened(Interval interval, std::size_t cuts, std::size_t count);

}  // namespace stagecraft::dawnpiper
