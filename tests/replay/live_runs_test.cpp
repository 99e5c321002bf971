// Random runs whose layers move between stages while training goes on, in both engines. The time of each operation
// tells which layers it is of, so that nothing here relies on how the plans were lowered.
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/replay/replay_plan.hpp"
#include "tests/random_cases.hpp"
#include "tests/replay/layer_times.hpp"
#include "tests/replay/switching.hpp"
#include "tests/schedule/chains.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

using testing::cut_at;
using testing::Following;
using testing::kSameDate;
using testing::kUnit;
using testing::layers_in;
using testing::pairwise;

constexpr std::int64_t kLiveMicrobatches = 120;

/// A run with several plans, which have the same stages.
struct RandomRun {
  LayerGraph graph;
  Platform platform;
  std::vector<Following> plans;  ///< the first one starts the run

  [[nodiscard]] std::size_t layers() const { return graph.layers.size(); }
  [[nodiscard]] std::size_t stages() const { return plans.front().plan.stages.size(); }
  /// To the later plans.
  [[nodiscard]] LowerOptions switching() const {
    return testing::switching({plans.begin() + 1, plans.end()}, Migrating::Live);
  }
};

class RandomRuns {
 public:
  explicit RandomRuns(std::uint32_t seed) : random_(seed) {}

  /// The same with tensors of other sizes.
  RandomRun next_with_tensors() {
    RandomRun run = next();
    for (Layer& layer : run.graph.layers) layer.output = Bytes(static_cast<std::int64_t>(draw(0, 6) * 40));
    for (LayerEdge& edge : run.graph.edges) edge.bytes = run.graph.layers[edge.from].output;
    return run;
  }

  RandomRun next() {
    RandomRun run;
    const std::size_t stages = draw(2, 5);
    const std::size_t layers = stages + draw(1, 7);
    run.graph = testing::chain(layers, 1.0, 2.0, static_cast<std::int64_t>(draw(0, 2) * 40));
    testing::tell_layers_by_time(run.graph);
    for (Layer& layer : run.graph.layers) {
      layer.parameters = Bytes(static_cast<std::int64_t>(draw(0, 3) * 30));
      layer.stash = Bytes(static_cast<std::int64_t>(draw(0, 3) * 50));
      layer.checkpoint = Bytes(layer.stash.value() / 5);
    }
    PlatformSpec spec = pairwise(stages, std::pow(10.0, static_cast<double>(draw(1, 4))), 0.0).spec;
    if (draw(0, 1) == 1) spec.device_kinds[DeviceKindId(0)].update_bandwidth = BytesPerSecond(1e4);
    run.platform = build_platform(std::move(spec));
    add_plans(run, stages);
    return run;
  }

 private:
  std::size_t draw(std::size_t least, std::size_t most) {
    return std::uniform_int_distribution<std::size_t>(least, most)(random_);
  }

  void add_plans(RandomRun& run, std::size_t stages) {
    std::vector<std::size_t> cuts;
    for (std::size_t s = 1; s < stages; ++s) cuts.push_back(s * run.layers() / stages);
    const auto rounds = static_cast<std::int64_t>(draw(1, 3));
    std::int64_t from = 0;
    for (std::size_t k = draw(2, 4); k > 0; --k) {
      Plan plan = cut_at(cuts, run.layers(), kLiveMicrobatches);
      plan.rounds_per_update = rounds;
      for (Stage& stage : plan.stages) recompute_some(stage);
      run.plans.push_back({from, std::move(plan)});
      from += static_cast<std::int64_t>(draw(5, 40));
      for (std::size_t& cut : cuts) move(cut, cuts, run.layers());
    }
  }

  /// By one layer mostly, so that stages keep some.
  void move(std::size_t& cut, const std::vector<std::size_t>& cuts, std::size_t layers) {
    const std::size_t before = &cut == cuts.data() ? 0 : *(&cut - 1);
    const std::size_t after = &cut == &cuts.back() ? layers : *(&cut + 1);
    const std::size_t reach = draw(1, 2);
    const std::size_t to = cut + draw(0, 2 * reach);
    if (to > before + reach && to < after + reach) cut = to - reach;
  }

