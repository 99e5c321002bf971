#pragma once

#include "planners/shared/chain.hpp"
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

/// One operation of each period: a stage's forward or backward, or one direction of a cut.
struct PatternTask {
  std::size_t resource = 0;
  Ticks duration = 0;
  bool is_cut = false;
  std::uint32_t index = 0;  ///< of the stage, or of the stage before the cut
  bool backward = false;
};
/// Two tasks of one resource, `first` earlier in the chain.
struct TaskPair {
  std::size_t first = 0;
  std::size_t second = 0;
};
/// sum of coefficient × turns[pair] <= room.
struct MemoryRow {
  std::vector<std::pair<std::size_t, std::int64_t>> terms;
  std::int64_t room = 0;
};

/// What a pattern of given stages has to satisfy, without the period.
///
/// Let s(o) be when microbatch 0 runs task o. Two tasks i, j of one resource, i earlier in the chain, do not collide
/// modulo T exactly if for an integer k, the *turns* of the pair, k·T + d_i <= s(j) − s(i) <= (k + 1)·T − d_j. The
/// turns of all pairs are the order of a pattern; they alone decide how many microbatches are in flight when.
///
/// At the start of F_i of a stage i on a device, stage s of that device holds
///   n_s(i) = 1 + k(F_i, B_s) + (k(F_s, F_i) if s < i; 0 if s = i; −1 − k(F_i, F_s) if s > i),
/// which is what MadPipe's program counts with shifts and with the order inside the period.
struct PatternProblem {
  std::vector<PatternTask> tasks;  ///< in the order of the chain: all forwards, then all backwards
  std::vector<TaskPair> pairs;
  std::vector<std::vector<std::size_t>> resources;  ///< the tasks of each, in the order of the chain
  std::vector<MemoryRow> memory;                    ///< one for the start of each stage's forward
  Ticks least = 1;                                  ///< no period is shorter: the largest load of a device or link
  /// **Shape** [first][second] of tasks; meaningful where the two share a resource.
  std::vector<std::vector<std::size_t>> pair_of;
};

/// The stages may share devices and need not be contiguous; neighbours on one device have no cut between them. All cuts
/// between the same two devices share one link. Memory is the ledger's: what is static, the buffers of cuts to other
/// devices, the largest workspace of the device's stages, and the stashes.
/// **Requires** stages that cover the chain in order.
[[nodiscard]] PatternProblem pattern_problem(const Chain& chain, std::span<const ChainStage> stages);

using Turns = std::vector<std::int64_t>;  ///< of each pair of a problem

[[nodiscard]] bool fits_memory(const PatternProblem& problem, const Turns& turns);

/// When microbatch 0 runs each task with this period and order, as early as possible, task 0 at 0; none if the order
/// admits no such period. Memory is not looked at.
[[nodiscard]] std::optional<std::vector<Ticks>> earliest_starts(const PatternProblem& problem, const Turns& turns,
                                                                Ticks period);

/// The least period of an order, exactly: the largest ratio of work to turns over all circles of precedences, found by
/// raising the period from circle to circle. None if no period will do.
[[nodiscard]] std::optional<Ticks> least_period(const PatternProblem& problem, const Turns& turns);

/// The order of given starts; none if two tasks of a resource collide.
[[nodiscard]] std::optional<Turns> turns_of(const PatternProblem& problem, std::span<const Ticks> starts, Ticks period);

[[nodiscard]] TickPattern pattern_of(const PatternProblem& problem, std::span<const Ticks> starts, Ticks period);

}  // namespace stagecraft::madpipe
