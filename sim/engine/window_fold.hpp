#pragma once

#include "sim/base/quantity.hpp"
#include "sim/model/report.hpp"

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace stagecraft {

/// A change of the plan. It ends at the latest where the next one begins.
struct PlanChange {
  std::int64_t first = 0;  ///< the first microbatch under the new plan
  // The microbatches whose times are taken: [begin, middle) and [middle, end).
  std::int64_t begin = 0;
  std::int64_t middle = 0;
  std::int64_t end = 0;
  std::int64_t microbatch_size = 1;  ///< of the new plan
};

/// The time of some microbatches, from the end of all before to the end of the last of them.
struct ChangeTime {
  std::int64_t microbatches = 0;
  Seconds time;
  friend bool operator==(const ChangeTime&, const ChangeTime&) = default;
};

/// Divides a run into windows of microbatches, each of one plan, and notes when they are done. A microbatch is done
/// when its last backward has ended.
/// **Cost** memory O(windows), and at most half a megabyte.
class WindowFold {
 public:
  /// `length`: microbatches of a window; a plan's last one may have fewer. 0: the run is not divided.
  /// `microbatch_size`: of the first plan.
  WindowFold(std::int64_t length, std::int64_t microbatch_size) : length_(length), first_size_(microbatch_size) {}

  /// Another plan begins. **Requires** that no backward of `begin` or of a later one has been added; or that they are
  /// run again, and all backwards so far have been added. Then the time that is lost is that of the next window.
  void change_plan(const PlanChange& change);
  /// Of the changes only the first `count` ones have come. **Requires** that the next one goes back.
  void withdraw_changes(std::size_t count);
  /// A backward of the microbatch has ended. In any order.
  void add(std::int64_t microbatch, Seconds end);

  [[nodiscard]] std::vector<WindowReport> report() const;
  /// In the microbatches of [begin, end).
  [[nodiscard]] std::int64_t samples(std::int64_t begin, std::int64_t end) const;
  /// Of each change of the plan the two times.
  [[nodiscard]] std::vector<std::pair<ChangeTime, ChangeTime>> change_times() const;

 private:
  struct Window {
    std::int64_t begin = 0;
    std::int64_t microbatch_size = 1;
    Seconds end = Seconds(0);  ///< of its microbatches
  };
  struct Change {
    PlanChange change;
    Seconds before;  ///< the end of the microbatches before `begin`
    Seconds middle;  ///< the end of those before `middle`
    Seconds last;    ///< the end of those before `end`
  };

  void go_back(std::int64_t first);
  /// Opens windows up to the one of the microbatch.
  void extend_to(std::int64_t microbatch);

  std::int64_t length_;
  std::int64_t first_size_;
  std::vector<Window> windows_;
  std::vector<Change> changes_;
  std::size_t closed_ = 0;         ///< changes before it are known: the run has gone back behind them
  std::deque<Seconds> recent_;     ///< the ends of the last microbatches that have been seen, for `go_back`
  Seconds latest_;                 ///< the end of all that have been seen
  std::int64_t microbatches_ = 0;  ///< that have been seen
};

}  // namespace stagecraft
