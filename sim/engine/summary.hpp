#pragma once

#include "sim/engine/memory_fold.hpp"
#include "sim/engine/time_window.hpp"
#include "sim/model/measurement.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/report.hpp"
#include "sim/model/timeline.hpp"

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace stagecraft {

/// Folds the spans of a run into its report: the one place where bubble ratios, time splits and peaks are defined,
/// whichever engine ran. Memory does not grow with the length of the run.
class Summary {
 public:
  /// `in_start_order`: the engine reports all spans in the order of their starts, not only those of each device.
  Summary(const Platform& platform, std::vector<DeviceUse> use, const Measurement& measurement, bool in_start_order);

  void add(const Span& span, const Op& op, std::span<const MemoryDelta> deltas);

  /// **Requires** that the whole run has been added.
  [[nodiscard]] Report finish();

 private:
  enum Account : std::uint32_t { kCompute, kRecompute, kExposed, kAllReduce, kUpdate, kAccounts };
  struct DeviceState {
    Seconds first_start = kNever;  ///< in the present iteration or window
    Seconds last_end;
    std::vector<std::pair<Seconds, Seconds>> all_reduces;  ///< since the last computation ended
    std::int64_t in_flight = 0;
    std::int64_t in_flight_peak = 0;
  };
  struct Pair {
    PlaceId from;
    PlaceId to;
  };

  void add_computation(const Span& span, const Op& op);
  void add_gap(std::uint32_t device, const Span& span);
  void add_transfer(const Span& span, const Op& op);
  void add_barrier(Seconds at);
  void add_tails(Seconds end);
  void add_piece(std::uint32_t account, Seconds begin, Seconds end, double amount);
  [[nodiscard]] double sum(std::uint32_t account) const;
  [[nodiscard]] double sum(std::size_t device, Account account) const;
  [[nodiscard]] std::uint32_t pair_of(PlaceId from, PlaceId to);

  [[nodiscard]] DeviceReport device_report(std::size_t index, Seconds window) const;
  void add_links(Report& report, Seconds window) const;
  void add_bottleneck(Report& report) const;
  void add_ratios(Report& report, Seconds window) const;
  void add_memory(Report& report) const;

  const Platform& platform_;
  std::vector<DeviceUse> use_;
  Measurement measurement_;
  bool in_start_order_;
  std::vector<std::uint32_t> use_of_;  ///< by DeviceId: position in `use_`
  std::vector<DeviceState> devices_;
  MemoryFold memory_;
  TimeWindow window_;             ///< asynchronous; accounts: devices * kAccounts, then stages, then pairs
  std::vector<double> sums_;      ///< synchronous, by the same accounts: the present iteration
  std::vector<double> measured_;  ///< the last complete iteration
  std::vector<std::pair<Seconds, Seconds>> extents_;  ///< by device: own first start and last end there
  Seconds end_bound_;
  std::uint32_t stage_count_ = 0;
  std::uint32_t pair_base_ = 0;
  std::vector<Pair> pairs_;
  std::unordered_map<std::uint64_t, std::uint32_t> pair_index_;
  std::uint64_t last_pair_key_ = ~std::uint64_t{0};
  std::uint32_t last_pair_ = 0;
  std::vector<Seconds> iterations_;
  Seconds iteration_begin_;
  std::uint64_t operations_ = 0;
  OpId last_counted_;
};

}  // namespace stagecraft
