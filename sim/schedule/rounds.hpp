#pragma once

#include "sim/model/schedule.hpp"
#include "sim/schedule/schedule_program.hpp"

#include <cstdint>
#include <vector>

namespace stagecraft {

/// What a device prefers when several of its operations are ready.
enum class Preference : std::uint8_t { ForwardsFirst, BackwardsFirst };

/// Device orders of a plan whose devices hold several stages: all operations take one round, each device runs in every
/// round the preferred one of those that are ready (ties: the older microbatch, then the later stage for backwards and
/// the earlier for forwards), and each stage starts a forward only while fewer than `in_flight` (by stage) of its
/// microbatches are pending. An asynchronous backward also waits for the round before on all replicas of its layers.
/// The lists come from a feasible run, so they cannot deadlock.
/// **Cost** O(rounds * stages).
[[nodiscard]] Schedule order_by_rounds(const KeptPlan& kept, Preference preference,
                                       const std::vector<std::int64_t>& in_flight, bool synchronous);

}  // namespace stagecraft
