#include "planners/vpipe/stage_savings.hpp"

#include "planners/shared/exact_savings.hpp"
#include "planners/vpipe/greedy_savings.hpp"
#include "planners/vpipe/suffix_segment.hpp"
#include "sim/base/ticks.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft::vpipe {
namespace {

Bytes memory_with_all(Saving action, const std::vector<SavingUnit>& units, const StageRoom& room) {
  return saved_memory(units, std::vector<Saving>(units.size(), action), room);
}

/// What a stage without a plan lacks.
StageCost cost_of_overflow(const SavingStage& stage, bool joins_suffix) {
  std::vector<SavingUnit> units = stage.units;
  if (joins_suffix) units = {joined(units)};
  Bytes least = memory_with_all(Saving::Recompute, units, stage.room);
  if (stage.room.bandwidth > 0.0) least = std::min(least, memory_with_all(Saving::Swap, units, stage.room));
  Seconds time = compute_time(units);
  for (const SavingUnit& unit : units) time += unit.forward;
  return {std::max(Bytes(1), least - stage.room.capacity), time};
}

}  // namespace

StageSavings::StageSavings(StageOf stage_of, const SavingRules& rules)
    : stage_of_(std::move(stage_of)), rules_(rules) {}

StageCost StageSavings::cost(std::size_t stage, std::size_t begin, std::size_t end) {
  const auto [place, is_new] = by_place_.try_emplace({stage, begin, end});
  if (!is_new) return place->second;
  const SavingStage given = stage_of_(stage, begin, end);
  const auto [kinds, is_new_kind] = by_kinds_.try_emplace(kinds_of(given));
  if (is_new_kind) kinds->second = cost_of(given);
  return place->second = kinds->second;
}

std::optional<SavingPlan> StageSavings::savings(std::size_t stage, std::size_t begin, std::size_t end) {
  return savings_of(stage_of_(stage, begin, end));
}

std::optional<SavingPlan> StageSavings::find(std::span<const SavingUnit> units, const StageRoom& room) {
  std::optional<SavingPlan> greedy = greedy_savings(units, room);
  if (!rules_.is_exact) return greedy;
  ExactSavings exact = exact_savings(units, room, greedy);
  is_exact_ = is_exact_ && exact.is_exact;
  return std::move(exact.plan);
}

std::optional<SavingPlan> StageSavings::savings_of(const SavingStage& stage) {
  if (!rules_.joins_suffix) return find(stage.units, stage.room);
  return suffix_savings(stage.units, stage.room,
                        [&](std::span<const SavingUnit> units, const StageRoom& room) { return find(units, room); });
}

StageCost StageSavings::cost_of(const SavingStage& stage) {
  const std::optional<SavingPlan> plan = savings_of(stage);
  StageCost cost = plan ? StageCost{Bytes(0), plan->time} : cost_of_overflow(stage, rules_.joins_suffix);
  cost.time = to_seconds(ticks_up(cost.time));
  return cost;
}

StageSavings::Kinds StageSavings::kinds_of(const SavingStage& stage) {
  Kinds kinds{stage.room, {}};
  for (const SavingUnit& unit : stage.units) {
    kinds.units.push_back(kinds_.try_emplace(unit, static_cast<std::uint32_t>(kinds_.size())).first->second);
  }
  return kinds;
}

}  // namespace stagecraft::vpipe
