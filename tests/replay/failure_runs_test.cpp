// Random runs whose devices fail and are left, in both engines. The time of each operation tells which layers it is of,
// so that nothing here relies on how the plans were lowered.
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/replay/replay_plan.hpp"
#include "tests/random_cases.hpp"
#include "tests/replay/layer_times.hpp"
#include "tests/replay/saved_progress.hpp"
#include "tests/schedule/chains.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

using testing::kSameDate;
using testing::kUnit;
using testing::layers_in;

constexpr std::int64_t kIterations = 8;
constexpr std::int64_t kOfIteration = 6;  ///< microbatches
constexpr std::int64_t kAll = kIterations * kOfIteration;

class RandomChoice {
 public:
  explicit RandomChoice(std::uint32_t seed) : random_(seed) {}
  std::size_t draw(std::size_t least, std::size_t most) {
    return std::uniform_int_distribution<std::size_t>(least, most)(random_);
  }
  template <class Items>
  void shuffle(Items& items) {
    std::shuffle(items.begin(), items.end(), random_);
  }

 private:
  std::mt19937 random_;
};

/// A plan whose stages are on some of the devices. Some stages have two replicas.
Plan plan_on(std::vector<DeviceId> devices, std::size_t layers, bool synchronous, RandomChoice& choice) {
  choice.shuffle(devices);
  std::vector<std::size_t> replicas;
  for (std::size_t used = 0; used < devices.size() && replicas.size() < layers;) {
    if (used > 0 && choice.draw(0, 5) == 0) break;  // a device is spare
    replicas.push_back(std::min(choice.draw(1, 2), devices.size() - used));
    used += replicas.back();
  }
  Plan plan = testing::straight(replicas.size(), synchronous ? kOfIteration : kAll, synchronous ? "1f1b" : "pipedream");
  std::size_t layer = 0;
  std::size_t next = 0;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    Stage& stage = plan.stages[s];
    stage.layers.clear();
    const std::size_t left = plan.stages.size() - s - 1;
    const std::size_t end = left == 0 ? layers : choice.draw(layer + 1, layers - left);
    for (; layer < end; ++layer) stage.layers.emplace_back(layer);
    stage.replicas.clear();
    for (std::size_t r = 0; r < replicas[s]; ++r) stage.replicas.emplace_back(devices[next++]);
  }
  return plan;
}

/// A run with its events.
struct FailingRun {
  LayerGraph graph;
  Platform platform;
  bool synchronous = false;
  Plan first;
  Events events;
  std::optional<std::int64_t> checkpoint;
  Seconds leave;
  std::uint32_t seed = 0;
  std::shared_ptr<std::vector<Plan>> plans =
      std::make_shared<std::vector<Plan>>();  ///< of the last evaluation, in order

  [[nodiscard]] std::size_t layers() const { return graph.layers.size(); }
  [[nodiscard]] bool saves() const { return seed % 4 >= 2; }  ///< for a time at each checkpoint

  /// Answers a plan on the devices that are up, at every question but some.
  [[nodiscard]] ReplanAnswer answer(const Observation& seen, const RunPosition& position, RandomChoice& choice) const {
    std::vector<DeviceId> up;
    for (DeviceId id : indices(platform.devices)) {
      if (std::ranges::count(seen.down, id, &DownObservation::device) == 0) up.push_back(id);
    }
    const std::size_t whim = choice.draw(0, 9);
    if (up.empty() || whim == 0 || (position.cause == ReplanQuestion::Cause::Window && whim < 7)) return {};
    Plan plan = plan_on(up, layers(), synchronous, choice);
    plans->push_back(plan);
    return {.change = PlanSwitch{std::move(plan), position.earliest}};
  }

  [[nodiscard]] LowerOptions options() const {
    LowerOptions lower;
    lower.iterations = synchronous ? kIterations : 1;
    lower.report_window = 7;
    const auto start = [this] {
      plans->assign(1, first);
      return [this, choice = RandomChoice(seed)](const Observation& seen, const RunPosition& position) mutable {
        return answer(seen, position, choice);
      };
    };
    lower.replanning = Replanning{.start = start,
                                  .window = 5,
                                  .migrating = seed % 2 == 0 ? Migrating::Live : Migrating::StopCopy,
                                  .restart = Seconds(seed % 3 == 0 ? 0.0 : 0.5),
                                  .leave = leave,
                                  .checkpoint = checkpoint,
                                  .save = Seconds(saves() ? 0.7 : 0.0)};
    return lower;
  }
};

