#include "experiments/run/largest_size.hpp"

#include "experiments/run/external_planner.hpp"
#include "experiments/run/judge.hpp"
#include "planners/registry.hpp"
#include "sim/base/error.hpp"
#include "tests/planners/fixtures.hpp"
#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

namespace stagecraft {
namespace {

void ignore(const std::string& /*text*/) {}

/// Two equal layers, 100 bytes of parameters, and for each sample 10 bytes of stash and 5 bytes between them, on two
/// devices of 2000 bytes.
Inputs two_layers() {
  LayerGraph graph = testing::chain({1, 1});
  graph.microbatch_size = 1;
  for (LayerId id : indices(graph.layers)) graph.layers[id].output = Bytes(5);
  graph.edges[0].bytes = Bytes(5);
  return {{{graph}}, testing::flat_platform(2, 1000.0, Bytes(2000)), "", ""};
}

LargestSizeChoices with_microbatches(std::int64_t count) {
  LargestSizeChoices choices;
  choices.planning.microbatches = count;
  return choices;
}

/// With one stage on each device.
LargestSizeChoices in_a_pipeline(std::int64_t count) {
  LargestSizeChoices choices = with_microbatches(count);
  choices.planning.options = {{"replicas", "1"}};
  return choices;
}

/// Whether the planner's plan at that size fits, found without the search.
bool plan_fits(const PlannerInfo& planner, const Inputs& inputs, PlanningChoices choices, std::int64_t size) {
  choices.microbatch_size = size;
  try {
    const Planning planning = make_plan(planner, inputs, choices, ignore);
    return planning.program && judge_run(planning.graph, inputs.platform, *planning.program).empty();
  } catch (const InputError&) {
    return false;
  }
}

// A layer on each device: 4 copies of the parameters, two buffers of 5 b bytes and 4 stashes of 10 b bytes for b
// samples: 400 + 50 b, which is 2000 for b = 32, and 2050 for b = 33.
TEST_CASE("max-batch: a plan by hand, and by how much the next size does not fit") {
  const Inputs inputs = two_layers();
  const LargestSize largest = find_largest_size(find_planner("gpipe"), inputs, in_a_pipeline(4), ignore);
  CHECK(largest.size == 32);
  REQUIRE(largest.planning.planned() != nullptr);
  CHECK(largest.planning.planned()->plan.microbatch_size == 32);
  CHECK_FALSE(largest.ended_early);
  REQUIRE(largest.next() != nullptr);
  CHECK(largest.next()->size == 33);
  REQUIRE(largest.next()->lacking);
  CHECK(largest.next()->lacking->excess == Bytes(50));
  CHECK(largest.next()->lacking->stage == 0);
  CHECK(std::ranges::is_sorted(largest.tried, {}, &SizeTry::size));
}

TEST_CASE("max-batch: every planner's answer is that of trying sizes one by one") {
  const Inputs inputs = two_layers();
  for (const PlannerInfo* planner : all_planners()) {
    CAPTURE(planner->name);
    const LargestSizeChoices choices = with_microbatches(4);
    const LargestSize largest = find_largest_size(*planner, inputs, choices, ignore);
    std::optional<std::int64_t> last;
    for (std::int64_t size = 1; size <= 200; ++size) {
      const bool is_near = largest.size && std::abs(size - *largest.size) <= 4;
      if (!testing::draws_all() && !is_near && size % 7 != 0) continue;
      if (plan_fits(*planner, inputs, choices.planning, size)) last = size;
    }
    CHECK(last);
    CHECK(largest.size == last);
  }
}

// PipeDream without a memory test always answers with a plan. What fits is decided by the ledger.
TEST_CASE("max-batch: a plan that its planner did not test must fit all the same") {
  const Inputs inputs = two_layers();
  LargestSizeChoices choices = with_microbatches(8);
  choices.planning.options = {{"memory_test", "none"}};
  const PlannerInfo& planner = find_planner("pipedream");
  const LargestSize largest = find_largest_size(planner, inputs, choices, ignore);
  REQUIRE(largest.size);
  CHECK(plan_fits(planner, inputs, choices.planning, *largest.size));
  CHECK_FALSE(plan_fits(planner, inputs, choices.planning, *largest.size + 1));
  CHECK(largest.next()->lacking->excess > Bytes(0));
  CHECK(largest.next()->lacking->device.has_value());
}

TEST_CASE("max-batch: among the sizes that divide an update or a global batch") {
  const Inputs inputs = two_layers();
  LargestSizeChoices choices;
  choices.planning.samples_per_update = 36;
  const LargestSize update = find_largest_size(find_planner("gpipe"), inputs, choices, ignore);
  // With 36 / b microbatches the stashes of all are 360 bytes, whatever b is, and 400 + 360 + 10 b <= 2000.
  CHECK(update.size == 36);
  CHECK(update.planning.planned()->plan.microbatches == 1);
  choices.planning.samples_per_update.reset();
  choices.planning.global_batch = 300;  // all microbatches together exceed the memory
  CHECK_FALSE(find_largest_size(find_planner("gpipe"), inputs, choices, ignore).size);
}

TEST_CASE("max-batch: if no size fits, the answer is the one for the smallest") {
  Inputs inputs = two_layers();
  inputs.platform = testing::flat_platform(2, 1000.0, Bytes(449));  // one sample needs 400 + 50
  const LargestSize largest = find_largest_size(find_planner("gpipe"), inputs, in_a_pipeline(4), ignore);
  CHECK_FALSE(largest.size);
  CHECK(largest.planning.graph.microbatch_size == 1);
  CHECK(std::get<Infeasible>(largest.planning.result).smallest_memory == Bytes(450));
  LargestSizeChoices untested = with_microbatches(8);
  untested.planning.options = {{"memory_test", "none"}};
  const LargestSize none = find_largest_size(find_planner("pipedream"), inputs, untested, ignore);
  CHECK_FALSE(none.size);
  CHECK(std::get<Infeasible>(none.planning.result).excess > Bytes(0));
}

TEST_CASE("max-batch: what is wrong with every size is refused, not an answer") {
  const Inputs inputs = two_layers();
  LargestSizeChoices choices = with_microbatches(4);
  choices.planning.schedule = ScheduleChoice{"pipedream", {}};
  CHECK_THROWS_WITH_AS(static_cast<void>(find_largest_size(find_planner("pipedream-sync"), inputs, choices, ignore)),
                       doctest::Contains("plans for schedules that flush"), InputError);
}

TEST_CASE("max-batch: a limit on tries ends the search, and the answer says what it left open") {
  LargestSizeChoices choices = in_a_pipeline(4);
  choices.most_tries = 3;
  const LargestSize few = find_largest_size(find_planner("gpipe"), two_layers(), choices, ignore);
  CHECK(few.size == 4);  // 1, 2, 4
  CHECK(few.ended_early);
  CHECK(open_sizes_text(few) == "the search ended after 3 sizes; larger ones may fit");
  choices.most_tries = 8;  // 1, 2, 4, 8, 16, 32, 64, and 48
  CHECK(open_sizes_text(find_largest_size(find_planner("gpipe"), two_layers(), choices, ignore)) ==
        "the search ended after 8 sizes; sizes from 33 to 47 may fit");
  choices.most_tries = 13;  // bisection: 40, 36, 34, 33; and one above
  CHECK(open_sizes_text(find_largest_size(find_planner("gpipe"), two_layers(), choices, ignore)) ==
        "the search ended after 13 sizes; sizes above 33 may fit");
}

TEST_CASE("max-batch: a replay is run where it is asked for, and agrees") {
  LargestSizeChoices choices = in_a_pipeline(4);
  choices.replays = true;
  CHECK(find_largest_size(find_planner("gpipe"), two_layers(), choices, ignore).size == 32);
}

}  // namespace
}  // namespace stagecraft
