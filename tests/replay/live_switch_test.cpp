// Layers that move between stages while training goes on (vPipe's live migration), in both engines.
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

/// Eight layers on four devices: each stage has one of (5 s, 10 s) and one of (1 s, 2 s). Only layer 3, of the latter,
/// has parameters: 4 bytes, with 8 bytes of optimizer state. Its stash has 6 bytes.
LayerGraph v5_graph(std::int64_t boundary, std::int64_t parameters = 4, std::int64_t stash = 6) {
  LayerGraph graph = chain(8, 5.0, 10.0, boundary, 0, 0);
  for (LayerId layer : {LayerId(1), LayerId(3), LayerId(5), LayerId(7)}) {
    graph.layers[layer].forward = Seconds(1);
    graph.layers[layer].backward = Seconds(2);
  }
  graph.layers[LayerId(3)].parameters = Bytes(parameters);
  graph.layers[LayerId(3)].stash = Bytes(stash);
  return graph;
}

Plan cut_at(const std::vector<std::size_t>& cuts, std::int64_t microbatches) {
  Plan plan = straight(cuts.size() + 1, microbatches, "pipedream");
  std::size_t layer = 0;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    plan.stages[s].layers.clear();
    const std::size_t end = s < cuts.size() ? cuts[s] : 8;
    for (; layer < end; ++layer) plan.stages[s].layers.emplace_back(layer);
  }
  return plan;
}

LowerOptions switching_live(const Plan& next, std::int64_t from, std::int64_t& at, Migrating migrating) {
  const auto start = [next, from, &at] {
    return [next, from, &at, done = false](const Observation&, const RunPosition& position) mutable {
      if (done || position.earliest < from) return ReplanAnswer();
      done = true;
      at = position.earliest;
      return ReplanAnswer{.change = PlanSwitch{next, position.earliest}};
    };
  };
  LowerOptions options;
  options.replanning = Replanning{.start = start, .window = 1, .migrating = migrating};
  return options;
}

}  // namespace

TEST_CASE("live switch: V5") {
  for (const double bandwidth : {2.0, 1.0}) {
    CAPTURE(bandwidth);
    const Platform platform = pairwise(4, bandwidth, 0.0);
    const Plan before = cut_at({2, 4, 6}, 80);
    const Plan after = cut_at({2, 3, 6}, 80);
    std::int64_t at = 0;
    Timeline timeline;
    const Report report = evaluate_plan(v5_graph(0), platform, before, switching_live(after, 40, at, Migrating::Live), {}, collect_into(timeline));
    for (const auto& question : report.course.questions) {
      if (question.first) MESSAGE(question.reason);
    }
    MESSAGE(report.end.value());
    Bytes sum;
    for (const Migration& migration : report.course.migrations) {
      sum += migration.bytes;
      MESSAGE(to_string(migration.what), " ", migration.bytes.value(), " ", migration.start.value(), " ", migration.end.value());
    }
    CHECK(sum == Bytes(32));
    for (auto& e : timeline) if (e.microbatch + 4 >= at && e.microbatch <= at + 2 && is_compute(e.kind) && (e.stage.value() % 4 == 1 || e.stage.value()%4 == 2))
      MESSAGE(to_string(e.kind), " ", e.microbatch, " stage ", e.stage.value(), " ", e.start.value(), " ", e.end.value());
    const Report free = evaluate_plan(v5_graph(0, 0, 0), platform, before, switching_live(after, 40, at, Migrating::Live));
    MESSAGE(free.end.value());
    const Report stop = evaluate_plan(v5_graph(0), platform, before, switching_live(after, 40, at, Migrating::StopCopy));
    MESSAGE(stop.end.value());
  }
}

}  // namespace stagecraft