FailingRun random_run(std::uint32_t seed) {
  RandomChoice choice(seed);
  FailingRun run;
  run.seed = seed;
  run.synchronous = choice.draw(0, 2) == 0;
  const std::size_t devices = choice.draw(2, 5);
  run.graph = testing::chain(choice.draw(2, 6), 1.0, 2.0, static_cast<std::int64_t>(choice.draw(0, 2) * 40));
  testing::tell_layers_by_time(run.graph);
  for (Layer& layer : run.graph.layers) {
    layer.parameters = Bytes(static_cast<std::int64_t>(choice.draw(0, 3) * 30));
    layer.stash = Bytes(static_cast<std::int64_t>(choice.draw(0, 3) * 50));
  }
  PlatformSpec spec = testing::pairwise(devices, std::pow(10.0, static_cast<double>(choice.draw(2, 4))), 0.0).spec;
  if (choice.draw(0, 1) == 1) spec.device_kinds[DeviceKindId(0)].update_bandwidth = BytesPerSecond(1e4);
  run.platform = build_platform(std::move(spec));
  std::vector<DeviceId> all;
  for (DeviceId id : indices(run.platform.devices)) all.push_back(id);
  run.first = plan_on(all, run.layers(), run.synchronous, choice);
  if (choice.draw(0, 2) > 0) run.checkpoint = choice.draw(1, 20);
  if (choice.draw(0, 1) == 1) run.leave = Seconds(0.1 * static_cast<double>(choice.draw(1, 10)));
  LowerOptions alone;
  alone.iterations = run.synchronous ? kIterations : 1;
  const Seconds length = evaluate_plan(run.graph, run.platform, run.first, alone).end;
  for (std::size_t n = choice.draw(1, 4); n > 0; --n) {
    Event event;
    event.at = length * (static_cast<double>(choice.draw(0, 1100)) / 1000.0);
    event.change =
        Failure{DeviceId(choice.draw(0, devices - 1)), length * (static_cast<double>(choice.draw(1, 1000)) / 1000.0)};
    run.events.push_back(event);
  }
  return run;
}

struct GivenUp {
  Seconds at;
  std::int64_t goes_on_with = 0;
};

/// A pass of one layer that has ended.
struct EndedPass {
  Seconds start;
  Seconds end;
};

/// Checks a run from its timeline alone.
class FailureOracle {
 public:
  FailureOracle(const FailingRun& run, const Report& report, const Timeline& timeline)
      : run_(run), report_(report), timeline_(timeline), passes_(run.layers()) {
    for (const TimelineEntry& entry : timeline) {
      if (entry.kind == OpKind::Abandon) given_up_.push_back({entry.start, std::int64_t{entry.microbatch}});
    }
  }

  /// Returns how often everything was given up.
  std::size_t check() {
    take_passes();
    for (const PassesOfLayer& layer : passes_) {
      for (std::uint32_t m = 0; m < kAll; ++m) check_microbatch(layer, m);
    }
    check_failures();
    check_windows();
    check_where_it_goes_on();
    return given_up_.size();
  }

 private:
  struct PassesOfLayer {
    std::map<std::uint32_t, std::vector<EndedPass>> forwards;
    std::map<std::uint32_t, std::vector<EndedPass>> backwards;
  };

  void take_passes() {
    for (const TimelineEntry& entry : timeline_) {
      const bool is_forward = entry.kind == OpKind::Forward;
      if (entry.aborted || (!is_forward && entry.kind != OpKind::Backward)) continue;
      for (std::size_t layer : layers_in(entry.end - entry.start, is_forward ? kUnit : 2 * kUnit, run_.layers())) {
        auto& passes = is_forward ? passes_[layer].forwards : passes_[layer].backwards;
        passes[entry.microbatch].push_back({entry.start, entry.end});
      }
    }
  }

