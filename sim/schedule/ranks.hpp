#pragma once

#include "sim/model/plan.hpp"

#include <cstdint>

namespace stagecraft {

/// Replicas among which whole microbatches alternate; 1 for a stage that divides each microbatch.
[[nodiscard]] std::int64_t alternating_replicas(const Stage& stage);

/// Forwards that a replica of the stage runs before its first backward in 1F1B: ⌊(ranks from this stage on - 1) / own⌋,
/// as PipeDream's runtime counts them; p - 1 - i without replication. Eager 1F1B runs `eagerness` times as many. Caps
/// (`Stage::in_flight`) lower it, downstream too.
/// **Cost** O(stages).
[[nodiscard]] std::int64_t warmup(const Plan& plan, StageId stage, std::int64_t eagerness = 1);

/// Microbatches that one replica runs, of `microbatches` in all.
[[nodiscard]] std::int64_t microbatches_of(const Stage& stage, std::int64_t replica, std::int64_t microbatches);

/// Whether some device holds more than one stage.
[[nodiscard]] bool shares_devices(const Plan& plan);

}  // namespace stagecraft
