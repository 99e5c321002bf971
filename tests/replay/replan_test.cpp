// A plan that follows another in mid-run, in both engines. A hand-made planner moves layer 1 from the first device to
// the second; what it has to keep is written in vPipe's specification as four invariants.
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/replay/replay_plan.hpp"
#include "tests/schedule/chains.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

namespace stagecraft {
namespace {

using testing::chain;
using testing::pairwise;
using testing::straight;

constexpr std::int64_t kParameters = 1'000'000;

/// Four layers on two devices, cut behind layer `first - 1`.
Plan two_stages(std::size_t first, std::int64_t microbatches, const std::string& schedule) {
  Plan plan = straight(2, microbatches, schedule);
  plan.stages[0].layers.clear();
  plan.stages[1].layers.clear();
  for (std::size_t l = 0; l < 4; ++l) plan.stages[l < first ? 0 : 1].layers.emplace_back(l);
  return plan;
}

/// Tensors are empty, so that none meets the copy on its link and both engines agree.
LayerGraph graph() { return chain(4, 1.0, 2.0, 0, 500, kParameters); }

Platform platform() {
  PlatformSpec spec = pairwise(2, 1e6, 0.0).spec;
  spec.device_kinds[DeviceKindId(0)].update_bandwidth = BytesPerSecond(1e8);
  return build_platform(std::move(spec));
}

/// Has `next` follow once, at the first question from microbatch `from` on; `at` tells where.
LowerOptions switching_to(const Plan& next, std::int64_t from, std::int64_t& at) {
  const auto start = [next, from, &at] {
    return [next, from, &at, done = false](const Observation& seen, const RunPosition& position) mutable {
      if (done || position.earliest < from) return ReplanAnswer();
      done = true;
      CHECK(seen.now > Seconds(0));
      at = position.earliest;
      return ReplanAnswer{.change = PlanSwitch{next, position.earliest}};
    };
  };
  LowerOptions options;
  options.window_operations = 8;
  options.replanning = Replanning{.start = start, .window = 1};
  return options;
}

struct Pass {
  Seconds start;
  Seconds end;
  PlaceId device;
};

/// The operations of one layer in a run, microbatch by microbatch.
struct LayerHistory {
  std::map<std::uint32_t, std::vector<Pass>> forwards;
  std::map<std::uint32_t, std::vector<Pass>> backwards;
  std::vector<Pass> updates;  ///< in order of time
};

/// Stages of the run are those of both plans, one after the other.
std::vector<LayerHistory> histories(const Timeline& timeline, const Plan& before, const Plan& after) {
  std::vector<Stage> stages = before.stages;
  stages.insert(stages.end(), after.stages.begin(), after.stages.end());
  std::vector<LayerHistory> layers(4);
  for (const TimelineEntry& entry : timeline) {
    if (entry.stage.is_none() || !is_compute(entry.kind)) continue;
    for (LayerId layer : stages[entry.stage.value()].layers) {
      LayerHistory& history = layers[layer.value()];
      const Pass pass{entry.start, entry.end, entry.from};
      if (entry.kind == OpKind::Forward) history.forwards[entry.microbatch].push_back(pass);
      if (entry.kind == OpKind::Backward) history.backwards[entry.microbatch].push_back(pass);
      if (entry.kind == OpKind::Update) history.updates.push_back(pass);
    }
  }
  for (LayerHistory& history : layers) std::ranges::sort(history.updates, {}, &Pass::start);
  return layers;
}

/// Updates that the weights of a forward lack: microbatches before it whose update they do not have.
std::int64_t staleness(const LayerHistory& history, std::uint32_t microbatch) {
  const Seconds begin = history.forwards.at(microbatch).front().start;
  const auto made = std::ranges::count_if(history.updates, [&](const Pass& update) { return update.end <= begin; });
  return static_cast<std::int64_t>(microbatch) - made;
}

const TimelineEntry* migration_of(const Timeline& timeline) {
  const auto found = std::ranges::find(timeline, OpKind::Migration, &TimelineEntry::kind);
  return found == timeline.end() ? nullptr : &*found;
}

void check_invariants(const Timeline& timeline, const Plan& before, const Plan& after, std::int64_t microbatches,
                      std::int64_t at) {
  const std::vector<LayerHistory> layers = histories(timeline, before, after);
  for (const LayerHistory& history : layers) {
    // I1: one forward and one backward of each microbatch; with I2, on one device, whose stage stashes the weights.
    REQUIRE(history.forwards.size() == static_cast<std::size_t>(microbatches));
    REQUIRE(history.backwards.size() == static_cast<std::size_t>(microbatches));
    for (const auto& [microbatch, passes] : history.forwards) {
      REQUIRE(passes.size() == 1);
      REQUIRE(history.backwards.at(microbatch).size() == 1);
      CHECK(passes.front().device == history.backwards.at(microbatch).front().device);
    }
    // I3: the k-th update is that of microbatch k, made where its backward ran, and one after the other.
    REQUIRE(history.updates.size() == static_cast<std::size_t>(microbatches));
    for (std::uint32_t k = 0; k < history.updates.size(); ++k) {
      CHECK(history.updates[k].device == history.backwards.at(k).front().device);
      CHECK(history.updates[k].start >= history.backwards.at(k).front().end);
      if (k > 0) CHECK(history.updates[k].start >= history.updates[k - 1].end);
    }
    // I4: never staler than before the switch.
    std::int64_t worst = 0;
    for (std::uint32_t k = 0; k < at; ++k) worst = std::max(worst, staleness(history, k));
    for (auto k = static_cast<std::uint32_t>(at); k < microbatches; ++k) CHECK(staleness(history, k) <= worst);
  }
  // The copy lies between the last update at the old holder and the first forward at the new one.
  const TimelineEntry* copy = migration_of(timeline);
  REQUIRE(copy != nullptr);
  const LayerHistory& moved = layers[1];
  CHECK(copy->start >= moved.updates[static_cast<std::size_t>(at - 1)].end);
  CHECK(copy->end <= moved.forwards.at(static_cast<std::uint32_t>(at)).front().start);
  CHECK(copy->bytes == Bytes(3 * kParameters));  // weights and two copies of optimizer state
}

}  // namespace

TEST_CASE("re-plan: a plan follows another in an asynchronous run, and the four invariants hold in both engines") {
  const std::int64_t microbatches = 60;
  const Plan before = two_stages(2, microbatches, "pipedream");
  const Plan after = two_stages(1, 0, "pipedream");
  std::int64_t at = 0;
  Timeline timeline;
  const Report evaluated =
      evaluate_plan(graph(), platform(), before, switching_to(after, 20, at), {}, collect_into(timeline));
  REQUIRE(at >= 20);
  REQUIRE(at < 40);
  check_invariants(timeline, before, after, microbatches, at);
  REQUIRE(evaluated.course.replans.size() == 1);
  CHECK(evaluated.course.replans[0].microbatch == at);
  REQUIRE(evaluated.course.migrations.size() == 1);
  CHECK(evaluated.course.migrations[0].bytes == Bytes(3 * kParameters));
  CHECK(evaluated.devices[0].stages == std::vector<StageId>{StageId(0), StageId(2)});

  ReplayOptions wishes;
  wishes.record = RecordPart::All;
  const ReplayOutcome replayed = replay_plan(graph(), platform(), before, switching_to(after, 20, at), {}, wishes);
  check_invariants(replayed.record.timeline, before, after, microbatches, evaluated.course.replans[0].microbatch);
  CHECK(replayed.report.period->value() == doctest::Approx(evaluated.period->value()).epsilon(1e-9));
  CHECK(replayed.report.course.replans == evaluated.course.replans);
  CHECK(replayed.report.operations == evaluated.operations);
  for (std::size_t i = 0; i < 2; ++i) CHECK(replayed.report.devices[i].memory.peak == evaluated.devices[i].memory.peak);
}

// Two replicas take turns on the first stage: layer 0, whose weights they update after each round. Then the third
// device takes all layers.
TEST_CASE("re-plan: replicas make the update of their last round before their weights are copied") {
  const std::int64_t microbatches = 60;
  PlatformSpec spec = pairwise(3, 1e6, 0.0).spec;
  spec.device_kinds[DeviceKindId(0)].update_bandwidth = BytesPerSecond(1e6);
  const Platform cluster = build_platform(std::move(spec));
  Plan before = straight(2, microbatches, "pipedream");
  before.stages[0].replicas = {DeviceId(0), DeviceId(1)};
  before.stages[1].replicas = {DeviceId(2)};
  Plan after = straight(1, 0, "pipedream");
  after.stages[0].layers = {LayerId(0), LayerId(1)};
  after.stages[0].replicas = {DeviceId(2)};
  std::int64_t at = 0;
  Timeline timeline;
  const Report report = evaluate_plan(chain(2, 1.0, 2.0, 0, 500, kParameters), cluster, before,
                                      switching_to(after, 20, at), {}, collect_into(timeline));
  REQUIRE(at % 2 == 0);
  const auto updates = std::ranges::count_if(
      timeline, [&](const TimelineEntry& entry) { return entry.kind == OpKind::Update && entry.from == PlaceId(0); });
  CHECK(updates == at / 2);
  const TimelineEntry* copy = migration_of(timeline);
  REQUIRE(copy != nullptr);
  for (const TimelineEntry& entry : timeline) {
    if (entry.kind == OpKind::Update && entry.from == PlaceId(0)) CHECK(entry.end <= copy->start);
  }
}

TEST_CASE("re-plan: a synchronous run changes its plan between two iterations") {
  // One iteration of 1F1B of two stages with 4 microbatches, without transfers: cut 2 | 2: (4 + 1) · 6 s = 30 s. Cut
  // 1 | 3 is bound by its second stage: 4 · 9 s, behind a forward and before a backward of 1 s and 2 s: 39 s.
  const Platform cluster = pairwise(2, 1e6, 0.0);
  std::int64_t at = 0;
  LowerOptions options = switching_to(two_stages(1, 4, "1f1b"), 4, at);
  options.iterations = 4;
  const Report report = evaluate_plan(graph(), cluster, two_stages(2, 4, "1f1b"), options);
  REQUIRE(report.iterations.size() == 4);
  const auto changed = static_cast<std::size_t>(at / 4);
  REQUIRE(at % 4 == 0);
  REQUIRE(changed >= 1);
  REQUIRE(changed < 4);
  for (std::size_t i = 0; i < changed; ++i) CHECK(report.iterations[i].value() == doctest::Approx(30).epsilon(1e-12));
  // The first iteration of the new plan waits for the copy: 3e6 B at 1e6 B/s, 3 s, of which its first forward on the
  // other device hides 1 s.
  CHECK(report.iterations[changed].value() == doctest::Approx(39 + 2).epsilon(1e-12));
  for (std::size_t i = changed + 1; i < 4; ++i)
    CHECK(report.iterations[i].value() == doctest::Approx(39).epsilon(1e-12));
}

TEST_CASE("re-plan: a plan that follows itself moves nothing, and memory is what one plan needs") {
  const Plan plan = two_stages(2, 60, "pipedream");
  std::int64_t at = 0;
  const Report changed = evaluate_plan(graph(), platform(), plan, switching_to(plan, 20, at));
  const Report alone = evaluate_plan(graph(), platform(), plan);
  CHECK(changed.course.replans.size() == 1);
  CHECK(changed.course.migrations.empty());
  for (std::size_t i = 0; i < 2; ++i) CHECK(changed.devices[i].memory.peak == alone.devices[i].memory.peak);
}

}  // namespace stagecraft
