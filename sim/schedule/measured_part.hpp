#pragma once

#include "sim/model/measurement.hpp"
#include "sim/model/replicas.hpp"
#include "sim/schedule/schedule_program.hpp"

#include <cstdint>

namespace stagecraft {

struct KeptPlan;
struct Plan;

/// The number of microbatches after which everything repeats: the turns of all replicas, and the updates.
[[nodiscard]] std::int64_t whole_round(const Plan& plan, const Replicas& replicas);
/// The same with memory actions that only some microbatches have (`Covered`); if it is longer than any run, some longer
/// number.
[[nodiscard]] std::int64_t whole_round_of_work(const KeptPlan& kept);

/// The microbatches of an asynchronous run that do not count at its end, and at least at its begin.
[[nodiscard]] std::int64_t discarded_at_an_end(const ScheduleProgram& program);

/// The least number of microbatches with which a run of the program can be measured; 1 for synchronous schedules.
[[nodiscard]] std::int64_t least_microbatches(const ScheduleProgram& program, const Replicas& replicas);

/// The microbatches whose last backwards bound the measured part of an asynchronous run (docs/reference/report.md).
struct MeasuredPart {
  std::int64_t first = 0;
  std::int64_t middle = 0;  ///< where its two windows meet; `first` if it is too short for two
  std::int64_t last = 0;
  std::int64_t stride = 1;
};
/// The part of a run of that length. At least `head` microbatches come before it.
/// **Throws** InputError that names the least number of microbatches.
[[nodiscard]] MeasuredPart measured_part(const ScheduleProgram& program, const Replicas& replicas,
                                         std::int64_t microbatches, std::int64_t head = 0);

/// What is measured of the program's run (`LowerOptions::head`, `LowerOptions::report_window`). **Throws** likewise.
[[nodiscard]] Measurement measurement_of(const ScheduleProgram& program, std::int64_t head = 0,
                                         std::int64_t report_window = 0);

}  // namespace stagecraft
