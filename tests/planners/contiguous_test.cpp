#include "planners/shared/cuts/best_contiguous.hpp"
#include "planners/shared/cuts/pipedream_cut.hpp"
#include "tests/planners/memory_chains.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace stagecraft::contiguous_test {

using namespace stagecraft::testing;

namespace {

constexpr Ticks kSecond = 1'000'000'000;
constexpr Ticks kNone = std::numeric_limits<Ticks>::max();

/// Where stages begin after the first.
using Cuts = std::vector<std::size_t>;

Cuts cuts_of(const std::vector<ChainStage>& stages) {
  Cuts cuts;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    CHECK(stages[s].device == s);
    CHECK(stages[s].begin < stages[s].end);
    if (s > 0) CHECK(stages[s].begin == stages[s - 1].end);
    if (s > 0) cuts.push_back(stages[s].begin);
  }
  return cuts;
}

std::vector<ChainStage> stages_of(const Cuts& cuts, std::size_t layers) {
  std::vector<ChainStage> stages;
  std::size_t begin = 0;
  for (std::size_t s = 0; s <= cuts.size(); ++s) {
    const std::size_t end = s < cuts.size() ? cuts[s] : layers;
    stages.push_back({begin, end, static_cast<std::uint32_t>(s)});
    begin = end;
  }
  return stages;
}

/// A period in seconds and the cuts that reach it; none if infeasible.
struct Expected {
  Ticks period = 0;
  Cuts cuts;
};

void check_best(const MemoryProblem& problem, const Expected& expected) {
  const auto answer = best_contiguous(problem.chain());
  REQUIRE(answer.has_value());
  CHECK(answer->period == expected.period * kSecond);
  CHECK(cuts_of(answer->stages) == expected.cuts);
}

/// Every set of cuts as a bit mask, each with at most as many stages as there are devices.
template <class Visit>
void for_each_cut(const Chain& chain, Visit visit) {
  for (unsigned mask = 0; mask < 1U << (chain.size() - 1); ++mask) {
    Cuts cuts;
    for (std::size_t l = 1; l < chain.size(); ++l) {
      if ((mask >> (l - 1) & 1U) != 0) cuts.push_back(l);
    }
    if (cuts.size() < chain.device_count()) visit(stages_of(cuts, chain.size()));
  }
}

/// The in-flight counts of stages by groups, and whether they fit: written anew, from the definition.
bool fits_with(const Chain& chain, const std::vector<ChainStage>& stages, Ticks period) {
  std::int64_t group = 1;
  Ticks sum = 0;
  const auto join = [&](Ticks load) {
    sum += load;
    if (sum <= period) return;
    ++group;
    sum = load;
  };
  for (std::size_t s = stages.size(); s-- > 0;) {
    join(chain.load(stages[s].begin, stages[s].end));
    if (chain.load(stages[s].begin, stages[s].end) > period) return false;
    if (stage_memory(chain, stages[s].begin, stages[s].end, group) > chain.capacity()) return false;
    if (chain.cut_load(stages[s].begin) > period) return false;
    if (s > 0) join(chain.cut_load(stages[s].begin));
  }
  return true;
}

/// The least period of any cut, tried by half seconds, of which all loads are multiples.
Ticks least_by_trial(const Chain& chain) {
  constexpr Ticks kStep = kSecond / 2;
  Ticks most = chain.load(0, chain.size());
  for (std::size_t l = 1; l < chain.size(); ++l) most += chain.cut_load(l);
  Ticks least = kNone;
  for_each_cut(chain, [&](const std::vector<ChainStage>& stages) {
    for (Ticks period = kStep; period <= std::min(least - 1, most + kStep); period += kStep) {
      if (fits_with(chain, stages, period)) least = period;
    }
  });
  return least;
}

/// The recurrence as it is written, without any table.
Ticks claim_by_recursion(const Chain& chain, std::size_t k, std::int64_t n) {
  if (n == 1) {
    return stage_memory(chain, k, chain.size(), 1) <= chain.capacity() ? chain.load(k, chain.size()) : kNone;
  }
  Ticks least = kNone;
  for (std::size_t j = k + 1; j < chain.size(); ++j) {
    if (stage_memory(chain, k, j, n) > chain.capacity()) continue;
    least = std::min(least, std::max({chain.load(k, j), chain.cut_load(j), claim_by_recursion(chain, j, n - 1)}));
  }
  return least;
}

}  // namespace

