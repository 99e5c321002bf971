#pragma once

#include "sim/base/quantity.hpp"
#include "sim/model/timeline.hpp"

#include <cstdint>
#include <optional>

namespace stagecraft {

/// How dates of two runs are compared: as sums of the same times, rounded in another order, or where transfers share
/// links as SimGrid's clock knows them (`date_noise`).
enum class RunClock : std::uint8_t { Sums, SimGrid };

/// What two runs of one plan have in common, of which the longer one has some more microbatches. Until one instant both
/// do the same. And from another instant on, the longer one does what the shorter one does, but later.
///
/// The idea: where the two parts overlap, the longer run does twice what the shorter one does once. At every instant
/// between `from` and `until`, and again `period` later, the same operations of it have ended, the same ones are under
/// way for as long and have as much left, and the same ones are to come. So it is in one state twice, and a run that
/// has more microbatches passes through that state more often.
///
/// **Invariant.** All that the shorter run has started before `until` is a part of what both begin with, and all that
/// it has not ended at `from` is a part of what both end with.
struct RepeatedState {
  Seconds from;    ///< of the shorter run, as `until`
  Seconds until;   ///< `kNever` if the longer one begins with all of the shorter one
  Seconds period;  ///< by how much the longer run does later what the shorter one does, too
  /// How often the longer run does what it does in a period, between `from` and a period after `until`.
  [[nodiscard]] double times() const { return (until - from) / period + 1.0; }
};

/// Compares the two runs. None if the longer one does not end so much later that a millionth of it is more than the
/// noise of their dates, if it does at its end something else than the shorter one, or if the two parts do not overlap
/// for two periods. If they do, the longer run does three times what it does in a period, and comes into the state
/// again before it ends otherwise than a still longer one.
/// **Requires** whole runs of one plan on one engine, without events.
/// **Cost** O(operations · log(kinds of operations)).
[[nodiscard]] std::optional<RepeatedState> repeated_state(const Timeline& shorter, const Timeline& longer,
                                                          RunClock clock);

/// By how many times so many microbatches a run has to be longer so that it may pass through one state twice: the least
/// number after which, in the middle of this run, everything comes again and later by the same. None if there is none
/// up to a quarter of the run. **Requires** a run as `repeated_state` does. **Cost** O(operations) times the number, at
/// worst.
[[nodiscard]] std::optional<std::int64_t> repeating_steps(const Timeline& run, std::int64_t microbatches,
                                                          RunClock clock);

/// Whether both runs do the same at the same dates.
[[nodiscard]] bool are_alike(const Timeline& a, const Timeline& b);

}  // namespace stagecraft
