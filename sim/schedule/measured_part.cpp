#include "sim/schedule/measured_part.hpp"

#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"

#include <algorithm>
#include <string>

namespace stagecraft {

std::int64_t least_microbatches(const ScheduleProgram& program, const Replicas& replicas) {
  if (program.synchronous) return 1;
  const std::int64_t stride = replicas.round();
  const std::int64_t warm = std::max<std::int64_t>(2 * program.steady_in_flight, 10);
  const std::int64_t discarded = (warm + stride - 1) / stride * stride;
  return 2 * discarded + stride + 1;
}

MeasuredPart measured_part(const ScheduleProgram& program, const Replicas& replicas, std::int64_t microbatches) {
  const std::int64_t least = least_microbatches(program, replicas);
  MeasuredPart part;
  part.stride = replicas.round();
  if (microbatches < least) {
    throw InputError(
        "an asynchronous run of " + counted(microbatches, "microbatch") + " is too short to find its period", {},
        "this plan needs at least " + std::to_string(least) + " microbatches");
  }
  const std::int64_t discarded = (least - 1 - part.stride) / 2;
  part.first = discarded;
  const std::int64_t length = microbatches - 1 - 2 * discarded;
  part.last = part.first + length / part.stride * part.stride;
  return part;
}

}  // namespace stagecraft