TEST_CASE("contiguous: the specification's example M1 at every memory") {
  for (const std::int64_t memory : {60, 34}) check_best(problem_m1(memory), {12, {2}});
  for (const std::int64_t memory : {26, 27, 28, 29, 30}) check_best(problem_m1(memory), {12, {1, 2}});
  for (const std::int64_t memory : {20, 21, 22, 23, 24, 25}) check_best(problem_m1(memory), {28, {2, 3}});
}

TEST_CASE("contiguous: the specification's examples M2 and M4") {
  check_best(problem_m2(), {16, {2}});
  check_best(problem_m4(), {13, {2, 3}});
}

TEST_CASE("contiguous: the least period of every cut of the specification's example M2") {
  const Chain chain = problem_m2().chain();
  const std::vector<std::pair<Cuts, Ticks>> expected{{{}, 24}, {{1}, 18}, {{2}, 16}, {{3}, 18}, {{4}, 28}};
  for (const auto& [cuts, period] : expected) {
    CHECK(least_period(chain, stages_of(cuts, 5), chain.capacity()) == period * kSecond);
  }
}

TEST_CASE("contiguous: PipeDream's claims and true periods in the specification's examples") {
  const auto check = [](const MemoryProblem& problem, const Cuts& cuts, Ticks claimed, Ticks achieved) {
    const auto cut = pipedream_cut(problem.chain());
    REQUIRE(cut.has_value());
    CHECK(cuts_of(cut->stages) == cuts);
    CHECK(cut->claimed == claimed * kSecond);
    CHECK(cut->achieved == achieved * kSecond);
  };
  check(problem_m1(60), {2}, 12, 12);
  check(problem_m1(30), {2}, 12, 14);
  check(problem_m2(), {3}, 12, 18);
  CHECK_FALSE(pipedream_cut(problem_m1(25).chain()).has_value());
}

TEST_CASE("contiguous: equal to all cuts tried one by one on 600 random chains") {
  int infeasible = 0;
  int bound_by_memory = 0;
  for (unsigned seed = 1; seed <= 600; ++seed) {
    CAPTURE(seed);
    const Chain chain = random_problem(seed).chain();
    Ticks least = kNone;
    Ticks free = kNone;
    for_each_cut(chain, [&](const std::vector<ChainStage>& stages) {
      least = std::min(least, least_period(chain, stages, chain.capacity()).value_or(kNone));
      free = std::min(free, least_period(chain, stages, Bytes(1'000'000)).value_or(kNone));
    });
    const auto answer = best_contiguous(chain);
    infeasible += least == kNone ? 1 : 0;
    bound_by_memory += least != kNone && least > free ? 1 : 0;
    REQUIRE(answer.has_value() == (least != kNone));
    if (!answer) continue;
    CHECK(answer->period == least);
    (void)cuts_of(answer->stages);
    CHECK(answer->stages.size() <= chain.device_count());
    CHECK(answer->stages.back().end == chain.size());
    CHECK(least_period(chain, answer->stages, chain.capacity()) == least);
  }
  CHECK(infeasible > 50);
  CHECK(bound_by_memory > 50);
}

TEST_CASE("contiguous: equal to a search that knows neither the operator nor the candidate periods") {
  for (unsigned seed = 601; seed <= 800; ++seed) {
    CAPTURE(seed);
    const Chain chain = random_problem(seed).chain();
    const auto answer = best_contiguous(chain);
    CHECK((answer ? answer->period : kNone) == least_by_trial(chain));
  }
}

TEST_CASE("contiguous: PipeDream's cut follows its recurrence, and never beats the exact planner") {
  int optimistic = 0;
  int missed = 0;
  for (unsigned seed = 1; seed <= 400; ++seed) {
    CAPTURE(seed);
    const Chain chain = random_problem(seed).chain();
    const std::size_t devices = std::min<std::size_t>(chain.device_count(), chain.size());
    Ticks claim = kNone;
    for (std::size_t n = 1; n <= devices; ++n) {
      claim = std::min(claim, claim_by_recursion(chain, 0, static_cast<std::int64_t>(n)));
    }
    const auto cut = pipedream_cut(chain);
    const auto answer = best_contiguous(chain);
    REQUIRE(cut.has_value() == (claim != kNone));
    missed += !cut && answer ? 1 : 0;
    if (!cut) continue;
    (void)cuts_of(cut->stages);
    CHECK(cut->claimed == std::max<Ticks>(claim, 1));
    CHECK(cut->claimed <= cut->achieved);
    REQUIRE(answer.has_value());
    CHECK(answer->period <= cut->achieved);
    optimistic += cut->claimed < cut->achieved ? 1 : 0;
  }
  CHECK(optimistic > 10);
  CHECK(missed > 5);
}

