#include "planners/shared/savings/exact_savings.hpp"

#include "planners/shared/savings/saving_bound.hpp"
#include "tests/planners/saving_cases.hpp"
#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace stagecraft::exact_savings_test {

using namespace stagecraft::testing;

TEST_CASE("exact savings: the least times of the specification's stages") {
  const SavingChain chain = units_of_v2();
  // Capacity and least time on the first stage, and on the second; 0: nothing fits.
  const std::vector<std::pair<int, double>> first = {{190, 24}, {180, 24}, {170, 25}, {160, 25},
                                                     {150, 25}, {140, 27}, {130, 27}, {120, 0}};
  const std::vector<std::pair<int, double>> second = {{150, 24}, {140, 25}, {130, 25}, {120, 27}, {110, 28}, {100, 0}};
  for (std::size_t x = 0; x < 2; ++x) {
    SavingStage stage = chain.stage(x, 0, 4);
    for (const auto& [capacity, time] : x == 0 ? first : second) {
      CAPTURE(x);
      CAPTURE(capacity);
      stage.budget.capacity = Bytes(capacity);
      const ExactSavings exact = exact_savings(stage);
      CHECK(exact.is_exact);
      CHECK(exact.saving.has_value() == (time > 0));
      if (exact.saving) CHECK(exact.saving->time == Seconds(time));
    }
  }
}

TEST_CASE("exact savings: as fast as an enumeration of all actions") {
  std::mt19937_64 random(7);
  int infeasible = 0;
  for (int i = 0; i < random_cases(1500); ++i) {
    CAPTURE(i);
    SavingStage stage =
        i % 2 == 0 ? wilder_stage(random, 1 + random() % 9) : with_segments(wilder_stage(random, 1 + random() % 7));
    const std::int64_t below = enumerate_savings(stage).least_memory - stage.budget.capacity.value();
    if (i % 3 == 0) stage.budget.capacity += Bytes(below + 4);  // near the least memory
    stage.budget.capacity -= Bytes(static_cast<std::int64_t>(random() % 3));
    const Enumerated enumerated = enumerate_savings(stage);
    const ExactSavings exact = exact_savings(stage);
    CHECK(exact.is_exact);
    REQUIRE(exact.saving.has_value() == enumerated.time.has_value());
    infeasible += exact.saving ? 0 : 1;
    if (!exact.saving) continue;
    CHECK(exact.saving->time.value() == doctest::Approx(*enumerated.time));
    CHECK(exact.saving->memory == saved_memory(stage, exact.saving->actions));
    CHECK(exact.saving->memory <= stage.budget.capacity);
    CHECK(exact.saving->time == saved_time(stage.units, exact.saving->actions, stage.budget));
  }
  CHECK(infeasible > 0);
}

TEST_CASE("exact savings: as fast as an enumeration where it takes half a million choices") {
  std::mt19937_64 random(11);
  for (int i = 0; i < random_cases(6); ++i) {
    CAPTURE(i);
    const SavingStage stage = wilder_stage(random, 12);
    const ExactSavings exact = exact_savings(stage);
    const std::optional<double> least = enumerate_savings(stage).time;
    REQUIRE(exact.saving.has_value() == least.has_value());
    if (least) CHECK(exact.saving->time.value() == doctest::Approx(*least));
  }
}

TEST_CASE("exact savings: a bound never exceeds the time of a completion, and rounded plans fit") {
  std::mt19937_64 random(13);
  for (int i = 0; i < random_cases(300); ++i) {
    CAPTURE(i);
    SavingStage stage = wilder_stage(random, 1 + random() % 6);
    if (i % 2 == 0) stage = with_segments(std::move(stage));
    SavingBound bound(stage);
    const Bytes kept = saved_memory(stage, std::vector<UnitAction>(stage.units.size()));
    const std::optional<double> least = enumerate_savings(stage).time;
    if (!least) continue;
    CHECK(bound.time(kept - stage.budget.capacity, Seconds(0), Bytes(0)).value() <= *least * (1 + 1e-12));
    if (const std::optional<StageSaving> rounded = bound.rounded()) {
      CHECK(rounded->memory <= stage.budget.capacity);
      CHECK(rounded->time.value() >= *least * (1 - 1e-12));
    }
  }
}

TEST_CASE("exact savings: the bound of the units that are left is that of a stage of these units alone") {
  std::mt19937_64 random(19);
  int compared = 0;
  for (int i = 0; i < random_cases(300); ++i) {
    CAPTURE(i);
    const SavingStage stage = wilder_stage(random, 2 + random() % 8);
    SavingBound bound(stage);
    for (std::size_t taken = 0; taken < stage.units.size(); ++taken, bound.take_next()) {
      CAPTURE(taken);
      Bytes most(0);  // that the units that are left can save
      for (std::size_t unit = 0; unit + taken < stage.units.size(); ++unit) {
        const Bytes kept = residency(stage.units[unit], UnitAction::Keep, stage.budget);
        Bytes least = residency(stage.units[unit], UnitAction::Recompute, stage.budget);
        if (can_swap(stage.budget))
          least = std::min(least, residency(stage.units[unit], UnitAction::Swap, stage.budget));
        most += kept - std::min(least, kept);
      }
      Seconds before(0);
      for (const Bytes lacking : {most + Bytes(1), most, Bytes(most.value() / 2), Bytes(most.value() / 3), Bytes(0)}) {
        const Seconds time = bound.time(lacking, Seconds(0), Bytes(0));
        CHECK((time == kNever) == (lacking > most));
        CHECK((lacking > most || before == Seconds(0) || before == kNever || time <= before * (1 + 1e-12)));
        before = time;
        ++compared;
      }
      CHECK(before == compute_time(stage.units));
    }
  }
  CHECK(compared > 0);
}

TEST_CASE("exact savings: a narrow search says so, and is never slower than the plan that is known") {
  std::mt19937_64 random(17);
  int narrow = 0;
  for (int i = 0; i < random_cases(200); ++i) {
    CAPTURE(i);
    const SavingStage stage = wilder_stage(random, 9);
    const ExactSavings best = exact_savings(stage);
    const ExactSavings found = exact_savings(stage, std::nullopt, 1);
    narrow += found.is_exact ? 0 : 1;
    if (found.is_exact) CHECK(found.saving.has_value() == best.saving.has_value());
    if (!found.saving) continue;
    CHECK((found.is_exact ? found.saving->time == best.saving->time : found.saving->time >= best.saving->time));
    CHECK(exact_savings(stage, best.saving, 1).saving == best.saving);
  }
  CHECK(narrow > 0);
}

}  // namespace stagecraft::exact_savings_test
