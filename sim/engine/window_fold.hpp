#pragma once

#include "sim/base/quantity.hpp"
#include "sim/model/report.hpp"

#include <cstdint>
#include <vector>

namespace stagecraft {

/// Divides a run into windows of microbatches, each of one plan, and notes when they are done. A microbatch is done when
/// its last backward has ended.
/// **Cost** memory O(windows).
class WindowFold {
 public:
  /// `length`: microbatches of a window; a plan's last one may have fewer. 0: the run is not divided.
  explicit WindowFold(std::int64_t length) : length_(length) {}

  /// Another plan begins with that microbatch. **Requires** a microbatch above 0, and that no backward of it or of a later one has been added.
  void change_plan(std::int64_t first);
  /// A backward of the microbatch has ended. In any order.
  void add(std::int64_t microbatch, Seconds end);

  [[nodiscard]] std::vector<WindowReport> report(std::int64_t microbatch_size) const;
  /// For each change of the plan, the time from the end of the microbatches before to that of the plan's first one.
  [[nodiscard]] std::vector<Seconds> gaps() const;

 private:
  struct Window {
    std::int64_t begin = 0;
    bool begins_plan = false;
    Seconds end;        ///< of its microbatches
    Seconds first_end;  ///< of its first microbatch
  };

  /// Opens windows up to the one of the microbatch.
  void extend_to(std::int64_t microbatch);

  std::int64_t length_;
  std::vector<Window> windows_;
  std::int64_t microbatches_ = 0;  ///< that have been seen
};

}  // namespace stagecraft
