#pragma once

#include "sim/engine/device_fold.hpp"
#include "sim/engine/link_traffic.hpp"
#include "sim/engine/measured_sums.hpp"
#include "sim/engine/memory_fold.hpp"
#include "sim/engine/periods.hpp"
#include "sim/engine/window_fold.hpp"
#include "sim/model/measurement.hpp"
#include "sim/model/op_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/report.hpp"
#include "sim/model/timeline.hpp"

#include <cstdint>
#include <set>
#include <span>

namespace stagecraft {

/// Folds the spans of a run into its report. Bubble ratios, time splits and peaks are defined here and nowhere else,
/// whichever engine ran: here and in the parts that the summary is made of. Devices and stages join when the windows
/// announce them. Memory does not grow with the length of the run.
class Summary {
 public:
  /// `platform` must outlive the summary. `in_start_order`: the engine reports all spans in the order of their starts,
  /// not only those of each device.
  Summary(const Platform& platform, const Measurement& measurement, bool in_start_order);

  /// Learns what a window announces: devices, stages, and questions to a re-planner. **Requires** every window of the
  /// run, before its spans.
  void announce(const OpGraph& window);
  void add(const Span& span, const Op& op, std::span<const MemoryDelta> deltas);
  /// An event happens. **Requires** that it comes before the spans that start after it.
  void add(const Strike& strike, const Event& event);

  /// **Requires** that the whole run has been added.
  [[nodiscard]] Report finish();

 private:
  void bound_end(const Span& span, const Op& op);
  void add_transfer(const Span& span, const Op& op);
  void add_barrier(Seconds at, std::int64_t microbatch);
  void go_back(const ReplanQuestion& failure);
  void abandon(Seconds at);

  void add_windows(Report& report) const;
  [[nodiscard]] std::int64_t measured_end(const Report& report) const;
  [[nodiscard]] std::set<DeviceId> last_devices(const Report& report) const;
  void leave_out_unused(Report& report) const;
  void add_memory(Report& report) const;

  const Platform& platform_;
  Measurement measurement_;
  bool in_start_order_;
  MeasuredSums sums_;
  DeviceFold devices_;
  MemoryFold memory_;
  LinkTraffic links_;
  Periods periods_;
  WindowFold windows_;
  Report so_far_;  ///< operations, end, questions, re-plans and migrations; the other figures are known at the end
  OpId last_counted_;
  std::int64_t last_mark_ = -1;  ///< asynchronous: the last of the microbatches that bound the measured part
};

/// A sink that adds to `summary`, which must outlive it.
[[nodiscard]] RunSink summed_up_by(Summary& summary);

/// Wraps `source` so that each window is announced to `summary` before the engine gets it. `summary` must outlive it.
[[nodiscard]] OpSource announced_to(Summary& summary, OpSource source);

}  // namespace stagecraft
