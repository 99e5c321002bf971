#pragma once

#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace stagecraft {

/// Measurements of one stage since the last window was asked for: its passes that have ended. Updates and marks are no
/// part of a pass and are left out, as are transfers.
struct StageObservation {
  std::int64_t forwards = 0;
  std::int64_t backwards = 0;  ///< a backward in several steps or halves counts when the last of them ends
  Seconds forward_time;        ///< sum, stalls excluded
  Seconds backward_time;       ///< sum, both halves of a split backward, and recomputation, which is work of a backward
  /// Pairs of a forward and a backward that ran as one operation. Each also counts as a forward and as a backward, both
  /// at the stage of the forward.
  std::int64_t pairs = 0;
  /// Sum over pairs, in neither of the other times. Both passes of a pair run at once, so no measurement divides it.
  Seconds pair_time = {};
  friend bool operator==(const StageObservation&, const StageObservation&) = default;
};

/// Measurements of one device since the last window was asked for: the computations that have ended on it.
struct DeviceObservation {
  Seconds nominal;   ///< what they take at the device's nominal speed
  Seconds measured;  ///< what they took
  friend bool operator==(const DeviceObservation&, const DeviceObservation&) = default;
};

/// A link whose bandwidth is no longer that of the platform file.
struct LinkObservation {
  LinkId link;
  BytesPerSecond bandwidth;
  friend bool operator==(const LinkObservation&, const LinkObservation&) = default;
};

/// A device whose memory is no longer that of the platform file.
struct MemoryObservation {
  DeviceId device;
  Bytes memory;  ///< with what is reserved
  friend bool operator==(const MemoryObservation&, const MemoryObservation&) = default;
};

/// A device that does nothing.
struct DownObservation {
  DeviceId device;
  Seconds since;
  friend bool operator==(const DownObservation&, const DownObservation&) = default;
};

/// A device that will leave, as has been announced; the first time if there are several.
struct LeavingObservation {
  DeviceId device;
  Seconds at;
  friend bool operator==(const LeavingObservation&, const LeavingObservation&) = default;
};

/// The information for an online planner when the next window is made: measurements up to now, nothing of the future.
struct Observation {
  Seconds now;
  std::uint32_t microbatches_injected = 0;           ///< forwards of the first stage that have started
  IndexVector<StageId, StageObservation> stages;     ///< that windows have announced so far
  IndexVector<DeviceId, DeviceObservation> devices;  ///< of the platform
  std::vector<LinkObservation> links;                ///< in the order of their first changes
  std::vector<MemoryObservation> memories;           ///< likewise
  std::vector<DownObservation> down;                 ///< in the order of their failures
  std::vector<LeavingObservation> leaving;           ///< in the order of their announcements, also when they have left
  /// While a device is down: the least microbatch with work that windows have brought and that has not ended.
  std::optional<std::uint32_t> unfinished = std::nullopt;
  std::vector<PlaceId> giving = {};  ///< while a device is down: the devices from which state is still to be copied
  friend bool operator==(const Observation&, const Observation&) = default;

  /// Adds the measurements made after those of this observation, which then ends at their instant.
  void add(const Observation& later);
};

}  // namespace stagecraft
