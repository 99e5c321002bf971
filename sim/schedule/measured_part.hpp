#pragma once

#include "sim/model/replicas.hpp"
#include "sim/schedule/schedule_program.hpp"

#include <cstdint>

namespace stagecraft {

/// The least number of microbatches with which a run of the program can be measured; 1 for synchronous schedules.
[[nodiscard]] std::int64_t least_microbatches(const ScheduleProgram& program, const Replicas& replicas);

/// The two microbatches whose last backwards bound the measured part of an asynchronous run (docs/reference/report.md).
struct MeasuredPart {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t stride = 1;
};
/// **Throws** InputError that names the least number of microbatches.
[[nodiscard]] MeasuredPart measured_part(const ScheduleProgram& program, const Replicas& replicas,
                                         std::int64_t microbatches);

}  // namespace stagecraft
