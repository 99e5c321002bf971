#pragma once

#include "planners/shared/costs/chain.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/ticks.hpp"

#include <optional>
#include <span>
#include <vector>

namespace stagecraft {

/// A contiguous cut and the least period of 1F1B* on it.
struct ContiguousAnswer {
  std::vector<ChainStage> stages;  ///< in chain order, on devices 0, 1, 2, …
  Ticks period = 0;
  bool is_exact = true;  ///< false if `CutSearch` had to drop labels; then there may be a better cut
};

/// The contiguous cut of the chain's order with the smallest least period, exact to the tick, if each stage may hold
/// `capacity`; none if no cut fits with any period. Of several such cuts it is one with the fewest stages, and always
/// the same one.
/// **Cost** O(layers² · devices) for each of some 10 to 40 periods at worst; far less if loads or memory keep stages
/// short. On a graph times the labels of a state (`CutSearch`).
[[nodiscard]] std::optional<ContiguousAnswer> best_contiguous(const Chain& chain, Bytes capacity);

/// The same with the chain's capacity.
[[nodiscard]] std::optional<ContiguousAnswer> best_contiguous(const Chain& chain);

/// The least capacity with which some contiguous cut fits, whatever its period. Found by bisection: with no limit on
/// the period, one microbatch in flight is enough on every stage.
/// **Cost** O(layers²) for each bit of the capacity at worst.
[[nodiscard]] Bytes least_capacity(const Chain& chain);

/// The least period of 1F1B* for contiguous stages if each may hold `capacity`; none if they do not fit.
/// **Cost** O(stages² log stages).
[[nodiscard]] std::optional<Ticks> least_period(const Chain& chain, std::span<const ChainStage> stages, Bytes capacity);

}  // namespace stagecraft
