#include "sim/schedule/pattern.hpp"

#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/model/plan.hpp"

#include <algorithm>
#include <array>
#include <tuple>

namespace stagecraft {
namespace {

constexpr std::size_t kMissing = static_cast<std::size_t>(-1);

/// The position of each operation in the pattern's list.
struct Places {
  std::vector<std::array<std::size_t, 2>> stages;  ///< forward, backward
  std::vector<std::array<std::size_t, 2>> cuts;
};

std::string name_of(const PatternOperation& operation) {
  return std::string("the ") + (operation.backward ? "backward" : "forward") + " of " +
         (operation.is_cut ? "cut " : "stage ") + std::to_string(operation.index);
}

/// Checks one operation on its own: its stage or cut exists, and its start is within a period.
std::optional<std::string> refusal(const Plan& plan, const PatternOperation& operation) {
  const std::size_t stages = plan.stages.size();
  const std::string name = name_of(operation);
  if (!operation.is_cut && operation.index >= stages) {
    return name + ", but the plan has only " + counted(stages, "stage") + ", counted from 0";
  }
  if (operation.is_cut && operation.index + std::size_t{1} >= stages) {
    return name + ", but the plan has only " + counted(stages - 1, "cut") + ", counted from 0";
  }
  if (operation.is_cut && !has_cut(plan, operation.index)) {
    return name + ", but the stages before and after it are on one device";
  }
  if (!(operation.start >= Seconds(0)) || !(operation.start < plan.pattern->period)) {
    return name + " at " + format_seconds(operation.start) + ", outside the period of " +
           format_seconds(plan.pattern->period);
  }
  if (operation.shift < 0) return name + " with a shift of " + std::to_string(operation.shift) + ", less than 0";
  return std::nullopt;
}

std::optional<std::string> find_places(const Plan& plan, Places& places) {
  const std::vector<PatternOperation>& operations = plan.pattern->operations;
  places.stages.assign(plan.stages.size(), {kMissing, kMissing});
  places.cuts.assign(plan.stages.size(), {kMissing, kMissing});
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const PatternOperation& operation = operations[i];
    if (const auto problem = refusal(plan, operation)) return "the pattern has " + *problem;
    std::size_t& place = (operation.is_cut ? places.cuts : places.stages)[operation.index][operation.backward ? 1 : 0];
    if (place != kMissing) return "the pattern has " + name_of(operation) + " more than once";
    place = i;
  }
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    for (const bool backward : {false, true}) {
      const auto index = static_cast<std::uint32_t>(s);
      const std::size_t side = backward ? 1 : 0;
      if (places.stages[s].at(side) == kMissing) {
        return "the pattern lacks " + name_of({false, index, backward, Seconds(0), 0});
      }
      if (s + 1 < plan.stages.size() && has_cut(plan, s) && places.cuts[s].at(side) == kMissing) {
        return "the pattern lacks " + name_of({true, index, backward, Seconds(0), 0});
      }
    }
  }
  return std::nullopt;
}

/// The positions of a microbatch's operations, in the order in which they depend on each other.
std::vector<std::size_t> chain_of(const Plan& plan, const Places& places) {
  std::vector<std::size_t> chain;
  for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
    for (std::size_t i = 0; i < plan.stages.size(); ++i) {
      const std::size_t s = side == 0 ? i : plan.stages.size() - 1 - i;
      const std::size_t cut = side == 0 ? s : s - 1;  // the cut that the microbatch crosses next
      chain.push_back(places.stages[s].at(side));
      if (i + 1 < plan.stages.size() && has_cut(plan, cut)) chain.push_back(places.cuts[cut].at(side));
    }
  }
  return chain;
}

const PatternOperation& find_operation(const Pattern& pattern, StageId stage, bool backward) {
  const auto found = std::ranges::find_if(pattern.operations, [&](const PatternOperation& operation) {
    return !operation.is_cut && operation.index == stage.value() && operation.backward == backward;
  });
  STAGECRAFT_CHECK(found != pattern.operations.end(), "a sound pattern runs every stage");
  return *found;
}

}  // namespace

bool has_cut(const Plan& plan, std::size_t stage) {
  return plan.stages[stage].replicas.front().lead() != plan.stages[stage + 1].replicas.front().lead();
}

std::optional<std::string> pattern_problem(const Plan& plan) {
  const Pattern& pattern = *plan.pattern;
  if (!(pattern.period > Seconds(0))) return "the pattern's period is not more than zero";
  Places places;
  if (const auto problem = find_places(plan, places)) return problem;
  const std::vector<std::size_t> chain = chain_of(plan, places);
  const PatternOperation& first = pattern.operations[chain.front()];
  if (first.shift != 0) {
    return "in the pattern " + name_of(first) + " has a shift of " + std::to_string(first.shift) +
           ", but the first operation of a microbatch has shift 0";
  }
  for (std::size_t i = 1; i < chain.size(); ++i) {
    const PatternOperation& before = pattern.operations[chain[i - 1]];
    const PatternOperation& after = pattern.operations[chain[i]];
    if (std::tie(before.shift, before.start, chain[i - 1]) < std::tie(after.shift, after.start, chain[i])) continue;
    return "in the pattern " + name_of(after) + " comes before " + name_of(before) + ", which it depends on";
  }
  return std::nullopt;
}

std::vector<PatternOperation> in_start_order(const Pattern& pattern) {
  std::vector<PatternOperation> operations = pattern.operations;
  std::ranges::stable_sort(operations, {}, &PatternOperation::start);
  return operations;
}

std::int64_t pattern_in_flight(const Pattern& pattern, StageId stage) {
  const PatternOperation& forward = find_operation(pattern, stage, false);
  const PatternOperation& backward = find_operation(pattern, stage, true);
  // When a period of the steady state starts, backward.shift - forward.shift microbatches are in flight. If the forward
  // comes first within the period, there is one more until the backward. The addresses, in one vector, compare the
  // positions in the list.
  const bool forward_first = std::tuple(forward.start, &forward) < std::tuple(backward.start, &backward);
  return backward.shift - forward.shift + (forward_first ? 1 : 0);
}

}  // namespace stagecraft
