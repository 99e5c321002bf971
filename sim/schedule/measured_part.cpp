#include "sim/schedule/measured_part.hpp"

#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"
#include "sim/schedule/kept_plan.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <string>

namespace stagecraft {

std::int64_t whole_round(const Plan& plan, const Replicas& replicas) {
  return round_of(replicas) * plan.rounds_per_update;
}

std::int64_t whole_round_of_work(const KeptPlan& kept) {
  constexpr std::int64_t kLongest = std::int64_t{1} << 32;  // longer than any run
  std::int64_t round = whole_round(kept.plan, kept.replicas);
  for (const ReplicaId id : kept.replicas.all()) {
    if (round > kLongest) break;
    const std::int64_t sets = std::ssize((*kept.work)[id].programs.sets());
    round = std::lcm(round, sets * kept.replicas[id].turns);
  }
  return round;
}

std::int64_t discarded_at_an_end(const ScheduleProgram& program) {
  const std::int64_t stride = whole_round(program.kept->plan, program.kept->replicas);
  const std::int64_t warm = std::max<std::int64_t>(2 * program.steady_in_flight, 10);
  return (warm + stride - 1) / stride * stride;
}

std::int64_t least_microbatches(const ScheduleProgram& program, const Replicas& replicas) {
  if (program.synchronous) return 1;
  const std::int64_t stride = whole_round(program.kept->plan, replicas);
  return 2 * discarded_at_an_end(program) + stride + 1;
}

MeasuredPart measured_part(const ScheduleProgram& program, const Replicas& replicas, std::int64_t microbatches,
                           std::int64_t head) {
  MeasuredPart part;
  part.stride = whole_round(program.kept->plan, replicas);
  const std::int64_t tail = discarded_at_an_end(program);
  part.first = std::max(tail, (head + part.stride - 1) / part.stride * part.stride);
  const std::int64_t least = part.first + part.stride + 1 + tail;
  if (microbatches < least) {
    throw InputError(
        "an asynchronous run of " + counted(microbatches, "microbatch") + " is too short to find its period", {},
        "this plan needs at least " + std::to_string(least) + " microbatches");
  }
  const std::int64_t strides = (microbatches - 1 - tail - part.first) / part.stride;
  part.middle = part.first + strides / 2 * part.stride;
  part.last = part.first + strides * part.stride;
  return part;
}

Measurement measurement_of(const ScheduleProgram& program, std::int64_t head, std::int64_t report_window) {
  const Plan& plan = program.kept->plan;
  Measurement result;
  result.window = report_window;
  result.synchronous = program.synchronous;
  result.microbatch_size = samples_of_microbatch(plan);
  result.microbatches = plan.microbatches;
  if (program.synchronous) return result;
  const MeasuredPart part = measured_part(program, program.kept->replicas, plan.microbatches, head);
  result.microbatches = part.last - part.first;
  result.last = part.last;
  result.middle = part.middle;
  result.stride = part.stride;
  return result;
}

}  // namespace stagecraft
