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

/// From now on the link has this bandwidth.
struct BandwidthChange {
  LinkId link;
  BytesPerSecond bandwidth;
  friend bool operator==(const BandwidthChange&, const BandwidthChange&) = default;
};

/// The device stops for a while. Its computations, and the transfers from and to it, are aborted and redone.
struct Failure {
  DeviceId device;
  Seconds duration;
  friend bool operator==(const Failure&, const Failure&) = default;
};

/// From now on the duration of each computation that starts is multiplied by a random factor of its own
/// (`noise_factor`); it takes the place of an earlier one.
struct Jitter {
  double sigma = 0.0;  ///< standard deviation of the factor's logarithm; 0: no noise
  std::uint64_t seed = 0;
  friend bool operator==(const Jitter&, const Jitter&) = default;
};

/// Something that happens during a run, at an instant or when a microbatch enters the pipeline (its first forward
/// starts).
struct Event {
  Seconds at;
  std::optional<std::uint32_t> at_microbatch;  ///< if given, `at` is ignored
  std::variant<Slowdown, BandwidthChange, Failure, Jitter> change;
  friend bool operator==(const Event&, const Event&) = default;
};

using Events = std::vector<Event>;

}  // namespace stagecraft
