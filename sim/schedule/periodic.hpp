#pragma once

#include "sim/base/ticks.hpp"
#include "sim/model/pattern.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace stagecraft {

/// Copies of the weights that a periodic schedule needs, however deep the pipeline is: the version that is read, and
/// the one that is being made (PipeDream-2BW).
inline constexpr std::int64_t kPeriodicWeightVersions = 2;

/// A resource of the chain stage, cut, stage, …, stage. It runs one operation at a time.
struct ChainResource {
  Ticks forward = 0;
  Ticks backward = 0;
  [[nodiscard]] Ticks load() const { return forward + backward; }
  friend bool operator==(const ChainResource&, const ChainResource&) = default;
};

/// V (+) u, for a delay V and the load u of a resource: V + u; or if a multiple of the period lies between V and V + u,
/// that multiple plus u. `star_times` says what it is for.
/// **Requires** period > 0. **Source** MadPipe (Beaumont, Eyraud-Dubois, Shilova 2022), the operator of the groups.
[[nodiscard]] Ticks stack_delay(Ticks delay, Ticks load, Ticks period);

/// The number of microbatches in flight at a resource whose delay and load add up to `reach`: ⌈reach / period⌉, at
/// least 1.
[[nodiscard]] std::int64_t in_flight_within(Ticks reach, Ticks period);

/// The start times of microbatch 0 on each resource; microbatch j starts j periods later.
struct StarTimes {
  std::vector<Ticks> forward;
  std::vector<Ticks> backward;
  std::vector<std::int64_t> in_flight;  ///< microbatches whose forward has begun and whose backward has not ended
  std::vector<ChainResource> resources;
};

/// 1F1B*: of all schedules of a chain with this period T, the one in which every resource has the fewest microbatches
/// in flight. No resource has to give way to another for that. None if a resource's load exceeds the period.
///
/// Let D be the time from the end of a resource's forward to the start of the same microbatch's backward, and u its
/// load. Modulo T, forward and backward do not collide exactly if (D mod T) + u <= T; then ⌈(D + u) / T⌉ microbatches
/// are in flight. Between the two, a microbatch visits all later resources, so D_r >= D_{r+1} + u_{r+1}. The least D_r
/// is that sum if the load of r still fits into the same period, and else the next multiple of T. `stack_delay` gives
/// this least D_r, plus u_r. It does not decrease when the delay V grows, so all delays, and with them all counts, are
/// least at once.
/// **Shape** `resources` in chain order. **Requires** period > 0. **Cost** O(resources).
[[nodiscard]] std::optional<StarTimes> star_times(std::span<const ChainResource> resources, Ticks period);

/// The same counts, found by grouping: from the last resource backwards, a group takes resources as long as their total
/// load is within the period. Every resource in the i-th group from the end has i microbatches in flight.
[[nodiscard]] std::optional<std::vector<std::int64_t>> star_groups(std::span<const ChainResource> resources,
                                                                   Ticks period);

/// The least period with which `fits` accepts the counts of 1F1B*; none if `fits` refuses even one microbatch in flight
/// on every resource. Counts never grow with the period, so bisection finds it.
/// **Requires** that `fits` accepts smaller counts wherever it accepts larger ones.
/// **Cost** O(resources · log(sum of all loads)), and log(sum of all loads) calls of `fits`.
[[nodiscard]] std::optional<Ticks> least_star_period(std::span<const ChainResource> resources,
                                                     const std::function<bool(std::span<const std::int64_t>)>& fits);

/// An operation of a pattern in ticks: the instance of microbatch j starts at (j + shift) * period + start.
struct TickOperation {
  bool is_cut = false;
  std::uint32_t index = 0;  ///< of the stage, or of the stage before the cut
  bool backward = false;
  Ticks start = 0;  ///< in [0, period)
  std::int64_t shift = 0;
  friend bool operator==(const TickOperation&, const TickOperation&) = default;
};
struct TickPattern {
  Ticks period = 1;
  std::vector<TickOperation> operations;
  friend bool operator==(const TickPattern&, const TickPattern&) = default;
};

/// Sorts operations by start. Operations of one device or link that start together run as they are listed. So those
/// that take no time come first, and of these the older microbatch's: then none is late, and memory is freed before it
/// is taken.
/// **Requires** operations of a pattern in the order of the chain: F0, cut 0, F1, …, B1, cut 0, B0.
void list_in_order(std::vector<TickOperation>& operations, const std::function<Ticks(const TickOperation&)>& duration);

/// The pattern of 1F1B*, in the order of `list_in_order`. **Shape** resources in the order stage, cut, …, stage.
[[nodiscard]] TickPattern star_pattern(const StarTimes& times, Ticks period);

[[nodiscard]] Pattern to_pattern(const TickPattern& pattern, bool timed);

}  // namespace stagecraft
