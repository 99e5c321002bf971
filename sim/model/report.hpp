#pragma once

#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/events.hpp"
#include "sim/model/figures.hpp"
#include "sim/model/op_graph.hpp"
#include "sim/model/replan_question.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace stagecraft {

using MemoryBreakdown = std::array<Bytes, kMemoryCategories>;  ///< by `MemoryCategory`

/// How a device's time was spent. The parts add up to the iteration or the measured window.
struct TimeSplit {
  Seconds compute;  ///< forwards and backwards
  Seconds recompute;
  Seconds exchange;               ///< of the group that runs a stage together
  Seconds exposed_communication;  ///< idle while the transfer that it waits for is under way
  Seconds all_reduce;             ///< in a collective, while it sends or receives in it
  Seconds collective_wait;        ///< in a collective, while only others do
  Seconds update;
  Seconds idle;   ///< the rest
  Seconds ramps;  ///< of `idle`: before the first backward and after the last forward of an iteration with a flush
  friend bool operator==(const TimeSplit&, const TimeSplit&) = default;
};

/// The memory peak of one place over a run: the first instant at which it has the least memory left, or lacks the most.
struct MemoryPeak {
  Bytes peak;
  Seconds peak_at;
  MemoryBreakdown breakdown{};  ///< of `peak`
  Bytes capacity;  ///< a device's memory less what is reserved, a host's memory; if it changes, that at the peak
  /// What the run never used; none if it needed more than there is.
  [[nodiscard]] Bytes idle() const { return peak < capacity ? capacity - peak : Bytes(0); }
  /// Its share of the capacity; none of no capacity.
  [[nodiscard]] double idle_share() const {
    return capacity > Bytes(0) ? static_cast<double>(idle().value()) / static_cast<double>(capacity.value()) : 0.0;
  }
  friend bool operator==(const MemoryPeak&, const MemoryPeak&) = default;
};

struct DeviceReport {
  DeviceId device;
  std::vector<StageId> stages;       ///< of the run, of every plan that it has had
  std::vector<Seconds> stage_times;  ///< of each of them: what its computations take on all its devices
  Seconds busy;                      ///< forwards, backwards, recomputes, updates, exchanges of its group
  /// None for a device that the measured part leaves out: the plan that runs at its end does not use the device, which
  /// was idle all the time. The time split is then empty.
  std::optional<double> bubble_ratio = 0.0;
  TimeSplit time;
  MemoryPeak memory;
  Seconds extent;                   ///< of an iteration: from its first start to its last end on this device
  std::int64_t in_flight_peak = 0;  ///< the most microbatches in flight, summed over the device's stages
  [[nodiscard]] bool is_measured() const { return bubble_ratio.has_value(); }
  friend bool operator==(const DeviceReport&, const DeviceReport&) = default;
};

struct HostReport {
  HostId host;
  MemoryPeak memory;
  friend bool operator==(const HostReport&, const HostReport&) = default;
};

struct LinkReport {
  LinkId link;
  double carried = 0.0;      ///< bytes; of a transfer that the measured part cuts, in proportion to its time
  double utilisation = 0.0;  ///< of what its bandwidth carries in the time
  [[nodiscard]] Bytes bytes() const { return Bytes(std::llround(carried)); }
  friend bool operator==(const LinkReport&, const LinkReport&) = default;
};

/// What takes most of the measured time of the device that computes most: a stage's work, or what the device waits for;
/// or a link that is busy for a larger share of the time than that. Relieving it helps first.
struct Bottleneck {
  enum class Kind { Stage, Link, Ramps, Waits, Transfers, AllReduce, AllReduceWait, Exchange } kind = Kind::Stage;
  DeviceId device;     ///< that computes most
  StageId stage;       ///< that takes most of its time
  LinkId link;         ///< `Link`: which
  double share = 0.0;  ///< of the measured time, or of the link's utilisation
  friend bool operator==(const Bottleneck&, const Bottleneck&) = default;
};

/// Memory that did not fit.
struct MemoryOverflow {
  PlaceId place;
  Seconds at;                                   ///< when it first did not fit
  Bytes excess;                                 ///< of the peak over the capacity
  std::optional<Seconds> until = std::nullopt;  ///< from when on it fitted for good; none if it did not
  friend bool operator==(const MemoryOverflow&, const MemoryOverflow&) = default;
};

/// How long the measured part of a run took: its last iteration, or a part of an asynchronous run and its two windows.
struct MeasuredTime {
  Seconds whole;
  Seconds first;
  Seconds second;
  friend bool operator==(const MeasuredTime&, const MeasuredTime&) = default;
};

