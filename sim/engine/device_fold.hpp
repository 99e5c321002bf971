#pragma once

#include "sim/engine/collectives.hpp"
#include "sim/engine/measured_sums.hpp"
#include "sim/model/op_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/report.hpp"
#include "sim/model/timeline.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stagecraft {

/// Follows how each device spends its time: with which computations, and what it waits for between them. Devices and
/// stages join when a window announces them. All calls take the same `sums`.
class DeviceFold {
 public:
  explicit DeviceFold(std::size_t device_count);

  /// `iteration_begin`: of the iteration in which they join.
  void announce(const OpGraph& window, Seconds iteration_begin, MeasuredSums& sums);
  /// **Requires** the computations of each device in the order of their starts.
  void add_computation(const Span& span, const Op& op, MeasuredSums& sums);
  /// A flow of a collective: its two devices send and receive.
  void add_exchange(const Span& span, const Op& flow);
  /// A `CollectiveBegin` or a `CollectiveEnd`.
  void add_collective_mark(const Span& span, const Op& mark);
  void end_iteration(Seconds at, MeasuredSums& sums);
  /// Microbatches in flight and collectives under way are given up.
  void abandon();

  /// Of the devices that have joined, by increasing number, without their memory and ratios. `window`: the time
  /// measured, that of an iteration if there are some.
  [[nodiscard]] std::vector<DeviceReport> report(const MeasuredSums& sums, Seconds window, bool has_iterations) const;

 private:
  enum Account : std::uint32_t {
    kCompute,
    kRecompute,
    kExposed,
    kAllReduce,
    kCollectiveWait,
    kUpdate,
    kExchange,
    kSteadyIdle,
    kAccounts
  };
  static Account account_of(OpKind kind);
  struct DeviceState {
    DeviceId device;
    std::uint32_t accounts = 0;    ///< the first of its `kAccounts`
    Seconds first_start = kNever;  ///< in the present iteration or window
    Seconds last_end;
    CollectivePast past;        ///< of collectives that ended after the last computation
    bool has_backward = false;  ///< in the present iteration
    Seconds unsettled_idle;     ///< since its last forward: in a ramp, unless another forward follows
    std::int64_t in_flight = 0;
    std::int64_t in_flight_peak = 0;
    Seconds extent;
    std::vector<StageId> stages;
  };

  DeviceState& join(DeviceId device, Seconds iteration_begin, MeasuredSums& sums);
  [[nodiscard]] std::uint32_t position(PlaceId place) const;
  static Seconds add_gap(const DeviceState& device, const Span& span, MeasuredSums& sums);
  static Seconds add_in_collectives(const DeviceState& device, Seconds begin, Seconds end, MeasuredSums& sums);
  static void settle_idle(DeviceState& device, const Span& span, OpKind kind, Seconds idle, MeasuredSums& sums);
  [[nodiscard]] DeviceReport report_of(const DeviceState& device, const MeasuredSums& sums, Seconds window,
                                       bool has_iterations) const;

  std::vector<std::uint32_t> position_of_;  ///< by DeviceId: in `devices_`
  std::vector<DeviceState> devices_;        ///< in the order in which they joined
  std::vector<std::uint32_t> stage_account_;
  CollectivesUnderWay collectives_;  ///< their members are positions in `devices_`
};

}  // namespace stagecraft
