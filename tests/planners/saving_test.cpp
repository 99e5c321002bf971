#include "planners/shared/savings/saving.hpp"

#include "planners/shared/savings/least_saving.hpp"
#include "planners/shared/savings/partly_kept.hpp"
#include "tests/planners/saving_cases.hpp"
#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace stagecraft::saving_test {

using namespace stagecraft::testing;

namespace {

std::int64_t memory_of(const SavingStage& stage, const std::string& actions) {
  return saved_memory(stage, actions_from(actions)).value();
}

/// Tables of the specification's example V1: four stages of two units (1, 2, 6, 2) with 4 bytes of weights each.
struct MemoryRow {
  std::int64_t held, kk, rr, ss, kr;
};

}  // namespace

TEST_CASE("saving: memory of the specification's four stages") {
  SavingChain chain = equal_units(8, unit(1, 2, 6, 2), 4);
  chain.bandwidth = 1.0;
  const std::vector<MemoryRow> asynchronous = {
      {56, 104, 76, 80, 92}, {48, 84, 64, 72, 76}, {40, 64, 52, 64, 60}, {32, 44, 40, 44, 44}};
  const std::vector<MemoryRow> flushed = {
      {32, 80, 52, 56, 0}, {32, 68, 48, 56, 0}, {32, 56, 44, 56, 0}, {32, 44, 40, 44, 0}};
  for (std::size_t x = 0; x < 4; ++x) {
    CAPTURE(x);
    chain.flushes = false;
    const SavingStage stage = chain.stage(x, 2 * x, 2 * x + 2);
    CHECK(stage.budget.held.value() == asynchronous[x].held);
    CHECK(memory_of(stage, "kk") == asynchronous[x].kk);
    CHECK(memory_of(stage, "rr") == asynchronous[x].rr);
    CHECK(memory_of(stage, "ss") == asynchronous[x].ss);
    CHECK(memory_of(stage, "kr") == asynchronous[x].kr);
    chain.flushes = true;
    SavingStage flushes = chain.stage(x, 2 * x, 2 * x + 2);
    CHECK(flushes.budget.held.value() == flushed[x].held);
    CHECK(memory_of(flushes, "kk") == flushed[x].kk);
    CHECK(memory_of(flushes, "rr") == flushed[x].rr);
    CHECK(memory_of(flushes, "ss") == flushed[x].ss);
    flushes.budget.in_flight = 8;  // fill and drain, 8 microbatches
    CHECK(memory_of(flushes, "kk") == 128);
    CHECK(memory_of(flushes, "rr") == 68);
  }
}

TEST_CASE("saving: a unit that runs needs its workspace, and with it what it restores") {
  SavingStage stage;
  stage.units = {unit(1, 2, 6, 2), unit(1, 2, 6, 2)};
  stage.units[0].workspace = Bytes(10);
  stage.units[1].workspace = Bytes(7);
  stage.budget.in_flight = 3;
  CHECK(memory_of(stage, "kk") == 36 + 10);
  CHECK(memory_of(stage, "kr") == 18 + 6 + 11);  // 4 restored bytes and the workspace of 7
  CHECK(memory_of(stage, "rk") == 18 + 6 + 10);  // the forward; in the backward the unit behind has freed 6 of the 14
  stage.units[1].shared = Bytes(4);
  CHECK(memory_of(stage, "rk") == 18 + 6 + 14 - 2);  // but 4 of them stay
}

TEST_CASE("saving: memory that is left keeps units for some microbatches, those first that save most time for a byte") {
  SavingStage stage;
  stage.units = {unit(1, 2, 10, 4), unit(3, 6, 10, 4), unit(1, 2, 10, 10)};
  stage.budget.in_flight = 4;
  const std::vector<UnitAction> actions = actions_from("rrk");
  const Bytes least = saved_memory(stage, actions);
  const auto filled = [&](std::int64_t left) {
    stage.budget.capacity = least + Bytes(left);
    return with_some_kept(stage, {actions, saved_time(stage.units, actions, stage.budget), least});
  };
  CHECK(filled(5).kept == std::vector<std::int64_t>{0, 0, 0});
  CHECK(filled(6).kept == std::vector<std::int64_t>{0, 1, 0});
  CHECK(filled(29).kept == std::vector<std::int64_t>{1, 3, 0});  // one microbatch always recomputes
  const StageSaving saving = filled(29);
  CHECK(saving.memory == least + Bytes(24));
  CHECK(saving.time.value() == doctest::Approx(15 + 4 - 3 * 3.0 / 4 - 1.0 / 4).epsilon(1e-12));
  stage.budget.bandwidth = 1.0;
  const StageSaving swaps = with_some_kept(stage, {actions_from("rsk"), Seconds(30), Bytes(0)});
  CHECK(swaps.kept.empty());
}

TEST_CASE("saving: copies take the bandwidth of one direction, or half of it, after all other traffic") {
  StageBudget budget;
  budget.bandwidth = 2.0;
  CHECK(copy_time(Bytes(12), budget) == Seconds(6));
  budget.half_duplex = true;
  CHECK(copy_time(Bytes(12), budget) == Seconds(12));
  budget.other_traffic = Bytes(4);
  CHECK(copy_time(Bytes(12), budget) == Seconds(16));
  CHECK(copy_time(Bytes(0), budget) == Seconds(0));
}

