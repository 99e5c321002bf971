#include "experiments/run/repeated_run.hpp"

#include "sim/engine/extended_report.hpp"
#include "sim/engine/repeated_state.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/measured_part.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

constexpr std::int64_t kShortRuns = 8;               ///< a long run is at least so many times as long as a short one
constexpr std::int64_t kLonger = 4;                  ///< how many times longer the next short run is
constexpr std::int64_t kMostOperations = 4'000'000;  ///< of a short run, each of which takes some 100 bytes

/// The bytes of the flows, and the parts that they sum over, as the report is extended.
std::optional<Traffic> extended_traffic(const Traffic& shorter, const Traffic& longer, std::int64_t count) {
  Traffic traffic = shorter;
  if (shorter.flows.size() != longer.flows.size()) return std::nullopt;
  for (std::size_t i = 0; i < traffic.flows.size(); ++i) {
    Flow& own = traffic.flows[i];
    const double more = longer.flows[i].bytes - own.bytes;
    own.bytes = longer.flows[i].bytes;
    if (own != longer.flows[i]) return std::nullopt;
    own.bytes += more * static_cast<double>(count - 1);
  }
  traffic.parts += (longer.parts - shorter.parts) * count;
  return traffic;
}

/// The dates that bound what is measured.
std::vector<Seconds> marks_of(const Timeline& run) {
  std::vector<Seconds> marks;
  for (const TimelineEntry& entry : run) {
    if (entry.kind == OpKind::Barrier) marks.push_back(entry.start);
  }
  std::ranges::sort(marks);
  return marks;
}

/// Whether in an asynchronous run that is two periods longer the measured part begins as it did, has its middle a
/// period later and its end two, and has both in the steady state.
bool moves_evenly(const Timeline& shorter, const Timeline& longest, const RepeatedState& state) {
  const std::vector<Seconds> before = marks_of(shorter);
  const std::vector<Seconds> after = marks_of(longest);
  if (before.size() != 3 || after.size() != 3 || before[1] < state.from) return false;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const Seconds error = after[i] - before[i] - state.period * static_cast<double>(i);
    if (std::abs(error.value()) > date_noise(after[i]).value()) return false;
  }
  return true;
}

}  // namespace

/// The pipeline has to be filled and drained, and be in between for a while.
std::int64_t RepeatedRun::first_length() const {
  const std::int64_t most_in_flight = std::max(std::ranges::max(program_.in_flight), program_.steady_in_flight);
  const std::int64_t ends = 4 * most_in_flight * round_of(program_.kept->replicas);
  return std::max(ends, least_microbatches(program_, program_.kept->replicas)) + 4 * program_.repeats;
}

std::optional<RunOutcome> RepeatedRun::extended(const RunOutcome& shorter, const RunOutcome& longer,
                                                std::int64_t count) const {
  std::optional<Report> report =
      extended_report(shorter.report, longer.report, count, platform_, measurement_of(program_));
  std::optional<Traffic> traffic = extended_traffic(shorter.traffic, longer.traffic, count);
  if (!report || !traffic) return std::nullopt;
  return RunOutcome{*std::move(report), *std::move(traffic), {}};
}

/// The microbatches by which the long run and short ones differ that differ by so many repetitions of the orders. The
/// middle of what is measured of an asynchronous run moves by half of what is added.
std::int64_t RepeatedRun::unit_of(std::int64_t steps) const {
  return (program_.synchronous ? 1 : 2) * steps * program_.repeats;
}

/// Runs the plan for so many microbatches, or the few more by which the long run is longer by some units.
void RepeatedRun::run_shorter(const ShortRun& run, std::int64_t length, std::int64_t steps) {
  length += (program_.kept->plan.microbatches - length) % unit_of(steps);
  if (shorter_length_ != length) shorter_ = run({length, 0});
  shorter_length_ = length;
}

/// Tries two runs that differ by so many repetitions of the orders, and for an asynchronous run a third one, which is
/// by twice as much longer.
std::optional<RunOutcome> RepeatedRun::attempt(const ShortRun& run, std::int64_t length, std::int64_t steps,
                                               const EvaluatedRun* evaluated) {
  run_shorter(run, length, steps);
  length = shorter_length_;
  const std::int64_t more = steps * program_.repeats;
  longer_ = run({length + more, 0});
  const Timeline& record = longer_.record.timeline;
  const RunClock clock = evaluated == nullptr ? RunClock::Sums : RunClock::SimGrid;
  const std::optional<RepeatedState> state = repeated_state(shorter_.record.timeline, record, clock);
  if (!state) return std::nullopt;
  repetition_ = {.shorter = length,
                 .longer = length + more,
                 .count = (program_.kept->plan.microbatches - length) / more,
                 .from = state->from,
                 .period = state->period,
                 .is_exact = evaluated == nullptr || are_alike(evaluated->longer, record)};
  if (program_.synchronous) return extended(shorter_, longer_, repetition_.count);
  const RunOutcome longest = run({length + 2 * more, 0});
  if (!moves_evenly(shorter_.record.timeline, longest.record.timeline, *state)) return std::nullopt;
  return extended(shorter_, longest, repetition_.count / 2);
}

std::optional<RunOutcome> RepeatedRun::find(const ShortRun& run, const EvaluatedRun* evaluated) {
  if (evaluated != nullptr) {
    const Repetition& known = evaluated->repetition;
    if (auto outcome = attempt(run, known.shorter, known.microbatches() / program_.repeats, evaluated)) return outcome;
  }
  const RunClock clock = evaluated == nullptr ? RunClock::Sums : RunClock::SimGrid;
  std::int64_t most = program_.kept->plan.microbatches / kShortRuns;
  const auto is_short = [&](std::int64_t length, std::int64_t steps) {
    return length + 4 * steps * program_.repeats <= most;
  };
  for (std::int64_t length = first_length(); is_short(length, 1); length *= kLonger) {
    run_shorter(run, length, 1);
    const Timeline& record = shorter_.record.timeline;
    const std::int64_t each = std::ssize(record) / length + 1;  // at least of a microbatch
    most = std::min(most, kMostOperations / each);
    const std::int64_t steps = repeating_steps(record, program_.repeats, clock).value_or(1);
    if (!is_short(length, steps)) continue;
    if (auto outcome = attempt(run, length, steps, evaluated)) return outcome;
  }
  return std::nullopt;
}

}  // namespace stagecraft
