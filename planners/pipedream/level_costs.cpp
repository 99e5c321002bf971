#include "planners/pipedream/level_costs.hpp"

#include <algorithm>

namespace stagecraft::pipedream {
namespace {

double below_start(const std::vector<double>& sums, std::size_t start) { return start == kNothing ? 0.0 : sums[start]; }

/// T of the segment (start, j] on one of its q members, with d members after it.
double segment_time(const LevelCosts& costs, std::size_t start, std::size_t j, std::size_t q, std::size_t d) {
  if (!costs.below.empty()) return costs.times(q, d).row(j)[start + 1];
  const DownSets& states = *costs.states;
  if (start != kNothing && !precedes(states, start, j)) return kInfinity;
  const double layers = states.compute[j] - below_start(states.compute, start);
  return layers * costs.settings->time_factor + costs.settings->overhead;
}

bool fits(const LevelCosts& costs, std::size_t start, std::size_t j, std::size_t q, std::size_t d) {
  if (costs.copies.empty()) return true;
  const MemoryTest& test = *costs.settings->memory;
  const Copies& copies = costs.copies[costs.place(q, d)];
  const std::size_t at = j * (j + 1) / 2 + (start + 1);
  const double parameters = test.parameters.empty()
                                ? costs.states->parameters[j] - below_start(costs.states->parameters, start)
                                : test.parameters[at];
  const double stash =
      test.stash.empty() ? costs.states->stash[j] - below_start(costs.states->stash, start) : test.stash[at];
  const double fixed = test.fixed.empty() ? 0.0 : test.fixed[at];
  return fixed + copies.weights * parameters + copies.stashes * stash <= test.capacity;
}

/// T_1 of (k, J] for every k < J, infinite if k does not precede J. The loop over words is outside, so that each inner
/// loop runs over consecutive memory. **Shape** entry k + 1.
void fill_compute(const LevelCosts& costs, std::size_t j, std::vector<double>& times) {
  const DownSets& states = *costs.states;
  static thread_local std::vector<std::uint64_t> outside;
  outside.assign(j, 0);
  for (std::size_t w = 0; w < states.words; ++w) {
    const std::uint64_t* members = &states.members[w * states.stride];
    const std::uint64_t missing = ~members[j];
    for (std::size_t k = 0; k < j; ++k) outside[k] |= members[k] & missing;
  }
  const double end = states.compute[j];
  const double factor = costs.settings->time_factor;
  const double overhead = costs.settings->overhead;
  times.resize(j + 1);
  times[0] = end * factor + overhead;
  for (std::size_t k = 0; k < j; ++k) {
    times[k + 1] = outside[k] != 0 ? kInfinity : (end - states.compute[k]) * factor + overhead;
  }
}

/// Sets the entries of a row to infinity whose stage (k, J] holds more than the capacity.
void drop_what_does_not_fit(const LevelCosts& costs, std::size_t j, const Copies& copies, double* row) {
  const MemoryTest& test = *costs.settings->memory;
  const double* parameters = costs.states->parameters.data();
  const double* stash = costs.states->stash.data();
  const double end = copies.weights * parameters[j] + copies.stashes * stash[j];
  if (test.fixed.empty()) {
    for (std::size_t k = 0; k < j; ++k) {
      const double held = end - (copies.weights * parameters[k] + copies.stashes * stash[k]);
      row[k] = held > test.capacity ? kInfinity : row[k];
    }
    return;
  }
  const std::size_t first = j * (j + 1) / 2 + 1;
  const double* fixed = &test.fixed[first];
  if (!test.stash.empty()) {
    for (std::size_t k = 0; k < j; ++k) {
      const double own = test.parameters.empty() ? parameters[j] - parameters[k] : test.parameters[first + k];
      const double held = fixed[k] + copies.weights * own + copies.stashes * test.stash[first + k];
      row[k] = held > test.capacity ? kInfinity : row[k];
    }
    return;
  }
  for (std::size_t k = 0; k < j; ++k) {
    const double held = fixed[k] + end - (copies.weights * parameters[k] + copies.stashes * stash[k]);
    row[k] = held > test.capacity ? kInfinity : row[k];
  }
}

/// The cost of (k, J] as the last stage on q of r members, for every k < J: the largest of its own time and the times
/// of its boundaries. The loop has no branches, so that the compiler can vectorise it.
/// **Shape** whole blocks; entries from J on are infinite.
template <Synchronisation How>
void fill_row(const LevelCosts& costs, std::size_t j, std::size_t q, std::size_t r, const double* times, double* row) {
  const DownSets& states = *costs.states;
  const auto replicas = static_cast<double>(q);
  const double sync = 4.0 * costs.settings->exchanged_copies * (replicas - 1.0) / (costs.bandwidth * replicas) /
                      costs.settings->rounds_per_update;
  const double share = 1.0 / replicas;
  const double links = costs.settings->boundary == BoundaryCost::Whole ? 1.0 : replicas;
  const double transfer = costs.settings->communication ? 2.0 / (costs.boundary_bandwidth * links) : 0.0;
  const double output = j + 1 == states.count ? 0.0 : states.traffic[j];
  const double parameters = states.parameters[j];
  for (std::size_t k = 0; k < j; ++k) {
    const double busy = round_time(How, times[k + 1], sync * (parameters - states.parameters[k])) * share;
    const double boundary = transfer * (states.traffic[k] > output ? states.traffic[k] : output);
    row[k] = busy > boundary ? busy : boundary;
  }
  std::fill(row + j, row + whole_blocks(j), kInfinity);
  if (!costs.copies.empty()) drop_what_does_not_fit(costs, j, costs.copies[costs.place(q, costs.members - r)], row);
}

}  // namespace

bool precedes(const DownSets& states, std::size_t k, std::size_t j) {
  for (std::size_t w = 0; w < states.words; ++w) {
    if ((states.members[w * states.stride + k] & ~states.members[w * states.stride + j]) != 0) return false;
  }
  return k < j;
}

double as_one_stage(const LevelCosts& costs, std::size_t start, std::size_t j, std::size_t r) {
  if (r > costs.most_in_one() || !costs.allows(r)) return kInfinity;
  const std::size_t d = costs.members - r;
  if (!fits(costs, start, j, r, d)) return kInfinity;
  const auto replicas = static_cast<double>(r);
  const double parameters = costs.states->parameters[j] - below_start(costs.states->parameters, start);
  const double sync =
      4.0 * costs.settings->exchanged_copies * (replicas - 1.0) * parameters / (costs.bandwidth * replicas);
  const double time = segment_time(costs, start, j, r, d);
  const double in_round = sync / costs.below_members / costs.settings->rounds_per_update;
  return round_time(costs.settings->synchronisation, time, in_round) / replicas;
}

void fill_rows(const LevelCosts& costs, std::size_t j, double* rows) {
  static thread_local std::vector<double> compute;
  if (costs.below.empty()) fill_compute(costs, j, compute);
  const std::size_t first_rank = costs.rows_differ_by_rank ? 2 : costs.members;
  for (std::size_t r = first_rank; r <= costs.members; ++r) {
    for (std::size_t q = 1; q < costs.most_replicas(r) && q < r; ++q) {
      if (!costs.allows(q)) continue;
      const double* times = costs.below.empty() ? compute.data() : costs.times(q, costs.members - r).row(j);
      double* row = rows + costs.row_index(q, r) * whole_blocks(j);
      if (costs.settings->synchronisation == Synchronisation::Added) {
        fill_row<Synchronisation::Added>(costs, j, q, r, times, row);
      } else {
        fill_row<Synchronisation::Overlapped>(costs, j, q, r, times, row);
      }
    }
  }
}

}  // namespace stagecraft::pipedream