TEST_CASE("saving: nothing is swapped without a host link, or if every microbatch in flight is on the device anyway") {
  StageBudget budget;
  budget.in_flight = 3;
  budget.resident = 2;
  CHECK_FALSE(can_swap(budget));
  budget.bandwidth = 1.0;
  CHECK(can_swap(budget));
  budget.in_flight = 2;
  CHECK_FALSE(can_swap(budget));
}

TEST_CASE("saving: memory, time and least memory are those of an enumeration") {
  std::mt19937_64 random(5);
  for (int i = 0; i < random_cases(1000); ++i) {
    CAPTURE(i);
    const SavingStage stage = wilder_stage(random, 1 + random() % 6);
    const SavingStage segments = with_segments(stage);
    CHECK(least_saved_memory(segments).value() == enumerate_savings(segments).least_memory);
    CHECK(least_saved_memory(stage).value() == enumerate_savings(stage).least_memory);
    std::vector<int> actions;
    std::vector<UnitAction> savings;
    SavingChoice choice(stage.units, stage.budget);
    for (std::size_t u = 0; u < stage.units.size(); ++u) {
      actions.push_back(static_cast<int>(random() % 3));
      if (actions.back() == 1 && !can_swap(stage.budget)) actions.back() = 0;
      savings.push_back(static_cast<UnitAction>(actions.back()));
      choice.choose(u, UnitAction::Recompute);  // a choice that is taken back leaves nothing behind
      choice.choose(u, savings.back());
    }
    const auto [memory, time] = enumerated_costs(stage, actions);
    CHECK(saved_memory(stage, savings).value() == memory);
    CHECK(choice.memory().value() == memory);
    CHECK(saved_time(stage.units, savings, stage.budget).value() == doctest::Approx(time));
    CHECK(choice.saving().has_value() == (memory <= stage.budget.capacity.value()));
  }
}

TEST_CASE("saving: the last resort takes the action with the least memory, the largest gain first") {
  // Four microbatches, two of them on the device. Kept, swapped and recomputed the first unit takes 40, 20 and 8 bytes,
  // the second 40, 20 and 20 (recomputed rather than swapped), the third 8, 4 and 8. The gains are 32, 20 and 4.
  SavingStage stage;
  stage.units = {unit(1, 2, 10, 2), unit(1, 2, 10, 5), unit(1, 2, 2, 2)};
  for (SavingUnit& unit : stage.units) unit.shared = unit.stash;
  stage.budget.in_flight = 4;
  stage.budget.resident = 2;
  stage.budget.bandwidth = 1.0;
  // Recomputed, the first unit restores 8 and the second 5 bytes: 8 + 40 + 8 + 8 = 64, 8 + 20 + 8 + 8 = 44, and 40.
  for (const auto& [capacity, actions] :
       std::vector<std::pair<int, std::string>>{{88, "kkk"}, {87, "rkk"}, {64, "rkk"}, {63, "rrk"}, {43, "rrs"}}) {
    CAPTURE(capacity);
    stage.budget.capacity = Bytes(capacity);
    SavingChoice choice(stage.units, stage.budget);
    choice.take_least_residency();
    CHECK(action_letters({choice.action(0), choice.action(1), choice.action(2)}) == actions);
    CHECK(choice.fits());
  }
  stage.budget.capacity = Bytes(39);
  SavingChoice choice(stage.units, stage.budget);
  choice.take_least_residency();
  CHECK_FALSE(choice.fits());
  CHECK_FALSE(choice.saving().has_value());
}

TEST_CASE("saving: units are kept again where that fits, the longest forwards first, then the largest stashes") {
  SavingStage stage;
  stage.units = {unit(1, 2, 4, 0), unit(3, 6, 4, 0), unit(1, 2, 6, 0), unit(1, 2, 7, 0)};
  for (SavingUnit& unit : stage.units) unit.shared = unit.stash;
  stage.budget.in_flight = 4;
  stage.budget.resident = 2;
  stage.budget.bandwidth = 1.0;
  // rrss: 0 + 0 + 12 + 14 + 4 restored = 30. Keeping the second unit costs 16 bytes, the first after it 12, for nothing
  // is restored any more. Keeping a swapped unit costs 12 or 14.
  for (const auto& [capacity, actions] : std::vector<std::pair<int, std::string>>{
           {30, "rrss"}, {42, "rrks"}, {44, "rrsk"}, {46, "rkss"}, {58, "kkss"}, {71, "kkks"}, {72, "kksk"}}) {
    CAPTURE(capacity);
    stage.budget.capacity = Bytes(capacity);
    SavingChoice choice(stage.units, stage.budget);
    for (std::size_t i = 0; i < 4; ++i) choice.choose(i, i < 2 ? UnitAction::Recompute : UnitAction::Swap);
    choice.keep_again();
    CHECK(action_letters(choice.saving()->actions) == actions);
  }
}

}  // namespace stagecraft::saving_test
