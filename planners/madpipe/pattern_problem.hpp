#pragma once

#include "planners/shared/costs/chain.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/ticks.hpp"
#include "sim/schedule/periodic.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace stagecraft::madpipe {

/// An operation that runs once in each period: a stage's forward or backward, or one direction of a cut.
struct PatternTask {
  std::size_t resource = 0;
  Ticks duration = 0;
  bool is_cut = false;
  std::uint32_t index = 0;  ///< index of the stage, or of the stage before the cut
  bool backward = false;
};
/// Two tasks of the same resource; `first` is earlier in the chain.
struct TaskPair {
  std::size_t first = 0;
  std::size_t second = 0;
};
/// A constraint on memory: the sum of coefficient × turns[pair] is at most `room`.
struct MemoryRow {
  std::vector<std::pair<std::size_t, std::int64_t>> terms;
  std::int64_t room = 0;
};

/// The conditions that a pattern of given stages has to satisfy, whatever its period.
///
/// Let s(o) be the time at which microbatch 0 starts task o, and d_o its duration. Two tasks i and j of the same
/// resource, i earlier in the chain, do not overlap in a pattern of period T iff there is an integer k with k·T + d_i
/// <= s(j) − s(i) <= (k + 1)·T − d_j. This k is called the *turns* of the pair. The turns of all pairs are the order of
/// the pattern; they alone determine how many microbatches are in flight at any time.
///
/// At the start of the forward F_i of a stage i, the number of microbatches in flight at a stage s of the same device
/// is
///   n_s(i) = 1 + k(F_i, B_s) + (k(F_s, F_i) if s < i; 0 if s = i; −1 − k(F_i, F_s) if s > i).
/// MadPipe's program counts the same number by shifts and by the order within the period.
struct PatternProblem {
  std::vector<PatternTask> tasks;  ///< in the order of the chain: all forwards, then all backwards
  std::vector<TaskPair> pairs;
  std::vector<std::vector<std::size_t>> resources;  ///< the tasks of each resource, in the order of the chain
  std::vector<MemoryRow> memory;                    ///< a constraint for the start of each stage's forward
  Ticks least = 1;                                  ///< a lower bound of the period: the largest load of a resource
  /// The pair of two tasks. **Shape** [first][second]; defined only if the two share a resource.
  std::vector<std::vector<std::size_t>> pair_of;
};

/// The problem of given stages. A device may have several stages, which need not be neighbours; neighbours on the same
/// device have no cut between them. All cuts between the same two devices share one link. Memory is counted as in the
/// memory ledger: the copies of the weights, the buffers of cuts to other devices, the largest workspace of the
/// device's stages, and the stashes.
/// **Requires** stages that cover the chain in order.
[[nodiscard]] PatternProblem pattern_problem(const Chain& chain, std::span<const ChainStage> stages);

using Turns = std::vector<std::int64_t>;  ///< by pair of a problem

[[nodiscard]] bool fits_memory(const PatternProblem& problem, const Turns& turns);

/// The earliest start of each task by microbatch 0 with this period and order, if task 0 starts at 0; none if the order
/// is not possible with this period. Memory is ignored.
[[nodiscard]] std::optional<std::vector<Ticks>> earliest_starts(const PatternProblem& problem, const Turns& turns,
                                                                Ticks period);

/// The exact least period of an order: the maximum, over all cycles of precedences, of the work on the cycle divided by
/// its (negative) turns. The search starts with the problem's lower bound and raises the period to the ratio of a
/// violated cycle until no cycle is violated. None if no period is possible.
[[nodiscard]] std::optional<Ticks> least_period(const PatternProblem& problem, const Turns& turns);

/// The order that belongs to given starts; none if two tasks of a resource overlap.
[[nodiscard]] std::optional<Turns> turns_of(const PatternProblem& problem, std::span<const Ticks> starts, Ticks period);

[[nodiscard]] TickPattern pattern_of(const PatternProblem& problem, std::span<const Ticks> starts, Ticks period);

}  // namespace stagecraft::madpipe
