// Layers that move between stages while training goes on (vPipe's live migration): the vector of its specification.
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/replay/replay_plan.hpp"
#include "tests/replay/switching.hpp"
#include "tests/schedule/chains.hpp"

#include <doctest/doctest.h>

#include <cstdint>

namespace stagecraft {
namespace {

using testing::chain;
using testing::cut_at;
using testing::pairwise;
using testing::switching;

constexpr std::int64_t kV5Microbatches = 80;

struct Sizes {
  std::int64_t weights = 4;
  std::int64_t stash = 6;
  std::int64_t boundary = 0;
};

/// Four stages of 6 s and 12 s, where layer 3 of 1 s and 2 s goes from stage 1 to stage 2, which has 5 s and 10 s
/// without it. Nothing else has weights or a stash.
LayerGraph v5_graph(const Sizes& sizes = {}) {
  LayerGraph graph = chain(8, 5.0, 10.0, sizes.boundary, 0, 0);
  for (LayerId layer : {LayerId(1), LayerId(3), LayerId(7)}) {
    graph.layers[layer].forward = Seconds(1);
    graph.layers[layer].backward = Seconds(2);
  }
  graph.layers[LayerId(5)].forward = graph.layers[LayerId(5)].backward = Seconds(0);
  graph.layers[LayerId(5)].backward_weight = Seconds(0);
  graph.layers[LayerId(3)].parameters = Bytes(sizes.weights);
  graph.layers[LayerId(3)].stash = Bytes(sizes.stash);
  return graph;
}

Plan v5_before() { return cut_at({2, 4, 6}, 8, kV5Microbatches); }
Plan v5_after() { return cut_at({2, 3, 6}, 8, kV5Microbatches); }

Report run(const Sizes& sizes, double bandwidth, Migrating migrating) {
  return evaluate_plan(v5_graph(sizes), pairwise(4, bandwidth), v5_before(), switching({{40, v5_after()}}, migrating));
}

/// The time that the run takes beyond one in which there is nothing to copy.
double cost_of_copies(const Sizes& sizes, double bandwidth) {
  const Report report = run(sizes, bandwidth, Migrating::Live);
  REQUIRE(report.course.replans.size() == 1);
  return (report.end - run({0, 0, sizes.boundary}, bandwidth, Migrating::Live).end).value();
}

std::int64_t bytes_of(const Report& report, Migrated what) {
  std::int64_t sum = 0;
  for (const Migration& migration : report.course.migrations)
    sum += migration.what == what ? migration.bytes.value() : 0;
  return sum;
}

}  // namespace

// Two microbatches are in flight behind the giver: each has a stash of 6 bytes and weights of 4 bytes. The last weights
// and 8 bytes of optimizer state follow: 32 bytes.
TEST_CASE("live switch: V5 copies what its microbatches in flight need, and nothing waits for it") {
  for (const double bandwidth : {2.0, 1.0}) {
    CAPTURE(bandwidth);
    const Report live = run({}, bandwidth, Migrating::Live);
    REQUIRE(live.course.questions.size() >= 1);
    CHECK(bytes_of(live, Migrated::Stash) == 12);
    CHECK(bytes_of(live, Migrated::Weights) == 12);
    CHECK(bytes_of(live, Migrated::Optimizer) == 8);
    CHECK(cost_of_copies({}, bandwidth) == 0.0);
  }
}

// Behind a drained pipeline the first microbatch takes 69 s through all stages in place of 18 s. The copy of 12 bytes
// goes on beside the drain, so the specification's sum of both is an upper bound.
TEST_CASE("live switch: V5 costs three periods if the pipeline drains") {
  for (const double bandwidth : {2.0, 1.0}) {
    CAPTURE(bandwidth);
    const Report drained = run({}, bandwidth, Migrating::StopCopy);
    const Report live = run({}, bandwidth, Migrating::Live);
    CHECK(bytes_of(drained, Migrated::State) == 12);
    CHECK((drained.end - live.end).value() == doctest::Approx(69.0 - 18.0));
  }
}

// The giver's last backward ends at 0 s. Its weights take 12 s; the receiver would start its next forward at 5 s. The
// optimizer's state comes at 36 s, and the forward that needs it would follow 18 s behind. So the receiver is 7 s and
// then 6 s late, and the pipeline, whose loop takes 69 s for four periods of 18 s, makes up for 3 s.
TEST_CASE("live switch: weights that come late are waited for, and so is the optimizer's state") {
  CHECK(cost_of_copies({.weights = 12, .stash = 0}, 1.0) == doctest::Approx(10.0));
  CHECK(cost_of_copies({.weights = 12, .stash = 0}, 10.0) == 0.0);
}

// A stash of 50 bytes takes 50 s for each of two microbatches.
TEST_CASE("live switch: a stash that comes late delays its backward") {
  const double cost = cost_of_copies({.weights = 0, .stash = 50}, 1.0);
  CHECK(cost > 2 * (50.0 - 18.0) - 20.0);
  CHECK(cost < 2 * 50.0);
}

}  // namespace stagecraft