  /// When the microbatch was given up for the last time.
  [[nodiscard]] Seconds last_given_up(std::uint32_t microbatch) const {
    Seconds last(-1.0);
    for (const GivenUp& each : given_up_) {
      if (each.goes_on_with <= microbatch) last = std::max(last, each.at);
    }
    return last;
  }

  /// Of all passes of a microbatch exactly one counts, and no later failure comes before it has ended.
  [[nodiscard]] EndedPass counted(const std::vector<EndedPass>& passes, std::uint32_t microbatch) const {
    const Seconds begin = last_given_up(microbatch);
    std::vector<EndedPass> after;
    for (const EndedPass& pass : passes) {
      if (pass.start + kSameDate >= begin) {
        after.push_back(pass);
      } else {
        CHECK(pass.end <= begin + kSameDate);
      }
    }
    REQUIRE(after.size() == 1);
    for (const GivenUp& each : given_up_) {
      if (each.goes_on_with > microbatch && each.at > begin) CHECK(after.front().end <= each.at + kSameDate);
    }
    return after.front();
  }

  void check_microbatch(const PassesOfLayer& layer, std::uint32_t m) const {
    CAPTURE(m);
    REQUIRE(layer.forwards.contains(m));
    REQUIRE(layer.backwards.contains(m));
    const EndedPass forward = counted(layer.forwards.at(m), m);
    const EndedPass backward = counted(layer.backwards.at(m), m);
    CHECK(backward.start + kSameDate >= forward.end);
  }

  /// Nothing that ends as it should runs on a device, from it or to it while it is down.
  void check_failures() const {
    for (const Event& event : run_.events) {
      const auto& failure = std::get<Failure>(event.change);
      const PlaceId place = run_.platform.place(failure.device);
      for (const TimelineEntry& entry : timeline_) {
        const bool is_work = is_compute(entry.kind) || is_transfer(entry.kind);
        if (!is_work || entry.aborted || (entry.from != place && entry.to != place)) continue;
        const Seconds begin = std::max(entry.start, event.at);
        const Seconds end = std::min(entry.end, event.at + failure.duration);
        CHECK(end - begin <= kSameDate);
      }
    }
  }

  /// Each microbatch is in one window.
  void check_windows() const {
    std::int64_t next = 0;
    Seconds at;
    for (const WindowReport& window : report_.course.windows) {
      CHECK(window.begin == next);
      CHECK(window.end > window.begin);
      CHECK(window.at >= at);
      next = window.end;
      at = window.at;
    }
    CHECK(next == kAll);
  }

  /// The microbatches whose passes had all ended at that time, since they were given up last before.
  [[nodiscard]] std::int64_t done_at(const GivenUp& when) const {
    const auto is_done = [&](const std::map<std::uint32_t, std::vector<EndedPass>>& passes, std::uint32_t m) {
      Seconds begin(-1.0);
      for (const GivenUp& each : given_up_) {
        if (each.at < when.at && each.goes_on_with <= m) begin = std::max(begin, each.at);
      }
      const auto found = passes.find(m);
      if (found == passes.end()) return false;
      return std::ranges::any_of(found->second, [&](const EndedPass& pass) {
        return pass.start + kSameDate >= begin && pass.end <= when.at + kSameDate;
      });
    };
    std::uint32_t m = 0;
    while (m < kAll &&
           std::ranges::all_of(
               passes_,
               [&](const PassesOfLayer& layer) { return is_done(layer.forwards, m) && is_done(layer.backwards, m); })) {
      ++m;
    }
    return m;
  }

