#include "planners/vpipe/stage_savings.hpp"

#include "planners/shared/savings/exact_savings.hpp"
#include "planners/shared/savings/segment_rules.hpp"
#include "planners/vpipe/greedy_savings.hpp"
#include "planners/vpipe/suffix_segment.hpp"
#include "sim/base/ticks.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace stagecraft::vpipe {
namespace {

Bytes memory_with_all(UnitAction action, const SavingStage& stage) {
  return saved_memory(stage, std::vector<UnitAction>(stage.units.size(), action));
}

/// With all units recomputed, by themselves or as one segment.
Bytes recomputed_memory(const SavingStage& stage, bool is_suffix) {
  const Bytes apart = memory_with_all(UnitAction::Recompute, stage);
  if (!stage.segments) return apart;
  std::vector<UnitAction> as_one(stage.units.size(), UnitAction::Join);
  as_one.front() = UnitAction::Recompute;
  const Bytes together = saved_memory(stage, as_one);
  return is_suffix ? together : std::min(apart, together);
}

/// What a stage without a plan lacks.
StageCost cost_of_overflow(const SavingStage& stage, bool is_suffix) {
  Bytes least = recomputed_memory(stage, is_suffix);
  if (stage.budget.bandwidth > 0.0) least = std::min(least, memory_with_all(UnitAction::Swap, stage));
  Seconds time = compute_time(stage.units);
  for (const SavingUnit& unit : stage.units) time += unit.forward;
  return {std::max(Bytes(1), least - stage.budget.capacity), time};
}

std::size_t hash_of(Bytes bytes) { return std::hash<std::int64_t>()(bytes.value()); }
std::size_t hash_of(Seconds time) { return std::hash<double>()(time.value()); }

/// Equal for equal stages.
std::size_t hash_of(const SavingStage& stage) {
  const StageBudget& budget = stage.budget;
  std::uint64_t hash = hash_of(budget.held) ^ static_cast<std::uint64_t>(budget.in_flight);
  for (const SavingUnit& unit : stage.units) {
    const std::uint64_t own = hash_of(unit.forward) * 0x9e3779b97f4a7c15 + hash_of(unit.backward) * 0xc2b2ae3d27d4eb4f +
                              hash_of(unit.stash) * 0x165667b19e3779f9 + hash_of(unit.checkpoint) * 0xd6e8feb86659fd93 +
                              hash_of(unit.workspace);
    hash = (hash ^ own ^ (own >> 31U)) * 0xff51afd7ed558ccd;
  }
  return hash ^ (hash >> 33U);
}

/// Whether they are known to be the same.
bool are_alike(const SavingStage& one, const SavingStage& other) {
  if (one.budget != other.budget || one.units != other.units) return false;
  return !one.segments || (!one.likeness.empty() && std::ranges::equal(one.likeness, other.likeness));
}

}  // namespace

StageSavings::StageSavings(StageOf stage_of, const SavingRules& rules)
    : stage_of_(std::move(stage_of)), rules_(rules) {}

StageCost StageSavings::cost(std::size_t stage, std::size_t begin, std::size_t end) {
  const auto [place, is_new] = by_place_.try_emplace(Place{stage, begin, end});
  if (!is_new) return place->second;
  const SavingStage given = stage_of_(stage, begin, end);
  const std::size_t hash = hash_of(given);
  const Kind* known = known_kind(given, hash);
  if (known == nullptr) known = &kinds_.emplace(hash, Kind{place->first, cost_of(given)})->second;
  return place->second = known->cost;
}

std::optional<StageSaving> StageSavings::savings(std::size_t stage, std::size_t begin, std::size_t end) {
  return savings_of(stage_of_(stage, begin, end));
}

std::optional<StageSaving> StageSavings::find(const SavingStage& stage) {
  std::optional<StageSaving> greedy = by_rule_with_segments(stage, greedy_savings);
  if (!rules_.is_exact) return greedy;
  ExactSavings exact = exact_savings(stage, greedy);
  is_exact_ = is_exact_ && exact.is_exact;
  return std::move(exact.saving);
}

std::optional<StageSaving> StageSavings::savings_of(const SavingStage& stage) {
  if (!rules_.is_suffix) return find(stage);
  return suffix_savings(stage, [&](const SavingStage& rest) { return find(rest); });
}

StageCost StageSavings::cost_of(const SavingStage& stage) {
  const std::optional<StageSaving> saving = savings_of(stage);
  StageCost cost = saving ? StageCost{Bytes(0), saving->time} : cost_of_overflow(stage, rules_.is_suffix);
  cost.time = to_seconds(ticks_up(cost.time));
  return cost;
}

const StageSavings::Kind* StageSavings::known_kind(const SavingStage& stage, std::size_t hash) const {
  const auto [begin, end] = kinds_.equal_range(hash);
  const auto found = std::find_if(begin, end, [&](const auto& each) {
    const auto& [at, first, last] = each.second.first;
    return are_alike(stage, stage_of_(at, first, last));
  });
  return found == end ? nullptr : &found->second;
}

}  // namespace stagecraft::vpipe
