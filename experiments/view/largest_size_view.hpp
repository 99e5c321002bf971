#pragma once

#include "experiments/run/largest_size.hpp"
#include "sim/model/detail.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/report.hpp"

#include <optional>
#include <string>

namespace stagecraft {

/// The runs of the plan at the size found.
struct LargestSizeRun {
  Report evaluated;
  std::optional<Report> replayed;  ///< if it was asked for
  [[nodiscard]] const Report& report() const { return replayed ? *replayed : evaluated; }
};

/// The answer of `max-batch` as text: the size found, its plan, the throughput, the memory that is used and idle, what
/// limits the next size, and the sizes that were tried; or the reason why no size fits. `run`: of the plan, if there is
/// one.
[[nodiscard]] std::string largest_size_text(const LargestSize& largest, const std::optional<LargestSizeRun>& run,
                                            const Platform& platform, bool timings);

/// The same as `max-batch --json` shows it (docs/reference/command-line.md).
[[nodiscard]] Detail::Record largest_size_record(const LargestSize& largest, const std::optional<LargestSizeRun>& run,
                                                 const Platform& platform, bool timings);

}  // namespace stagecraft