/// Consecutive microbatches of a run, all of one plan.
struct WindowReport {
  std::int64_t begin = 0;            ///< the first microbatch
  std::int64_t end = 0;              ///< one more than the last
  std::int64_t microbatch_size = 1;  ///< samples
  Seconds at;                        ///< when all microbatches up to `end` were done: their last backwards had ended
  double throughput = 0.0;           ///< samples per second since the end of the window before
  [[nodiscard]] std::int64_t samples() const { return (end - begin) * microbatch_size; }
  friend bool operator==(const WindowReport&, const WindowReport&) = default;
};

/// In all of them.
[[nodiscard]] std::int64_t samples_of(const std::vector<WindowReport>& windows);

/// Some microbatches, and the time from the end of those before them to the end of the last of them.
struct Late {
  std::int64_t microbatches = 0;
  Seconds time;
  friend bool operator==(const Late&, const Late&) = default;
};

/// A change of the plan while training ran.
struct Replan {
  std::uint32_t microbatch = 0;  ///< the first that runs under the new plan
  Seconds at;                    ///< when the new plan was asked for work
  /// The microbatches that show the stall (`ReplanQuestion::stall_begin`) as far as the run goes, at the rate of the
  /// plan before and at that of the new one; known at the end of a run that is divided into windows.
  std::optional<Late> before = std::nullopt;
  std::optional<Late> after = std::nullopt;
  StageId first_stage = StageId(0);  ///< the number in the run of the new plan's first stage
  friend bool operator==(const Replan&, const Replan&) = default;
};

/// Weights and other state of a stage that moved from one place to another, for a re-plan.
struct Migration {
  StageId stage;
  PlaceId from;
  PlaceId to;
  Bytes bytes;
  Seconds start;
  Seconds end;
  Migrated what = Migrated::State;
  friend bool operator==(const Migration&, const Migration&) = default;
};

/// A run over time.
struct Course {
  std::vector<WindowReport> windows;      ///< of a run that is divided into windows
  std::vector<ReplanQuestion> questions;  ///< in order of time
  std::vector<Replan> replans;            ///< in order of time
  std::vector<Migration> migrations;      ///< in the order of their starts
  std::vector<Strike> strikes;            ///< the events that happened, in order of time
  friend bool operator==(const Course&, const Course&) = default;
};

/// The difference between the periods of two successive windows up to which a run counts as converged, and by how much
/// its period may be less than the bound.
inline constexpr double kLargestDrift = 1e-3;

/// The results of one run (docs/reference/report.md). Devices for which no window has announced a lane do not appear.
struct Report {
  std::vector<Seconds> iterations;  ///< synchronous schedules: every iteration; the figures are the last one's
  MeasuredTime measured;
  std::optional<Seconds> period;  ///< asynchronous schedules: time per microbatch in the steady state
  /// Asynchronous: by how much the period of the measured part's second window exceeds that of its first, as a part of
  /// it; none if the part is too short for two windows.
  std::optional<double> drift;
  /// Asynchronous: what the plan's work takes per microbatch in the long run at least, for the engine of this run. Set
  /// by whoever knows it.
  std::optional<Seconds> bound;
  double throughput = 0.0;  ///< samples per second
  double bubble_ratio = 0.0;
  double span_bubble_ratio = 0.0;
  double ideal_bubble_ratio = 0.0;
  Seconds recompute_time;         ///< summed over devices
  Seconds exposed_communication;  ///< summed over devices
  std::vector<DeviceReport> devices;
  std::vector<HostReport> hosts;
  std::vector<LinkReport> links;  ///< those that carried something
  std::optional<Bottleneck> bottleneck;
  std::vector<MemoryOverflow> overflows;
  Course course;
  std::uint64_t operations = 0;
  Seconds end;  ///< when the last operation ended
  friend bool operator==(const Report&, const Report&) = default;

  [[nodiscard]] bool out_of_memory() const { return !overflows.empty(); }
  /// Whether the run is faster than it can stay: work piles up somewhere.
  [[nodiscard]] bool is_below_bound() const { return bound && period && *period < *bound * (1.0 - kLargestDrift); }
  /// Whether the two windows agree, on a period that can last. **Requires** an asynchronous run.
  [[nodiscard]] bool converged() const { return drift && std::abs(*drift) <= kLargestDrift && !is_below_bound(); }
  /// How many devices the measured part counts.
  [[nodiscard]] std::size_t measured_devices() const;
  /// The figures that a plan predicts and an engine measures.
  [[nodiscard]] Figures figures() const;
};

/// The questions that changed the plan, in the order of `Course::replans`.
[[nodiscard]] std::vector<const ReplanQuestion*> changes_of_plan(const Report& report);

}  // namespace stagecraft
