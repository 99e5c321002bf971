// Several pipelines: who runs which microbatch, whose gradients are exchanged, and that pipelines are replicas by
// another name where they cut the model alike.

#include "sim/analytic/evaluate_plan.hpp"
#include "tests/random_cases.hpp"
#include "tests/schedule/chains.hpp"
#include "tests/schedule/compiled.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

using testing::chain;
using testing::pairwise;
using testing::random_cases;

constexpr std::size_t kPipelineLayers = 6;
constexpr std::int64_t kParameters = 2520;  // all numbers of copies up to ten divide a layer's bytes

std::int64_t number(std::mt19937& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

/// Appends a pipeline of stages with one to two replicas, on devices of its own from `device` on.
void append_pipeline(std::mt19937& random, std::uint32_t pipeline, std::size_t replicas, std::size_t& device,
                     Plan& plan) {
  std::size_t layer = 0;
  while (layer < kPipelineLayers) {
    Stage stage;
    stage.pipeline = pipeline;
    const std::size_t end =
        layer + static_cast<std::size_t>(number(random, 1, static_cast<std::int64_t>(kPipelineLayers - layer)));
    while (layer < end) stage.layers.emplace_back(layer++);
    const std::size_t count = replicas > 0 ? replicas : static_cast<std::size_t>(number(random, 1, 2));
    for (std::size_t i = 0; i < count; ++i) stage.replicas.emplace_back(DeviceId(device++));
    if (replicas == 0 && number(random, 0, 2) == 0) stage.replication = Replication::Split;
    if (number(random, 0, 3) == 0) stage.in_flight = number(random, 1, 3);
    plan.stages.push_back(std::move(stage));
  }
}

struct Pipelines {
  Plan plan;
  std::size_t devices = 0;
};

Pipelines random_pipelines(std::uint32_t seed, const std::string& schedule) {
  std::mt19937 random(seed);
  Pipelines made;
  made.plan.schedule.name = schedule;
  made.plan.microbatch_size = 4;
  const auto pipelines = static_cast<std::uint32_t>(number(random, 2, 3));
  // An asynchronous plan has as many alternating replicas in all stages: they share rounds.
  const auto replicas = static_cast<std::size_t>(schedule == "pipedream" ? number(random, 1, 2) : 0);
  for (std::uint32_t i = 0; i < pipelines; ++i) append_pipeline(random, i, replicas, made.devices, made.plan);
  std::ranges::shuffle(made.plan.stages, random);
  // Within a pipeline the stages stay in the order of their layers.
  std::ranges::stable_sort(made.plan.stages, {}, [](const Stage& stage) { return stage.layers.front(); });
  if (number(random, 0, 1) == 0) made.plan.training.gradient_bucket = Bytes(number(random, 1, 3) * kParameters);
  made.plan.microbatches = number(random, 1, 20);
  if (schedule == "pipedream") {
    made.plan.rounds_per_update = number(random, 1, 2);
    made.plan.microbatches += testing::least_length(made.plan) - 1;
  }
  if (schedule == "gpipe") {
    for (Stage& stage : made.plan.stages) stage.in_flight.reset();
  }
  return made;
}

/// What a run does, counted from its spans.
struct Done {
  std::map<std::pair<std::uint32_t, LayerId>, double> forwards;   ///< by microbatch and layer: shares of it
  std::map<std::pair<std::uint32_t, LayerId>, double> backwards;  ///< likewise
  Bytes all_reduced;
  Report report;
};

Done done_by(const Pipelines& made) {
  Done done;
  const LayerGraph graph = chain(kPipelineLayers, 1, 2, 100, 10, kParameters);
  const Platform platform = pairwise(made.devices);
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> ended;  // shares of backwards, by stage and microbatch
  done.report = evaluate_plan(graph, platform, made.plan, {}, {}, [&](const Span&, const Op& op, auto) {
    if (op.kind == OpKind::AllReduce) done.all_reduced += op.bytes;
    const bool forward = op.kind == OpKind::Forward;
    if (!forward && (op.kind != OpKind::Backward || !op.closes)) return;
    const Stage& stage = made.plan.stages[op.stage.value()];
    const double share =
        stage.replication == Replication::Split ? 1.0 / static_cast<double>(stage.replicas.size()) : 1.0;
    for (LayerId layer : stage.layers) (forward ? done.forwards : done.backwards)[{op.microbatch, layer}] += share;
  });
  return done;
}

/// The bytes that one update's all-reduces send: each of the n copies of a layer sends 2 (n - 1) / n of it.
Bytes bytes_of_an_update(const Plan& plan) {
  Bytes sum;
  for (std::size_t layer = 0; layer < kPipelineLayers; ++layer) {
    std::int64_t copies = 0;
    for (const Stage& stage : plan.stages) {
      const bool holds = std::ranges::find(stage.layers, LayerId(layer)) != stage.layers.end();
      if (holds) copies += static_cast<std::int64_t>(stage.replicas.size());
    }
    sum += Bytes(2 * (copies - 1) * kParameters);
  }
  return sum;
}

TEST_CASE("pipelines: every layer runs every microbatch once, and all its copies exchange gradients, 300 plans") {
  int asynchronous = 0;
  for (int seed = 1; seed <= random_cases(300); ++seed) {
    const std::string schedule =
        std::vector<std::string>{"1f1b", "gpipe", "pipedream"}[static_cast<std::size_t>(seed % 3)];
    CAPTURE(seed);
    const Pipelines made = random_pipelines(static_cast<std::uint32_t>(seed), schedule);
    const Done done = done_by(made);
    const auto expected = static_cast<std::size_t>(made.plan.microbatches) * kPipelineLayers;
    CHECK(done.forwards.size() == expected);
    CHECK(done.backwards.size() == expected);
    CHECK(std::ranges::all_of(done.forwards, [](const auto& each) { return each.second == 1.0; }));
    CHECK(std::ranges::all_of(done.backwards, [](const auto& each) { return each.second == 1.0; }));
    const Bytes each = bytes_of_an_update(made.plan);
    if (schedule != "pipedream") {
      CHECK(done.all_reduced == each);
      continue;
    }
    // An update follows each `rounds_per_update` rounds in which every copy of a layer has had its microbatch.
    ++asynchronous;
    const std::int64_t in_update = round_of(Replicas(made.plan)) * made.plan.rounds_per_update;
    CHECK(done.all_reduced == each * (made.plan.microbatches / in_update));
  }
  CHECK(asynchronous >= random_cases(300) / 3);
}

/// A pipeline of one stage for each device becomes `copies` pipelines, or stages of `copies` replicas.
Plan copied(std::size_t stages, std::size_t copies, bool as_pipelines, const std::string& schedule) {
  Plan plan = testing::straight(stages, 0, schedule);
  for (std::size_t s = 0; s < stages; ++s) {
    plan.stages[s].layers.clear();
    for (std::size_t layer = s * kPipelineLayers / stages; layer < (s + 1) * kPipelineLayers / stages; ++layer)
      plan.stages[s].layers.emplace_back(layer);
    plan.stages[s].replicas.clear();
    for (std::size_t i = 0; i < copies; ++i) plan.stages[s].replicas.emplace_back(DeviceId(s * copies + i));
  }
  if (!as_pipelines) return plan;
  Plan apart = plan;
  apart.stages.clear();
  for (const Stage& whole : plan.stages) {
    for (std::size_t i = 0; i < copies; ++i) {
      Stage& stage = apart.stages.emplace_back(whole);
      stage.replicas = {whole.replicas[i]};
      stage.pipeline = static_cast<std::uint32_t>(i);
    }
  }
  return apart;
}

TEST_CASE("pipelines: equal ones run as replicas of one pipeline do, in both networks") {
  for (const std::string schedule : {"1f1b", "gpipe", "pipedream", "eager-1f1b"}) {
    for (std::size_t stages = 1; stages <= 4; ++stages) {
      for (std::size_t copies = 2; copies <= 3; ++copies) {
        for (const NetworkModel network : {NetworkModel::Platform, NetworkModel::Analytic}) {
          CAPTURE(schedule);
          CAPTURE(stages);
          CAPTURE(copies);
          const LayerGraph graph = chain(kPipelineLayers, 1, 2, 100'000'000, 10, 100'000'000);
          const Platform platform = pairwise(stages * copies);
          const auto report_of = [&](bool as_pipelines) {
            Plan plan = copied(stages, copies, as_pipelines, schedule);
            plan.microbatches = schedule == "pipedream" ? 80 : 7;
            plan.training.gradient_bucket = Bytes(200'000'000);
            LowerOptions options;
            options.network = network;
            return evaluate_plan(graph, platform, plan, options);
          };
          const Report apart = report_of(true);
          const Report together = report_of(false);
          CHECK(apart.iterations == together.iterations);
          CHECK(apart.throughput == doctest::Approx(together.throughput).epsilon(1e-12));
          CHECK(apart.bubble_ratio == doctest::Approx(together.bubble_ratio).epsilon(1e-12));
          for (std::size_t i = 0; i < stages * copies; ++i) {
            CHECK(apart.devices[i].memory.peak == together.devices[i].memory.peak);
            CHECK(apart.devices[i].in_flight_peak == together.devices[i].in_flight_peak);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace stagecraft
