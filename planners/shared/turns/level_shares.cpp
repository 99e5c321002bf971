#include "planners/shared/turns/level_shares.hpp"

#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/costs/evaluated_claim.hpp"
#include "sim/model/replicas.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <variant>

namespace stagecraft {
namespace {

using Shares = std::vector<std::int64_t>;

double longest(const std::vector<double>& times, const Shares& numbers) {
  double longest = 0.0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    longest = std::max(longest, times[i] * static_cast<double>(numbers[i]));
  }
  return longest;
}

/// The owner that would end first with one more.
std::size_t soonest(const std::vector<double>& times, const Shares& numbers) {
  std::size_t best = 0;
  const auto with_more = [&](std::size_t i) { return times[i] * static_cast<double>(numbers[i] + 1); };
  for (std::size_t i = 1; i < times.size(); ++i) best = with_more(i) < with_more(best) ? i : best;
  return best;
}

/// The owner that ends last, of those with more than the least.
std::size_t latest(const std::vector<double>& times, const Shares& numbers, std::int64_t least) {
  std::size_t last = times.size();
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (numbers[i] <= least) continue;
    const auto time = [&](std::size_t at) { return times[at] * static_cast<double>(numbers[at]); };
    if (last == times.size() || time(i) > time(last)) last = i;
  }
  return last;
}

/// How many of the first turns each owner has.
Shares counts(const Rotation& rotation, std::size_t owners, std::int64_t turns) {
  Shares counts;
  for (std::uint32_t owner = 0; owner < owners; ++owner) counts.push_back(rotation.count(owner, turns));
  return counts;
}

/// The time of each replica on its device, for shares of one size.
std::vector<double> replica_times(const PlanWork& work, const Stage& stage, StageId id) {
  std::vector<double> times;
  for (std::size_t i = 0; i < stage.replicas.size(); ++i) {
    const TurnPrograms& own = work.at_largest_share(id, i).programs;
    times.push_back((own.forward() + own.mean_backward()).value());
  }
  return times;
}

bool have_unequal_speeds(const std::vector<double>& times) {
  return *std::ranges::min_element(times) > 0.0 &&
         std::ranges::adjacent_find(times, std::ranges::not_equal_to{}) != times.end();
}

/// The time that the stage takes for each microbatch of its pipeline. Of a divided microbatch, `times` are those of
/// equal parts.
double pace(const Stage& stage, const std::vector<double>& times) {
  const Shares shares = stage.shares.empty() ? Shares(times.size(), 1) : stage.shares;
  const auto all = static_cast<double>(std::accumulate(shares.begin(), shares.end(), std::int64_t{0}));
  const double parts = stage.replication == Replication::Split ? static_cast<double>(times.size()) : 1.0;
  return longest(times, shares) * parts / all;
}

/// The time of such a stage depends on the links that copies share.
bool swaps_something(const Stage& stage) { return std::ranges::any_of(stage.memory, swaps); }

/// By stage, by replica.
using Times = std::vector<std::vector<double>>;

/// For each replica the longest time that one of the stages takes at its position, for all of them: replicas at one
/// position run the same microbatches if all stages have the same shares. Empty if stages differ in their replicas.
Times times_of_columns(const Plan& plan, const Times& times) {
  std::vector<double> longest(times.front().size());
  for (std::size_t s = 0; s < times.size(); ++s) {
    const Stage& stage = plan.stages[s];
    const bool is_alike = stage.replication == Replication::RoundRobin && times[s].size() == longest.size();
    if (!is_alike || stage.pipeline != 0) return {};
    for (std::size_t i = 0; i < longest.size(); ++i) longest[i] = std::max(longest[i], times[s][i]);
  }
  Times columns(times.size(), longest);
  return columns;
}

/// The plan with shares for replicas and for pipelines that take so long.
Plan with_shares(Plan plan, const Times& times) {
  std::uint32_t last = 0;
  for (const Stage& stage : plan.stages) last = std::max(last, stage.pipeline);
  const std::int64_t pipelines = std::int64_t{last} + 1;
  std::vector<double> paces(static_cast<std::size_t>(pipelines));
  for (std::size_t s = 0; s < times.size(); ++s) {
    Stage& stage = plan.stages[s];
    const bool is_split = stage.replication == Replication::Split;
    const std::int64_t turns = is_split ? plan.microbatch_size : plan.microbatches / pipelines;
    if (have_unequal_speeds(times[s]) && (!is_split || turns >= std::ssize(times[s]))) {
      stage.shares = is_split ? level_numbers(times[s], turns, 1) : level_shares(times[s], turns);
    }
    paces[stage.pipeline] = std::max(paces[stage.pipeline], pace(stage, times[s]));
  }
  if (have_unequal_speeds(paces)) plan.pipeline_shares = level_shares(paces, plan.microbatches);
  return plan;
}

