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

/// From now on the device has this much memory, of which the platform reserves as much as before: another program has
/// taken a part, or given one back.
struct MemoryLimit {
  DeviceId device;
  Bytes memory;
  friend bool operator==(const MemoryLimit&, const MemoryLimit&) = default;
};

/// The device stops for a while. Its computations, and the transfers from and to it, are aborted and redone.
struct Failure {
  DeviceId device;
  Seconds duration;
  friend bool operator==(const Failure&, const Failure&) = default;
};

/// Nothing crosses the link for a while. Transfers over it stop where they are, and go on from there.
struct LinkFailure {
  LinkId link;
  Seconds duration;
  friend bool operator==(const LinkFailure&, const LinkFailure&) = default;
};

/// The duration of a failure after which a device does not come back; longer than any training.
inline constexpr Seconds kForEver(1e9);

/// It is announced that the device will leave at that time: it then fails for ever.
struct Departure {
  DeviceId device;
  Seconds leaves_at;
  friend bool operator==(const Departure&, const Departure&) = default;
};

/// From now on the duration of each computation that starts is multiplied by a random factor of its own
/// (`noise_factor`); it takes the place of an earlier one.
struct Jitter {
  double sigma = 0.0;  ///< standard deviation of the factor's logarithm; 0: no noise
  std::uint64_t seed = 0;
  friend bool operator==(const Jitter&, const Jitter&) = default;
};

/// From now on the forward, the backward and the recomputation of microbatch m that start take `factors[m mod size]`
/// times their nominal duration, such as for sequences of different lengths. It takes the place of an earlier one.
struct MicrobatchWork {
  std::vector<double> factors;
  friend bool operator==(const MicrobatchWork&, const MicrobatchWork&) = default;
};

/// From a microbatch on another model is trained. That changes the operations that an engine gets
/// (`LowerOptions::models`), and nothing in the engine.
struct ModelChange {
  std::uint32_t model = 1;  ///< position in the models of the run, of which the first one has 0
  friend bool operator==(const ModelChange&, const ModelChange&) = default;
};

/// From a microbatch on each microbatch has so many samples. Like another model, that changes the operations only.
struct SizeChange {
  std::int64_t samples = 1;
  friend bool operator==(const SizeChange&, const SizeChange&) = default;
};

/// Something that happens during a run, at an instant or when a microbatch enters the pipeline (its first forward
/// starts).
struct Event {
  Seconds at;
  std::optional<std::uint32_t> at_microbatch;  ///< if given, `at` is ignored
  std::variant<Slowdown, BandwidthChange, MemoryLimit, Failure, LinkFailure, Departure, Jitter, MicrobatchWork,
               ModelChange, SizeChange>
      change;
  std::uint32_t listed = 0;  ///< its position in its file, where one event may change several links
  friend bool operator==(const Event&, const Event&) = default;
};

using Events = std::vector<Event>;

/// An event that has happened.
struct Strike {
  std::uint32_t event = 0;  ///< its position in the events of the run
  Seconds at;
  friend bool operator==(const Strike&, const Strike&) = default;
};

}  // namespace stagecraft
