#pragma once

#include "sim/engine/measured_sums.hpp"
#include "sim/engine/memory_fold.hpp"
#include "sim/engine/place_pairs.hpp"
#include "sim/model/measurement.hpp"
#include "sim/model/op_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/report.hpp"
#include "sim/model/timeline.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace stagecraft {

/// Folds the spans of a run into its report. Bubble ratios, time splits and peaks are defined here and nowhere else,
/// whichever engine ran. Devices and stages join when the windows announce them. Memory does not grow with the length
/// of the run.
class Summary {
 public:
  /// `platform` must outlive the summary. `in_start_order`: the engine reports all spans in the order of their starts,
  /// not only those of each device.
  Summary(const Platform& platform, const Measurement& measurement, bool in_start_order);

  /// Learns the devices and stages that a window announces. **Requires** every window of the run, before its spans.
  void announce(const OpGraph& window);
  void add(const Span& span, const Op& op, std::span<const MemoryDelta> deltas);

  /// **Requires** that the whole run has been added.
  [[nodiscard]] Report finish();

 private:
  enum Account : std::uint32_t { kCompute, kRecompute, kExposed, kAllReduce, kCollectiveWait, kUpdate, kAccounts };
  using Interval = std::pair<Seconds, Seconds>;
  struct DeviceState {
    DeviceId device;
    std::uint32_t accounts = 0;    ///< the first of its `kAccounts`
    Seconds first_start = kNever;  ///< in the present iteration or window
    Seconds last_end;
    std::vector<Interval> collectives;  ///< from begin to end, of those that ended after the last computation
    std::vector<Interval> exchanges;    ///< when the device sent or received in one, likewise
    std::int64_t in_flight = 0;
    std::int64_t in_flight_peak = 0;
    Seconds extent;  ///< of the last complete iteration: from its first start to its last end on this device
    std::vector<StageId> stages;
  };

  /// A collective under way.
  struct Collective {
    Seconds begin = kNever;
    std::vector<Interval> latencies;     ///< of its phases
    std::vector<std::uint32_t> members;  ///< positions in `devices_`; a device may occur several times
  };

  DeviceState& join(DeviceId device);
  void add_computation(const Span& span, const Op& op);
  void add_gap(const DeviceState& device, const Span& span);
  void add_transfer(const Span& span, const Op& op);
  void add_exchange(const Span& span, const Op& op);
  void add_collective_mark(const Span& span, const Op& op);
  void add_in_collectives(const DeviceState& device, Seconds begin, Seconds end);
  void add_barrier(Seconds at, std::int64_t microbatch);
  void add_tail(const DeviceState& device, Seconds end);

  [[nodiscard]] DeviceReport device_report(const DeviceState& device, Seconds window) const;
  void add_links(Report& report, Seconds window) const;
  void add_bottleneck(Report& report) const;
  void add_ratios(Report& report, Seconds window) const;
  void add_memory(Report& report) const;
  [[nodiscard]] std::optional<double> drift() const;

  const Platform& platform_;
  Measurement measurement_;
  bool in_start_order_;
  std::vector<std::uint32_t> position_of_;  ///< by DeviceId: in `devices_`
  std::vector<DeviceState> devices_;        ///< in the order in which they joined
  std::vector<std::uint32_t> stage_account_;
  MeasuredSums sums_;
  MemoryFold memory_;
  PlacePairs pairs_;
  std::vector<std::uint32_t> pair_account_;
  std::vector<Seconds> iterations_;
  Seconds iteration_begin_;
  std::map<std::pair<StageId, std::uint16_t>, Collective> collectives_;  ///< by the first member's stage and the number
  Seconds middle_;  ///< asynchronous: where the two windows of the measured part meet
  std::vector<Replan> replans_;
  std::vector<Migration> migrations_;
  std::uint64_t operations_ = 0;
  Seconds end_;  ///< of the operations so far
  OpId last_counted_;
};

/// Wraps `source` so that each window is announced to `summary` before the engine gets it. `summary` must outlive it.
[[nodiscard]] OpSource announced_to(Summary& summary, OpSource source);

}  // namespace stagecraft
