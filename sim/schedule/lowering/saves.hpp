#pragma once

#include "sim/base/quantity.hpp"
#include "sim/schedule/lowering/lowering_state.hpp"
#include "sim/schedule/lowering/synchronise.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace stagecraft {

/// When a run saves its state, and what that costs.
struct Checkpoints {
  std::optional<std::int64_t> distance = std::nullopt;  ///< `Replanning::checkpoint`
  Seconds time = {};                                    ///< `Replanning::save`
};

/// The saves of a plan's part of a run, each of which keeps every device waiting. A device of an asynchronous run waits
/// when it has had all its backwards up to a checkpoint; all-reduces go on meanwhile. A flushed run saves once at the
/// end of an iteration in which there is a checkpoint, after its last update. A save that a failure of its device
/// breaks off starts again.
class Saves {
 public:
  /// The first two must outlive it.
  Saves(LoweringState& state, const Synchronise& synchronise, const Checkpoints& checkpoints);

  /// Asynchronous: the backward has been appended, and `synchronise` knows of it.
  void note_backward(const EndedBackward& ended);
  /// Synchronous: the flush of an iteration has been appended, and its barrier has not.
  void end_iteration();

 private:
  [[nodiscard]] std::int64_t done_on(DeviceId device) const;
  void append(std::size_t device, std::int64_t microbatches, Seconds time, const std::vector<OpId>& after);

  LoweringState& state_;
  const Synchronise& synchronise_;
  Checkpoints checkpoints_;
  std::vector<std::int64_t> saved_;  ///< asynchronous, by device: the checkpoints since the begin of the run
};

}  // namespace stagecraft
