#pragma once

#include "planners/pipedream/recurrence.hpp"

#include <bit>
#include <cstddef>
#include <limits>
#include <vector>

namespace stagecraft::pipedream {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Rows over states are processed in whole blocks of this many entries.
inline constexpr std::size_t kBlock = 8;
inline std::size_t whole_blocks(std::size_t count) { return (count + kBlock - 1) / kBlock * kBlock; }

/// T of a level for every segment (K, J]. **Shape** entry J * stride + K + 1; K = -1 stands for "nothing".
struct Times {
  std::size_t stride = 0;
  std::vector<double> values;
  [[nodiscard]] const double* row(std::size_t j) const { return &values[j * stride]; }
};

/// The inputs of the recurrence A of one level in one context. q and r count members of the level; d = M - r is the
/// number of members after them.
struct LevelCosts {
  const DownSets* states = nullptr;
  const Settings* settings = nullptr;
  std::size_t members = 1;  // M
  double bandwidth = kInfinity;
  double boundary_bandwidth = kInfinity;
  double below_members = 1.0;        // w
  std::vector<const Times*> below;   // T for each (q, d), or one table for all; empty at the innermost level
  std::vector<Copies> copies;        // for each (q, d); empty if memory is not tested
  bool many_below = false;           // whether `below` has an entry for each (q, d)
  bool rows_differ_by_rank = false;  // whether the costs of a last stage depend on r, not only on q

  /// Of a last stage if r members are used up to its end, exclusive.
  [[nodiscard]] std::size_t most_replicas(std::size_t r) const {
    return settings->straight || settings->most_replicas < r ? most_in_one() + 1 : r;
  }
  [[nodiscard]] std::size_t most_in_one() const { return settings->straight ? 1 : settings->most_replicas; }
  [[nodiscard]] bool allows(std::size_t replicas) const {
    return !settings->powers_of_two || std::has_single_bit(replicas);
  }
  [[nodiscard]] std::size_t place(std::size_t q, std::size_t d) const { return (q - 1) * members + d; }
  [[nodiscard]] const Times& times(std::size_t q, std::size_t d) const { return *below[many_below ? place(q, d) : 0]; }
  [[nodiscard]] std::size_t row_count() const {
    if (settings->straight) return rows_differ_by_rank ? members - 1 : 1;
    return rows_differ_by_rank ? members * (members - 1) / 2 : members - 1;
  }
  /// The row of a last stage on q members if r members are used up to its end.
  [[nodiscard]] std::size_t row_index(std::size_t q, std::size_t r) const {
    if (!rows_differ_by_rank) return q - 1;
    return settings->straight ? r - 2 : (r - 1) * (r - 2) / 2 + q - 1;
  }
};

/// The time of a round of replicas that compute and synchronise for these times.
[[nodiscard]] inline double round_time(Synchronisation how, double compute, double synchronisation) {
  if (how == Synchronisation::Added) return compute + synchronisation;
  return compute > synchronisation ? compute : synchronisation;
}

/// Whether K's set is a strict subset of J's.
[[nodiscard]] bool precedes(const DownSets& states, std::size_t k, std::size_t j);

/// The cost of the segment (start, J] as one stage on r members; infinite if it is not a segment or does not fit.
[[nodiscard]] double as_one_stage(const LevelCosts& costs, std::size_t start, std::size_t j, std::size_t r);

/// The costs of (k, J] as the last stage, for every k < J: one row for each `row_index`. Entries are infinite if k does
/// not precede J, if the stage does not fit, and from J on.
/// **Shape** row_count() rows of whole_blocks(j) entries.
void fill_rows(const LevelCosts& costs, std::size_t j, double* rows);

}  // namespace stagecraft::pipedream
