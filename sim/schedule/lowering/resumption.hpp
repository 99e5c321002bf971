#pragma once

#include "sim/base/index.hpp"
#include "sim/schedule/lowering/plan_run.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace stagecraft {

/// How a run goes on without devices that have failed. What is in flight is lost, and so is all that those devices
/// hold.
struct Resumption {
  std::int64_t microbatch = 0;   ///< of the run: with which it goes on
  std::vector<DeviceId> lost;    ///< the devices that are down
  bool from_checkpoint = false;  ///< all state is read from the last checkpoint; else the other devices have it
  std::size_t model = 0;         ///< that is trained from there on
};

/// What a run has reached when devices fail.
struct Reached {
  std::int64_t done = 0;     ///< all work of the microbatches before has ended
  std::int64_t settled = 0;  ///< once all before have ended, every device has the state that the plan gives it
  std::int64_t first = 0;    ///< the plan's first microbatch
};

/// If the other devices hold every layer, training goes on behind the last update that all of them have made: with the
/// first microbatch of a round of turns, or of an iteration, that is not done. Else it goes back to the last
/// checkpoint. Those are made of the state after each `checkpoint`-th microbatch, or at the end of its iteration
/// (`Saves`). Without one the reason why training cannot go on: a sentence without its full stop.
[[nodiscard]] std::variant<Resumption, std::string> resumption(const PlanRun& run, std::vector<DeviceId> lost,
                                                               const Reached& reached,
                                                               std::optional<std::int64_t> checkpoint);

/// Whether the devices that are not lost have the same layers under both plans.
[[nodiscard]] bool have_same_layers(const RunShape& before, const RunShape& after, const std::vector<DeviceId>& lost);

}  // namespace stagecraft
