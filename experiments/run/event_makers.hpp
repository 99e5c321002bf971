#pragma once

#include "sim/base/quantity.hpp"
#include "sim/io/csv_file.hpp"
#include "sim/io/events_file.hpp"
#include "sim/model/platform.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// Random numbers that are the same on every machine.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : seed_(seed) {}
  /// Uniform in [low, high).
  [[nodiscard]] double between(double low, double high);
  /// Distributed exponentially, with mean 1.
  [[nodiscard]] double exponential();
  /// Uniform in 0 .. count - 1. **Requires** a positive count.
  [[nodiscard]] std::size_t below(std::size_t count);

 private:
  std::uint64_t seed_;
  std::uint64_t drawn_ = 0;
};

/// Disturbances that strike one device at a time, and pass.
struct Disturbances {
  Seconds until;     ///< none begins later
  Seconds every;     ///< mean time from one to the next, which is uniform up to twice as long
  Seconds lasting;   ///< mean time that one lasts, which is uniform from half to one and a half times as long
  double low = 1.0;  ///< of their strength, which is uniform
  double high = 1.0;
  std::uint64_t seed = 1;
};

/// Failures at random, as of parts that do not age: the times from one to the next are distributed exponentially.
struct Failures {
  Seconds until;                                  ///< none begins later
  Seconds every;                                  ///< mean time from one to the next, on the whole platform
  std::optional<Seconds> lasting = std::nullopt;  ///< none: for ever
  bool of_nodes = false;                          ///< all devices of a node fail together
  std::uint64_t seed = 1;
};

/// The most events that are made at once.
inline constexpr double kMostMadeEvents = 100'000;

// Events in order of time, each at a whole microsecond. A device, or a node, that is disturbed already is passed over.

/// Devices that take `low` to `high` times the time for a while.
[[nodiscard]] std::vector<NamedEvent> straggler_events(const Platform& platform, const Disturbances& disturbances);
/// Devices that lose `low` to `high` of their memory for a while.
[[nodiscard]] std::vector<NamedEvent> memory_events(const Platform& platform, const Disturbances& disturbances);

/// Devices, or nodes, that fail.
/// **Requires** a platform with nodes if nodes fail.
[[nodiscard]] std::vector<NamedEvent> failure_events(const Platform& platform, const Failures& failures);

/// The bandwidth of a link over time: a row for each change, with its time in the column `at` and the bandwidth in the
/// column `bandwidth`, both with their units.
/// **Throws** InputError naming the place of the first other value, and of a time before that of the row above.
[[nodiscard]] std::vector<NamedEvent> bandwidth_events(const CsvTable& trace, const std::string& link);

}  // namespace stagecraft
