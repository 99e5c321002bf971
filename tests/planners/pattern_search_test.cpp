#include "planners/madpipe/pattern_search.hpp"

#include "tests/planners/madpipe_chains.hpp"
#include "tests/planners/madpipe_optimum.hpp"
#include "tests/planners/pattern_cases.hpp"
#include "tests/planners/pattern_checker.hpp"
#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

namespace stagecraft::pattern_search_test {

using namespace stagecraft::testing;
using namespace stagecraft::madpipe;

namespace {

/// Both with and without the shortcuts.
void check_least(const Chain& chain, const std::vector<ChainStage>& stages, Ticks least) {
  for (bool shortcuts : {true, false}) {
    CAPTURE(shortcuts);
    const PatternAnswer answer = search(chain, stages, 100 * kUnit, shortcuts);
    REQUIRE(answer.pattern.has_value());
    CHECK(answer.pattern->period == least);
    CHECK(answer.is_proven);
    CHECK_FALSE(search(chain, stages, least - 1, shortcuts).pattern.has_value());
  }
}

// Layers of M1 and M4: two on the device 0, the others on devices of their own.
const std::vector<ChainStage> kOuter{{0, 1, 0}, {1, 2, 1}, {2, 3, 2}, {3, 4, 0}};
const std::vector<ChainStage> kSecondAndLast{{0, 1, 1}, {1, 2, 0}, {2, 3, 2}, {3, 4, 0}};
const std::vector<ChainStage> kOfM2{{0, 1, 0}, {1, 4, 1}, {4, 5, 0}};

}  // namespace

TEST_CASE("madpipe patterns: M2 runs at 14 and not faster") {
  const Chain chain = madpipe_m2().chain();
  check_least(chain, kOfM2, 14 * kUnit);
  CHECK_FALSE(search(chain, kOfM2, 13 * kUnit).pattern.has_value());
}

TEST_CASE("madpipe patterns: the solution that the specification gives for M2 holds, with its peaks") {
  const Chain chain = madpipe_m2().chain();
  TickPattern given{14 * kUnit,
                    {{false, 0, false, 0, 0},
                     {true, 0, false, 2, 0},
                     {false, 1, false, 4, 0},
                     {true, 1, false, 8, 0},
                     {false, 2, false, 11, 0},
                     {false, 2, true, 1, 1},
                     {true, 1, true, 6, 1},
                     {false, 1, true, 8, 1},
                     {true, 0, true, 0, 2},  // 14, 1 there
                     {false, 0, true, 6, 2}}};
  for (TickOperation& operation : given.operations) operation.start *= kUnit;
  PatternVerdict verdict = check_pattern(chain, kOfM2, given);
  CHECK(verdict.problems.empty());
  CHECK(verdict.peaks == std::map<std::uint32_t, Bytes>{{0, Bytes(47)}, {1, Bytes(55)}});
  const PatternAnswer answer = search(chain, kOfM2, 14 * kUnit);
  REQUIRE(answer.pattern.has_value());
  CHECK(check_pattern(chain, kOfM2, *answer.pattern).peaks == verdict.peaks);
}

TEST_CASE("madpipe patterns: the allocations of M1 run at 9") {
  check_least(madpipe_m1(50).chain(), kOuter, 9 * kUnit);
  check_least(madpipe_m1(45).chain(), kSecondAndLast, 9 * kUnit);
  if (!draws_all()) return;
  check_least(madpipe_m1(60).chain(), kOuter, 9 * kUnit);  // more memory makes neither faster
  check_least(madpipe_m1(50).chain(), kSecondAndLast, 9 * kUnit);
}

TEST_CASE("madpipe patterns: the allocations of M4 run at 18 and 13") {
  check_least(madpipe_m4().chain(), kSecondAndLast, 18 * kUnit);
  check_least(madpipe_m4().chain(), {{0, 2, 0}, {2, 3, 1}, {3, 4, 2}}, 13 * kUnit);
}

TEST_CASE("madpipe patterns: 1F1B* is as fast as the integer program on 40 random contiguous cuts") {
  const int cases = random_cases(40);
  CHECK(compare_with_star(1, static_cast<unsigned>(cases)) > cases / 2);
}

TEST_CASE("madpipe patterns: no random chain runs faster than the best over all allocations") {
  const OptimumCounts counts = compare_with_optimum(1, draws_all() ? 20 : 4);
  CHECK(counts.optimistic.optimal_with_fallback == counts.chains - counts.infeasible);
  CHECK(counts.safe.optimal_with_fallback == counts.chains - counts.infeasible);
  if (!draws_all()) return;
  CHECK(counts.chains == 20);
  CHECK(counts.infeasible == 1);
  CHECK(counts.optimistic == ModeCounts{18, 5, 13, 1, 0, 19});
  CHECK(counts.safe == ModeCounts{19, 5, 14, 0, 0, 19});
}

TEST_CASE("madpipe patterns: without the program only what is built by hand is found, and not said to be best") {
  const Chain chain = madpipe_m4().chain();
  const PatternAnswer answer = least_pattern(chain, kSecondAndLast, {100 * kUnit, 0, true});
  CHECK_FALSE(answer.is_proven);
  CHECK(answer.nodes == 0);
  REQUIRE(answer.pattern.has_value());
  CHECK(answer.pattern->period >= 18 * kUnit);
  CHECK(check_pattern(chain, kSecondAndLast, *answer.pattern).problems.empty());
}

TEST_CASE("madpipe patterns: a stage of no work, and neighbours on one device") {
  MadPipeInstance instance = madpipe_m2();
  instance.forward[4] = instance.backward[4] = 0;
  instance.outputs[4] = 0;  // the cut before it takes no time either
  const Chain chain = instance.chain();
  check_least(chain, kOfM2, 10 * kUnit);
  check_least(chain, {{0, 1, 0}, {1, 3, 1}, {3, 4, 1}, {4, 5, 0}}, 10 * kUnit);
}

TEST_CASE("madpipe patterns: memory too small for one microbatch has no pattern") {
  MadPipeInstance instance = madpipe_m2();
  instance.memory = 30;
  const PatternAnswer answer = search(instance.chain(), kOfM2, 100 * kUnit);
  CHECK_FALSE(answer.pattern.has_value());
  CHECK(answer.is_proven);
}

TEST_CASE("madpipe patterns: the checker of these tests sees what is wrong") {
  const Chain chain = madpipe_m2().chain();
  const TickPattern good = *search(chain, kOfM2, 14 * kUnit).pattern;
  for (std::size_t o = 0; o < good.operations.size(); ++o) {
    CAPTURE(o);
    TickPattern late = good;
    late.operations[o].shift += 3;  // after what waits for it, or with more in flight than fits
    CHECK_FALSE(check_pattern(chain, kOfM2, late).problems.empty());
  }
  TickPattern fast = good;
  fast.period -= 1;  // the special device works all the time
  CHECK_FALSE(check_pattern(chain, kOfM2, fast).problems.empty());
  TickPattern short_of_one = good;
  short_of_one.operations.pop_back();
  CHECK_FALSE(check_pattern(chain, kOfM2, short_of_one).problems.empty());
}

}  // namespace stagecraft::pattern_search_test