TEST_CASE("contiguous: more memory never hurts") {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    Ticks before = kNone;
    for (std::int64_t memory = 10; memory <= 200; memory += 10) {
      const auto answer = best_contiguous(random_problem(seed).with_memory(memory).chain());
      const Ticks period = answer ? answer->period : kNone;
      CHECK(period <= before);
      before = period;
    }
    CHECK(before != kNone);
  }
}

TEST_CASE("contiguous: the least capacity is the least with which there is a cut") {
  CHECK(least_capacity(problem_m1(60).chain()) == Bytes(18));
  for (unsigned seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    const Chain chain = random_problem(seed).chain();
    Bytes least = stage_memory(chain, 0, chain.size(), 1);
    for_each_cut(chain, [&](const std::vector<ChainStage>& stages) {
      Bytes most;
      for (const ChainStage& stage : stages) most = std::max(most, stage_memory(chain, stage.begin, stage.end, 1));
      least = std::min(least, most);
    });
    CHECK(least_capacity(chain) == least);
    CHECK(best_contiguous(chain, least).has_value());
    CHECK_FALSE(best_contiguous(chain, least - Bytes(1)).has_value());
  }
}

TEST_CASE("contiguous: times scaled by k scale the period and leave the cuts") {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    const MemoryProblem problem = random_problem(seed);
    MemoryProblem slower = problem;
    for (Layer& layer : slower.graph.layers) {
      layer.forward = layer.forward * 6;
      layer.backward = layer.backward * 6;
    }
    auto& form = std::get<ExplicitForm>(slower.platform.spec.form);
    form.default_link->bandwidth = form.default_link->bandwidth / 6;
    slower.platform = build_platform(slower.platform.spec);
    const auto answer = best_contiguous(problem.chain());
    const auto scaled = best_contiguous(slower.chain());
    REQUIRE(answer.has_value() == scaled.has_value());
    if (!answer) continue;
    CHECK(scaled->period == 6 * answer->period);
    CHECK(cuts_of(scaled->stages) == cuts_of(answer->stages));
  }
}

TEST_CASE("contiguous: one device, more devices than layers, layers that cost nothing") {
  MemoryProblem alone = memory_problem(4, {{1, 2, 1, 4}, {2, 3, 1, 4}, {1, 1, 1, 4}}, 1, 21, 2);
  check_best(alone, {10, {}});  // 3 · 3 of weights, 3 · 4 of stashes, no buffers
  CHECK_FALSE(best_contiguous(alone.with_memory(20).chain()).has_value());

  check_best(memory_problem(1, {{1, 2, 1, 1}, {2, 3, 1, 1}}, 6, 100, 2), {5, {1}});

  const MemoryProblem idle = memory_problem(0, {{0, 0, 1, 0}, {0, 0, 1, 0}, {0, 0, 1, 0}}, 2, 6, 2);
  const auto answer = best_contiguous(idle.chain());
  REQUIRE(answer.has_value());
  CHECK(answer->period == 1);  // a period is at least a tick
  CHECK(answer->stages.size() == 2);
  CHECK_FALSE(best_contiguous(idle.with_memory(5).chain()).has_value());
}

TEST_CASE("contiguous: where every cut is hopeless there is one stage, or none") {
  const std::vector<LayerNumbers> layers{{1, 2, 100, 1000}, {2, 3, 100, 1000}, {1, 1, 100, 1000}};
  const MemoryProblem slow = memory_problem(1000, layers, 3, 3900, 1e-3);
  check_best(slow, {10, {}});
  // With one byte less the model must be cut, and the period is that of a cut: 2 · 10 B at 1 mB/s.
  const std::vector<LayerNumbers> thin{{1, 2, 100, 10}, {2, 3, 100, 10}, {1, 1, 100, 10}};
  check_best(memory_problem(10, thin, 3, 929, 1e-3), {20000, {1}});
  // A transfer of more than three days is no cut at all.
  const MemoryProblem endless = memory_problem(10, {{1, 2, 100, 1}, {2, 3, 100, 1}}, 2, 400, 1e-30);
  CHECK_FALSE(best_contiguous(endless.chain()).has_value());
  CHECK_FALSE(pipedream_cut(endless.chain()).has_value());
  CHECK(best_contiguous(endless.with_memory(611).chain()).has_value());
}

}  // namespace stagecraft::contiguous_test
