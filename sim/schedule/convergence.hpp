#pragma once

#include "sim/base/quantity.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/report.hpp"
#include "sim/schedule/schedule_program.hpp"

#include <cstdint>
#include <functional>
#include <optional>

namespace stagecraft {

/// The length of an asynchronous run.
struct RunLength {
  std::int64_t microbatches = 1;
  std::int64_t head = 0;  ///< of them, at least so many come before the measured part (`LowerOptions::head`)
  friend bool operator==(const RunLength&, const RunLength&) = default;
};

/// The length that a run which is to converge begins with: at least the plan's own, and enough for two windows that are
/// worth comparing. The plan's own length for a synchronous schedule.
[[nodiscard]] RunLength first_length(const ScheduleProgram& program);

/// The next length: its measured part begins where that of `length` ends, and is twice as long. None if the run would
/// have more operations than a run is extended to.
[[nodiscard]] std::optional<RunLength> longer_length(const ScheduleProgram& program, const RunLength& length);

/// The program of the plan with as many microbatches as the run. **Throws** as `require_schedule`.
[[nodiscard]] ScheduleProgram with_length(const LayerGraph& graph, const Platform& platform, ScheduleProgram program,
                                          const RunLength& length);

/// Runs an asynchronous plan for longer and longer, from `length` on, until the two windows of the measured part agree
/// on a period that is not below its bound (`Report::converged`) or the run cannot be extended. Two windows alone do
/// not tell: while a queue grows in front of a slow stage, they are equal. Returns the last report, and its run's
/// length in `length`. `run` also says what bounds the period in the long run (`Report::bound`), if that is known.
/// **Cost** about twice that of the last run.
[[nodiscard]] Report run_until_converged(const ScheduleProgram& program, RunLength& length,
                                         const std::function<Report(const RunLength&)>& run);

}  // namespace stagecraft