/// Whether replicas that take turns are not equally fast. No formula of a claim holds then.
bool has_unequal_turns(const Plan& plan, const Times& times) {
  for (std::size_t s = 0; s < times.size(); ++s) {
    if (plan.stages[s].replication == Replication::RoundRobin && have_unequal_speeds(times[s])) return true;
  }
  return false;
}

/// The plan's peaks and evaluated time; none if the schedule refuses the plan.
std::optional<Figures> evaluated(const PlanRequest& request, const Plan& plan) {
  const Compilation compiled = compile_schedule(request.graph, request.platform, plan);
  const auto* program = std::get_if<ScheduleProgram>(&compiled);
  if (program == nullptr) return std::nullopt;
  Figures figures = evaluated_claim(request, plan);
  figures.peak_memory = ledger_peaks(request.graph, request.platform, *program);
  return figures;
}

}  // namespace

std::vector<std::int64_t> level_numbers(const std::vector<double>& times, std::int64_t sum, std::int64_t least) {
  double speed = 0.0;
  for (const double time : times) speed += 1.0 / time;
  Shares numbers;
  for (const double time : times) {
    const double quota = static_cast<double>(sum) / (time * speed);
    numbers.push_back(std::max(least, static_cast<std::int64_t>(quota)));
  }
  std::int64_t left = sum - std::accumulate(numbers.begin(), numbers.end(), std::int64_t{0});
  for (; left > 0; --left) ++numbers[soonest(times, numbers)];
  for (; left < 0; ++left) --numbers[latest(times, numbers, least)];
  return numbers;
}

std::vector<std::int64_t> level_shares(const std::vector<double>& times, std::int64_t turns) {
  constexpr std::int64_t kMoreTurns = 256;
  constexpr double kRounding = 1e-12;
  const double least = longest(times, level_numbers(times, turns, 0)) * (1.0 + kRounding);
  Shares best;
  double best_time = longest(times, counts(Rotation(std::ssize(times)), times.size(), turns));
  for (std::int64_t more = 1; more <= kMoreTurns && best_time > least; ++more) {
    Shares shares = level_numbers(times, std::ssize(times) + more, 1);
    const double time = longest(times, counts(Rotation(shares), times.size(), turns));
    if (time >= best_time * (1.0 - kRounding)) continue;
    best_time = time;
    best = std::move(shares);
  }
  if (best_time <= least || turns < std::ssize(times)) return best;
  Shares exact = level_numbers(times, turns, 1);
  return longest(times, exact) < best_time * (1.0 - kRounding) ? exact : best;
}

Planned with_level_shares(const PlanRequest& request, Planned planned) {
  const Plan equal = planned.plan;
  if (is_asynchronous(equal.schedule) || std::ranges::any_of(equal.stages, swaps_something)) return planned;
  const PlanWork work(request.graph, request.platform, equal, Replicas(equal));
  Times times;
  for (const StageId id : indices<StageId>(equal.stages.size())) {
    times.push_back(replica_times(work, equal.stages[id.value()], id));
  }
  std::vector<Plan> candidates;
  for (const Times& by : {times, times_of_columns(equal, times)}) {
    Plan plan = with_shares(equal, by);
    if (has_unequal_shares(plan) && std::ranges::find(candidates, plan) == candidates.end()) candidates.push_back(plan);
  }
  const bool is_claimable = !has_unequal_turns(equal, times);
  if (is_claimable && candidates.empty()) return planned;
  const Seconds before = *evaluated_claim(request, equal).iteration_time;
  if (!is_claimable) planned.plan.predicted.iteration_time = before;
  const bool fitted = !memory_overflow(request.platform, equal, equal.predicted.peak_memory);
  Seconds least = before;
  for (Plan& plan : candidates) {
    const std::optional<Figures> figures = evaluated(request, plan);
    if (!figures || *figures->iteration_time >= least) continue;
    if (fitted && memory_overflow(request.platform, plan, figures->peak_memory)) continue;
    least = *figures->iteration_time;
    plan.predicted = *figures;
    planned.plan = std::move(plan);
  }
  if (least < before) {
    planned.notes.push_back(
        fmt::format("faster devices take larger shares, with which an iteration takes {:.3g} % less",
                    100.0 * (1.0 - least / before)));
  }
  return planned;
}

}  // namespace stagecraft
