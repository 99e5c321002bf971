#pragma once

#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

namespace stagecraft {

/// From now on the device's computations take `factor` times their nominal duration.
struct Slowdown {
  DeviceId device;
  double factor = 1.0;
  friend bool operator==(const Slowdown&, const Slowdown&) = default;
};

/// From now on the link carries this much.
struct BandwidthChange {
  LinkId link;
  BytesPerSecond bandwidth;
  friend bool operator==(const BandwidthChange&, const BandwidthChange&) = default;
};

/// The device stops for a while: what it computes, and transfers from and to it, are aborted and redone.
struct Failure {
  DeviceId device;
  Seconds duration;
  friend bool operator==(const Failure&, const Failure&) = default;
};

/// Something that happens during a run, at an instant or when a microbatch enters the pipeline (its first forward
/// starts).
struct Event {
  Seconds at;
  std::optional<std::uint32_t> at_microbatch;  ///< comes before `at`
  std::variant<Slowdown, BandwidthChange, Failure> change;
  friend bool operator==(const Event&, const Event&) = default;
};

using Events = std::vector<Event>;

}  // namespace stagecraft