  void recompute_some(Stage& stage) {
    for (LayerId layer : stage.layers) {
      const std::size_t choice = draw(0, 5);
      auto* open = stage.memory.empty() ? nullptr : &std::get<Recompute>(stage.memory.back());
      const bool joins = open != nullptr && open->layers.back().value() + 1 == layer.value();
      if (choice == 0 && joins) open->layers.push_back(layer);
      if (choice == 1) stage.memory.emplace_back(Recompute{{layer}});
    }
  }

  std::mt19937 random_;
};

struct LayerPass {
  Seconds start;
  Seconds end;
  PlaceId device;
};

/// What a run did with one layer.
struct PassesOfLayer {
  std::map<std::uint32_t, LayerPass> forwards;
  std::map<std::uint32_t, LayerPass> backwards;
};

/// The copies that bring layers from one device to another, for one plan of the run.
struct HandedOver {
  std::vector<TimelineEntry> weights;  ///< in the order of their versions
  Seconds state_at;                    ///< when the optimizer's state has come, the last of all
};

/// Checks a run against the four invariants of vPipe's specification, from its timeline alone.
class LiveOracle {
 public:
  LiveOracle(const RandomRun& run, const Report& report, const Timeline& timeline)
      : run_(run), timeline_(timeline), passes_(run.layers()) {
    for (const ReplanQuestion& question : report.course.questions) {
      if (question.first) changes_.push_back(question);
    }
    rounds_ = run.plans.front().plan.rounds_per_update;
  }

  void check() {
    take_passes();
    for (std::size_t layer = 0; layer < run_.layers(); ++layer) {
      CAPTURE(layer);
      const PassesOfLayer& passes = passes_[layer];
      REQUIRE(std::ssize(passes.forwards) == kLiveMicrobatches);
      REQUIRE(std::ssize(passes.backwards) == kLiveMicrobatches);
      for (std::uint32_t m = 0; m < kLiveMicrobatches; ++m) check_microbatch(passes, m);
    }
  }

 private:
  /// I1: each layer has at most one forward and one backward of a microbatch.
  void take_passes() {
    for (const TimelineEntry& entry : timeline_) {
      const bool is_forward = entry.kind == OpKind::Forward;
      if (!is_forward && entry.kind != OpKind::Backward) continue;
      for (std::size_t layer : layers_in(entry.end - entry.start, is_forward ? kUnit : 2 * kUnit, run_.layers())) {
        auto& passes = is_forward ? passes_[layer].forwards : passes_[layer].backwards;
        const bool is_new = passes.try_emplace(entry.microbatch, LayerPass{entry.start, entry.end, entry.from}).second;
        REQUIRE(is_new);
      }
    }
  }

  /// The plan that the microbatch's forward follows: how many changes there have been.
  [[nodiscard]] std::size_t plan_of(std::uint32_t microbatch) const {
    const auto later = std::ranges::find_if(changes_, [&](const auto& change) { return *change.first > microbatch; });
    return static_cast<std::size_t>(later - changes_.begin());
  }

  /// How the plan, not the first one, has got its layers from `from` to `to`: versions of the weights in the order of
  /// their numbers, then the optimizer's state. Copies of stashes belong to earlier microbatches.
  [[nodiscard]] HandedOver handed_over(std::size_t plan, PlaceId from, PlaceId to) const {
    HandedOver found;
    for (const TimelineEntry& entry : timeline_) {
      if (entry.kind != OpKind::Migration || entry.from != from || entry.to != to) continue;
      const bool is_stash = entry.microbatch < *changes_[plan - 1].first && changes_[plan - 1].live;
      if (entry.stage.value() / run_.stages() == plan && !is_stash) found.weights.push_back(entry);
    }
    std::ranges::sort(found.weights, {}, &TimelineEntry::id);
    if (found.weights.empty()) return found;  // the pipeline has drained, and the layers have no weights
    found.state_at = found.weights.back().end;
    found.weights.pop_back();
    return found;
  }

  /// The weights with which the layer has come to a device: as many updates as whole rounds of backwards before.
  [[nodiscard]] std::int64_t last_version(const PassesOfLayer& passes, std::uint32_t first, PlaceId to) const {
    std::uint32_t m = first;
    while (m > 0 && passes.backwards.at(m - 1).device == to) --m;
    return m / rounds_;
  }

