// How long a stash waits in a balanced pipeline in the order of 1F1B: what a swap, a prefetch or a migration has of
// time.
#include "sim/analytic/evaluate_plan.hpp"
#include "tests/analytic/run.hpp"
#include "tests/schedule/chains.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

using namespace stagecraft;

namespace {

constexpr std::size_t kStages = 4;
constexpr std::uint32_t kMicrobatch = 12;  // of 24, in the steady part

double time_of(const Timeline& timeline, OpKind kind, std::size_t stage, bool end) {
  for (const TimelineEntry& entry : timeline) {
    if (entry.kind != kind || entry.stage != StageId(stage) || entry.microbatch != kMicrobatch) continue;
    return (end ? entry.end : entry.start).value();
  }
  FAIL("no such computation");
  return 0.0;
}

}  // namespace

// vPipe's specification, V6. From the end of a forward on stage x of l to the start of its backward there lie (l - x)
// T, where T is a forward and a backward; to the start of the backward on the next stage b less.
TEST_CASE("1f1b: from forward to backward a stash waits for the stages behind, and a backward less one stage on") {
  struct Row {
    double forward, backward;
    std::vector<double> own, downstream;
  };
  for (const Row& row : {Row{1, 2, {9, 6, 3, 0}, {7, 4, 1}}, Row{2, 4, {18, 12, 6, 0}, {14, 8, 2}},
                         Row{3, 3, {18, 12, 6, 0}, {15, 9, 3}}}) {
    CAPTURE(row.forward);
    const LayerGraph graph = testing::chain(kStages, row.forward, row.backward, 1, 1, 1);
    const Platform platform = testing::pairwise(kStages, 1e12, 0.0);
    Timeline timeline;
    const Plan plan = testing::straight(kStages, 24, "1f1b");
    const Report report = evaluate_plan(graph, platform, plan, {}, {}, collect_into(timeline));
    for (std::size_t stage = 0; stage < kStages; ++stage) {
      CAPTURE(stage);
      const double forward_end = time_of(timeline, OpKind::Forward, stage, true);
      CHECK(time_of(timeline, OpKind::Backward, stage, false) - forward_end ==
            doctest::Approx(row.own[stage]).epsilon(1e-6));
      CHECK(report.devices[stage].in_flight_peak == static_cast<std::int64_t>(kStages - stage));
      if (stage + 1 == kStages) continue;
      CHECK(time_of(timeline, OpKind::Backward, stage + 1, false) - forward_end ==
            doctest::Approx(row.downstream[stage]).epsilon(1e-6));
    }
  }
}
