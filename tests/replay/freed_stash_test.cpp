// Memory is freed as soon as the backward has used it, in both engines and in the ledger (field cases F63 and F40).
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/replay/replay_plan.hpp"
#include "sim/schedule/device_peaks.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "tests/schedule/chains.hpp"
#include "tests/schedule/over_hosts.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

using testing::chain;
using testing::over_hosts;
using testing::pairwise;
using testing::straight;

constexpr std::int64_t kMega = 1'000'000;

/// Layers with a stash of 200 MB, of which a checkpoint takes 20.
LayerGraph stashing(std::size_t layers) {
  LayerGraph graph = chain(layers, 0.01, 0.02, 0, 200 * kMega);
  for (Layer& layer : graph.layers) layer.checkpoint = Bytes(20 * kMega);
  return graph;
}

/// One stage with all layers on one device.
Plan on_one_device(std::size_t layers, std::vector<MemoryAction> actions) {
  Plan plan = straight(1, 4, "1f1b");
  plan.stages.front().layers.clear();
  for (std::uint32_t i = 0; i < layers; ++i) plan.stages.front().layers.emplace_back(i);
  plan.stages.front().memory = std::move(actions);
  return plan;
}

struct Outcome {
  double time = 0;
  std::int64_t megabytes = 0;
};

/// Of both engines, and of the ledger where it walks the orders.
Outcome run(const LayerGraph& graph, const Plan& plan, LowerOptions options = {}) {
  const Platform platform = pairwise(1);
  const Report evaluated = evaluate_plan(graph, platform, plan, options);
  const Bytes peak = evaluated.devices.front().memory.peak;
  CHECK(replay_plan(graph, platform, plan, options).report.devices.front().memory.peak == peak);
  if (!options.literal) {
    CHECK(device_peaks(graph, require_schedule(graph, platform, plan)).value().front().second == peak);
  }
  return {evaluated.iterations.back().value(), peak.value() / kMega};
}

Outcome run_layers(std::vector<MemoryAction> actions) { return run(stashing(4), on_one_device(4, std::move(actions))); }

Recompute recompute(std::uint32_t first, std::uint32_t last) {
  Recompute action;
  for (std::uint32_t i = first; i <= last; ++i) action.layers.emplace_back(i);
  return action;
}

TEST_CASE("freed stash: the last layer of a stage is kept for nothing where one microbatch is in flight") {
  const Outcome all = run_layers({recompute(0, 0), recompute(1, 1), recompute(2, 2), recompute(3, 3)});
  CHECK(all.megabytes == 4 * 20 + 180);
  CHECK(all.time == doctest::Approx(0.64));
  const Outcome without_last = run_layers({recompute(0, 0), recompute(1, 1), recompute(2, 2)});
  CHECK(without_last.megabytes == 3 * 20 + 200);
  CHECK(without_last.time == doctest::Approx(0.6));
  // A layer behind the others, and one before them: the second stays while the others are restored.
  CHECK(run_layers({recompute(0, 2)}).megabytes == 20 + 580);
  CHECK(run_layers({recompute(1, 3)}).megabytes == 200 + 20 + 580);
}

TEST_CASE("freed stash: the checkpoints of recomputed layers wait in host memory") {
  // Two stages of four layers whose host links take 8 ms for a microbatch's checkpoints, behind 40 ms of forward and
  // 120 of recomputation and backward: they cost at most one copy a stage, and three microbatches have theirs on the
  // device.
  const LayerGraph graph = stashing(8);
  const Platform platform = over_hosts(2, 1e15, {.link = 10e9, .transport = Transport::Direct});
  Plan plan = straight(2, 8, "gpipe");
  for (std::uint32_t s = 0; s < 2; ++s) {
    plan.stages[s].layers.clear();
    for (std::uint32_t i = 4 * s; i < 4 * s + 4; ++i) {
      plan.stages[s].layers.emplace_back(i);
      plan.stages[s].memory.emplace_back(Recompute{{LayerId(i)}, {}, true});
    }
  }
  const Report report = evaluate_plan(graph, platform, plan);
  CHECK(report.iterations.back().value() >= 1.44 - 1e-9);
  CHECK(report.iterations.back().value() <= 1.44 + 2 * 0.008 + 1e-9);
  CHECK(replay_plan(graph, platform, plan).report.iterations.back().value() ==
        doctest::Approx(report.iterations.back().value()));
  for (const std::size_t device : {0, 1}) {
    CHECK(report.devices[device].memory.peak <= Bytes((3 * 80 + 180) * kMega));
    CHECK(report.devices[device].memory.peak > Bytes(180 * kMega));
  }
}

TEST_CASE("freed stash: an input half frees its share of what was restored for it") {
  const LayerGraph graph = stashing(1);
  LowerOptions options;
  options.literal.emplace();
  DeviceOrder& order = options.literal->devices.emplace_back();
  order.device = DeviceId(0);
  for (const ActionKind kind : {ActionKind::Forward, ActionKind::BackwardInput, ActionKind::BackwardWeight}) {
    for (std::uint32_t k = 0; k < 4; ++k) {
      Action& action = order.actions.emplace_back();
      action.kind = kind;
      action.stage = StageId(0);
      action.microbatch = k;
    }
  }
  for (const auto& [release, megabytes] : {std::pair{0.0, 800}, std::pair{0.5, 500}, std::pair{1.0, 260}}) {
    CAPTURE(release);
    Plan plan = on_one_device(1, {recompute(0, 0)});
    plan.schedule.name = "literal";
    plan.training.input_gradient_release = release;
    const Outcome outcome = run(graph, plan, options);
    CHECK(outcome.megabytes == megabytes);
    CHECK(outcome.time == doctest::Approx(4 * 0.04));
  }
}

}  // namespace
}  // namespace stagecraft