  /// The updates that the weights have which a forward uses, from what has come to its device by its start.
  [[nodiscard]] std::int64_t version(const PassesOfLayer& passes, std::uint32_t microbatch) const {
    const LayerPass& forward = passes.forwards.at(microbatch);
    const auto is_done = [&](const auto& pass) { return pass.second.end <= forward.start + kSameDate; };
    const std::int64_t all = std::ranges::count_if(passes.backwards, is_done) / rounds_;
    const std::size_t plan = plan_of(microbatch);
    if (plan == 0) return all;
    const ReplanQuestion& change = changes_[plan - 1];
    const PlaceId before = passes.forwards.at(*change.first - 1).device;
    if (before == forward.device) return all;
    const HandedOver copied = handed_over(plan, before, forward.device);
    if (copied.state_at <= forward.start + kSameDate) return all;
    REQUIRE(change.live);
    std::int64_t found = last_version(passes, *change.first, forward.device);
    for (auto copy = copied.weights.rbegin(); copy->end > forward.start + kSameDate; ++copy, --found) {
      REQUIRE(copy + 1 != copied.weights.rend());
    }
    return found;
  }

  void check_microbatch(const PassesOfLayer& passes, std::uint32_t m) const {
    CAPTURE(m);
    const LayerPass& forward = passes.forwards.at(m);
    const LayerPass& backward = passes.backwards.at(m);
    CHECK(backward.start + kSameDate >= forward.end);
    if (forward.device != backward.device) check_handed_over(passes, m);
    // I3: updates in the order of the microbatches, on one device after the other.
    if (m > 0 && passes.backwards.at(m - 1).device == backward.device) {
      CHECK(backward.start + kSameDate >= passes.backwards.at(m - 1).end);
    } else if (m > 0) {
      check_first_update(passes, m);
    }
    // I4: never staler than on the stage before the change, or than on the stage after it.
    const std::size_t plan = plan_of(m);
    std::int64_t most = lag(forward.device);
    if (plan > 0) most = std::max(most, lag(passes.forwards.at(*changes_[plan - 1].first - 1).device));
    CHECK(std::int64_t{m} - version(passes, m) * rounds_ <= most + rounds_ - 1);
  }

  /// I3: where the layer has come to another device, no update starts before the state of the one before is there.
  void check_first_update(const PassesOfLayer& passes, std::uint32_t m) const {
    const auto change = std::ranges::find_if(changes_, [&](const auto& each) { return *each.first >= m; });
    if (change == changes_.end() || !change->live) return;
    const auto plan = static_cast<std::size_t>(change - changes_.begin()) + 1;
    const PlaceId to = passes.backwards.at(m).device;
    const HandedOver copied = handed_over(plan, passes.backwards.at(m - 1).device, to);
    const auto last = m + static_cast<std::uint32_t>(rounds_) - 1;
    if (copied.weights.empty() || last >= kLiveMicrobatches) return;
    const Seconds done = passes.backwards.at(last).end;
    const auto update = std::ranges::find_if(timeline_, [&](const TimelineEntry& entry) {
      return entry.kind == OpKind::Update && entry.from == to && entry.start + kSameDate >= done;
    });
    if (update != timeline_.end()) CHECK(update->start + kSameDate >= copied.state_at);
  }

  /// A stage's microbatches in flight when it starts another forward. Stage s is on device s.
  [[nodiscard]] std::int64_t lag(PlaceId device) const {
    return static_cast<std::int64_t>(run_.stages()) - 1 - static_cast<std::int64_t>(device.value());
  }

  /// I2: the stash has come, and the weights that the forward has used.
  void check_handed_over(const PassesOfLayer& passes, std::uint32_t m) const {
    const LayerPass& forward = passes.forwards.at(m);
    const LayerPass& backward = passes.backwards.at(m);
    const auto stash = std::ranges::find_if(timeline_, [&](const TimelineEntry& entry) {
      return entry.kind == OpKind::Migration && entry.microbatch == m && entry.from == forward.device &&
             entry.to == backward.device;
    });
    REQUIRE(stash != timeline_.end());
    CHECK(stash->start + kSameDate >= forward.end);
    CHECK(stash->end <= backward.start + kSameDate);
    const std::size_t plan = plan_of(m) + 1;
    const ReplanQuestion& change = changes_[plan - 1];
    REQUIRE(change.live);
    const HandedOver copied = handed_over(plan, forward.device, backward.device);
    const std::int64_t behind = last_version(passes, *change.first, backward.device) - version(passes, m);
    REQUIRE(behind >= 0);
    REQUIRE(behind < std::ssize(copied.weights));
    CHECK((copied.weights.end() - 1 - behind)->end <= backward.start + kSameDate);
  }