  /// No more is run again than has to be.
  void check_where_it_goes_on() const {
    std::vector<const ReplanQuestion*> changes;
    for (const ReplanQuestion& question : report_.course.questions) {
      if (question.first) changes.push_back(&question);
    }
    REQUIRE(changes.size() == report_.course.replans.size());
    std::size_t failures = 0;
    for (const ReplanQuestion* change : changes) {
      if (change->cause != ReplanQuestion::Cause::Failure) continue;
      REQUIRE(failures < given_up_.size());
      const GivenUp& when = given_up_[failures++];
      const std::int64_t done = done_at(when);
      CHECK(when.goes_on_with == *change->first);
      CHECK(when.goes_on_with <= done);
      const bool is_checkpoint = change->reason.find("checkpoint") != std::string::npos;
      if (is_checkpoint && run_.saves()) CHECK(testing::was_saved(timeline_, when.goes_on_with, when.at));
      std::int64_t lost = is_checkpoint ? *run_.checkpoint : 1;
      lost += run_.synchronous ? 2 * kOfIteration
                               : testing::longest_round(timeline_);  // whose gradients may be on their way
      CHECK(done - when.goes_on_with <= lost);
      if (run_.synchronous) CHECK(when.goes_on_with % kOfIteration == 0);
    }
    CHECK(failures == given_up_.size());
  }

  const FailingRun& run_;
  const Report& report_;
  const Timeline& timeline_;
  std::vector<PassesOfLayer> passes_;
  std::vector<GivenUp> given_up_;
};

using Held = std::map<std::pair<PlaceId, MemoryCategory>, Bytes>;

/// Also returns what is in memory at the end.
Report evaluate_failing(const FailingRun& run, const Plan& plan, const LowerOptions& options, const Events& events,
                        Timeline& timeline, Held& left) {
  const SpanSink collect = collect_into(timeline);
  Report report = evaluate_plan(run.graph, run.platform, plan, options, events,
                                [&](const Span& span, const Op& op, std::span<const MemoryDelta> deltas) {
                                  collect(span, op, deltas);
                                  if (op.kind == OpKind::Abandon) left.clear();
                                  if (span.aborted) return;
                                  for (const MemoryDelta& delta : deltas) {
                                    left[{delta.place, delta.category}] += delta.bytes;
                                  }
                                });
  std::erase_if(left, [](const auto& entry) { return entry.second == Bytes(0); });
  for (auto& [where, bytes] : left) {  // a plan with few microbatches to come keeps fewer versions
    if (where.second == MemoryCategory::Weights) bytes = Bytes(1);
  }
  return report;
}

/// What the last plan of the run holds when it runs alone.
Held held_by_last(const FailingRun& run, const Report& report) {
  std::size_t answers = 0;
  std::size_t last = 0;
  for (const ReplanQuestion& question : report.course.questions) {
    const bool was_withdrawn = question.reason.find("failed before") != std::string::npos;
    if (question.first || was_withdrawn) ++answers;
    if (question.first) last = answers;
  }
  Timeline unused;
  Held held;
  LowerOptions options;
  static_cast<void>(evaluate_failing(run, run.plans->at(last), options, {}, unused, held));
  return held;
}

}  // namespace

TEST_CASE(
    "failures: each microbatch counts once, nothing runs on a device that is down, and memory is what the plan holds") {
  std::size_t given_up = 0;
  std::size_t from_checkpoint = 0;
  std::size_t waited = 0;
  for (std::uint32_t n = 0; n < testing::random_cases(2000U); ++n) {
    CAPTURE(n);
    const FailingRun run = random_run(n);
    Timeline timeline;
    Held left;
    const Report report = evaluate_failing(run, run.first, run.options(), run.events, timeline, left);
    given_up += FailureOracle(run, report, timeline).check();
    CHECK(left == held_by_last(run, report));
    for (const ReplanQuestion& question : report.course.questions) {
      if (question.cause != ReplanQuestion::Cause::Failure) continue;
      if (!question.first) ++waited;
      if (question.first && question.reason.find("checkpoint") != std::string::npos) ++from_checkpoint;
    }

    ReplayOptions wishes;
    wishes.record = RecordPart::All;
    const ReplayOutcome replayed = replay_plan(run.graph, run.platform, run.first, run.options(), run.events, wishes);
    testing::check_saves(timeline);
    static_cast<void>(FailureOracle(run, replayed.report, replayed.record.timeline).check());
  }
  CHECK(given_up > from_checkpoint);
  CHECK(from_checkpoint > 0);
  CHECK(waited > 0);
}

}  // namespace stagecraft
