// A training step that was measured on eight ranks, operation by operation, run again with the measured times of its
// computations.
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/replay/replay_plan.hpp"
#include "sim/schedule/check_schedule.hpp"
#include "tests/paths.hpp"
#include "tests/schedule/compiled.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft::measured_timeline_test {
namespace {

using nlohmann::json;

const std::filesystem::path kFolder = std::filesystem::path(STAGECRAFT_SHARED_DIR) / "measurements/primus-timeline/pp8";
constexpr std::size_t kRanks = 8;
constexpr int kIterations = 20;

bool is_here() {
  if (std::filesystem::exists(kFolder)) return true;
  MESSAGE("skipped: no measured timeline at ", kFolder.string());
  return false;
}

/// One computation as it was measured, from the start of the iteration.
struct Measured {
  Action action;
  Seconds start;
  Seconds end;
};

/// An iteration by rank, each rank's computations in the order of their starts.
using Iteration = std::vector<std::vector<Measured>>;

std::vector<json> ranks() {
  std::vector<json> answer;
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    std::ifstream in(kFolder / ("pp_rank_" + std::to_string(rank) + ".json"));
    answer.push_back(json::parse(in));
  }
  return answer;
}

void add(std::vector<Measured>& to, const json& record, const std::string& prefix, Action action) {
  const json& starts = record.at(prefix + "_start");
  const json& ends = record.at(prefix + "_end");
  REQUIRE(starts.size() == ends.size());
  for (std::size_t i = 0; i < starts.size(); ++i) {
    action.microbatch = static_cast<std::uint32_t>(i);
    const Seconds start(starts[i].get<double>() * 1e-3);
    const Seconds end(ends[i].get<double>() * 1e-3);
    action.duration = end - start;
    to.push_back({action, start, end});
  }
}

Iteration iteration_of(const std::vector<json>& ranks, int number) {
  Iteration iteration;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const json& record = ranks[rank].at(std::to_string(number));
    std::vector<Measured> computations;
    add(computations, record, "fwd", {.kind = ActionKind::Forward, .stage = StageId(rank)});
    add(computations, record, "bwd", {.kind = ActionKind::Backward, .stage = StageId(rank)});
    std::ranges::sort(computations, {}, &Measured::start);
    iteration.push_back(std::move(computations));
  }
  return iteration;
}

Seconds end_of(const Iteration& iteration) {
  Seconds end;
  for (const auto& rank : iteration) end = std::max(end, rank.back().end);
  return end;
}

/// What the iteration is as a schedule: the order of each rank, and how long each computation took.
Schedule schedule_of(const Iteration& iteration) {
  Schedule schedule;
  for (std::size_t rank = 0; rank < iteration.size(); ++rank) {
    DeviceOrder order{DeviceId(rank), Discipline::Strict, {}};
    for (const Measured& each : iteration[rank]) order.actions.push_back(each.action);
    schedule.devices.push_back(std::move(order));
  }
  return schedule;
}

/// The time from the end of the first forward of a rank to its start on the next rank, where nothing else holds it up:
/// the median over the ranks.
Seconds latency_of(const Iteration& iteration) {
  std::vector<Seconds> gaps;
  for (std::size_t rank = 1; rank < iteration.size(); ++rank) {
    gaps.push_back(iteration[rank].front().start - iteration[rank - 1].front().end);
  }
  std::ranges::sort(gaps);
  return gaps[gaps.size() / 2];
}

/// Runs of the iteration with the given time between two ranks.
struct Rerun {
  Seconds evaluated;
  Seconds replayed;
  Seconds farthest;  ///< the largest distance between the measured and the simulated start of a computation
};

Rerun rerun(const Iteration& iteration, Seconds latency) {
  const auto microbatches = static_cast<std::int64_t>(iteration.front().size() / 2);
  const LayerGraph graph = testing::chain(kRanks, 1, 2, 1);
  const Platform platform = testing::pairwise(kRanks, 1e15, latency.value());
  const Plan plan = testing::straight(kRanks, microbatches, "literal");
  LowerOptions options;
  options.literal = schedule_of(iteration);
  REQUIRE(check_schedule(graph, platform, plan, *options.literal) == std::vector<std::string>{});
  Rerun answer;
  answer.evaluated = evaluate_plan(graph, platform, plan, options).iterations.back();
  const ReplayOutcome outcome = replay_plan(graph, platform, plan, options, {}, {.record = RecordPart::All});
  answer.replayed = outcome.report.iterations.back();
  std::vector<std::size_t> next(kRanks, 0);
  for (const TimelineEntry& entry : outcome.record.timeline) {
    if (entry.kind != OpKind::Forward && entry.kind != OpKind::Backward) continue;
    const std::size_t rank = entry.stage.value();
    const Measured& measured = iteration[rank].at(next[rank]++);
    REQUIRE(entry.microbatch == measured.action.microbatch);
    answer.farthest = std::max(answer.farthest, Seconds(std::abs((entry.start - measured.start).value())));
  }
  for (std::size_t rank = 0; rank < kRanks; ++rank) REQUIRE(next[rank] == iteration[rank].size());
  return answer;
}

double error_of(const Rerun& run, const Iteration& iteration) { return run.replayed / end_of(iteration) - 1.0; }

TEST_CASE("measured timeline: the ranks ran 1f1b") {
  if (!is_here()) return;
  const std::vector<json> files = ranks();
  const Schedule expected = testing::compiled(testing::straight(kRanks, 16, "1f1b")).orders({0, 16});
  for (int number = 1; number <= kIterations; ++number) {
    CAPTURE(number);
    const Schedule measured = schedule_of(iteration_of(files, number));
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      const std::vector<Action>& ours = expected.devices[rank].actions;
      const std::vector<Action>& theirs = measured.devices[rank].actions;
      const auto same = [](const Action& a, const Action& b) {
        return a.kind == b.kind && a.stage == b.stage && a.microbatch == b.microbatch;
      };
      CHECK(std::ranges::equal(ours, theirs, same));
    }
  }
}

// The first iteration is left out: within it the ranks wait for what is done once.
TEST_CASE("measured timeline: without any time for transfers an iteration takes at most 1.2 % less than measured") {
  if (!is_here()) return;
  const std::vector<json> files = ranks();
  std::vector<double> errors;
  for (int number = 2; number <= kIterations; ++number) {
    CAPTURE(number);
    const Iteration iteration = iteration_of(files, number);
    const Rerun run = rerun(iteration, Seconds(0));
    CHECK(run.evaluated.value() == doctest::Approx(run.replayed.value()).epsilon(1e-9));
    errors.push_back(error_of(run, iteration));
    CHECK(errors.back() < 0.0);  // a run never waits without a reason, and the ranks did
    CHECK(errors.back() > -0.012);
  }
  std::ranges::sort(errors);
  CHECK(errors[2] > -0.011);  // all but the two in which the ranks stalled
}

TEST_CASE("measured timeline: a latency from one iteration brings all others, and each start, within 1 %") {
  if (!is_here()) return;
  const std::vector<json> files = ranks();
  const Seconds latency = latency_of(iteration_of(files, 2));
  CHECK(latency.value() == doctest::Approx(0.7e-3).epsilon(0.1));
  for (int number = 3; number <= kIterations; ++number) {
    CAPTURE(number);
    const Iteration iteration = iteration_of(files, number);
    const Rerun run = rerun(iteration, latency);
    CHECK(std::abs(error_of(run, iteration)) < 0.01);
    CHECK(run.farthest < 0.01 * end_of(iteration));
  }
}

}  // namespace
}  // namespace stagecraft::measured_timeline_test