  const RandomRun& run_;
  const Timeline& timeline_;
  std::vector<PassesOfLayer> passes_;
  std::vector<ReplanQuestion> changes_;
  std::int64_t rounds_ = 1;
};

using Balance = std::map<std::pair<PlaceId, MemoryCategory>, Bytes>;

/// What is in memory at the end of a run.
Report evaluate_into(const RandomRun& run, const Plan& plan, const LowerOptions& options, Timeline& timeline,
                     Balance& left) {
  const SpanSink collect = collect_into(timeline);
  Report report = evaluate_plan(run.graph, run.platform, plan, options, {},
                                [&](const Span& span, const Op& op, std::span<const MemoryDelta> deltas) {
                                  collect(span, op, deltas);
                                  for (const MemoryDelta& delta : deltas)
                                    left[{delta.place, delta.category}] += delta.bytes;
                                });
  std::erase_if(left, [](const auto& entry) { return entry.second == Bytes(0); });
  return report;
}

/// Gives devices just the memory that the plans need.
void limit_memory(RandomRun& run) {
  Bytes most;
  for (const Following& each : run.plans) {
    for (const DeviceReport& device : evaluate_plan(run.graph, run.platform, each.plan).devices) {
      most = std::max(most, device.memory.peak);
    }
  }
  PlatformSpec spec = run.platform.spec;
  spec.device_kinds[DeviceKindId(0)].memory = most;
  run.platform = build_platform(std::move(spec));
}

}  // namespace

TEST_CASE(
    "live runs: each layer has one forward and one backward of each microbatch, with the weights that it should") {
  RandomRuns runs(31);
  int live = 0;
  int drained = 0;
  for (int n = 0; n < testing::random_cases(1000); ++n) {
    CAPTURE(n);
    const RandomRun run = runs.next();
    const LowerOptions options = run.switching();
    Timeline timeline;
    Balance left;
    const Report report = evaluate_into(run, run.plans.front().plan, options, timeline, left);
    LiveOracle(run, report, timeline).check();
    std::size_t changes = 0;
    for (const ReplanQuestion& question : report.course.questions) {
      if (!question.first) continue;
      ++changes;
      ++(question.live ? live : drained);
    }
    // In the end memory holds what the last plan keeps.
    Timeline unused;
    Balance alone;
    static_cast<void>(evaluate_into(run, run.plans[changes].plan, {}, unused, alone));
    CHECK(left == alone);

    ReplayOptions wishes;
    wishes.record = RecordPart::All;
    const ReplayOutcome replayed = replay_plan(run.graph, run.platform, run.plans.front().plan, options, {}, wishes);
    LiveOracle(run, replayed.report, replayed.record.timeline).check();
  }
  CHECK(live > drained);
  CHECK(drained > 0);
}

// Receivers first save some of their stash, or the pipeline drains.
TEST_CASE("live runs: layers that move never need memory that the plans do not") {
  RandomRuns runs(32);
  int live = 0;
  int drained = 0;
  for (int n = 0; n < testing::random_cases(1000); ++n) {
    CAPTURE(n);
    RandomRun run = runs.next();
    limit_memory(run);
    Timeline timeline;
    Balance left;
    const Report report = evaluate_into(run, run.plans.front().plan, run.switching(), timeline, left);
    CHECK(!report.out_of_memory());
    LiveOracle(run, report, timeline).check();
    for (const ReplanQuestion& question : report.course.questions) {
      if (question.first) ++(question.live ? live : drained);
    }
  }
  CHECK(live > drained);
  CHECK(drained > 0);
}

// A stage that gives layers away may need larger buffers at its new cuts.
TEST_CASE("live runs: nor do the tensors at other cuts, unless the pipeline drains") {
  RandomRuns runs(33);
  int live = 0;
  for (int n = 0; n < testing::random_cases(1000); ++n) {
    CAPTURE(n);
    RandomRun run = runs.next_with_tensors();
    limit_memory(run);
    const Report report = evaluate_plan(run.graph, run.platform, run.plans.front().plan, run.switching());
    const auto drained = [](const ReplanQuestion& question) { return question.first && !question.live; };
    if (std::ranges::any_of(report.course.questions, drained)) continue;
    ++live;
    CHECK(!report.out_of_memory());
  }
  CHECK(live > testing::random_cases(300));
}

}  // namespace stagecraft
