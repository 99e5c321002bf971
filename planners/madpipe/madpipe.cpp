#include "planners/chain.hpp"
#include "planners/contiguous/pipedream_cut.hpp"
#include "planners/contiguous/star_plan.hpp"
#include "planners/cost_model.hpp"
#include "planners/madpipe/settings.hpp"
#include "planners/madpipe/special_plan.hpp"
#include "planners/planner.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {

extern const PlannerInfo contiguous_planner;
extern const PlannerInfo madpipe_planner;

namespace {

using madpipe::Settings;
using madpipe::SpecialPlan;

constexpr std::size_t kLayersToRepeat = 32;  ///< of a chain whose smallest memory is searched by planning again

constexpr Bytes kMostMemory{std::int64_t{1} << 60};  ///< that is tried

Detail seconds(const std::optional<Ticks>& period) { return period ? Detail(to_seconds(*period).value()) : Detail(); }

/// Both ways to plan: with a special device, and contiguously.
struct Answers {
  SpecialPlan special;
  PlanResult contiguous;
  std::optional<Ticks> contiguous_period;
  [[nodiscard]] bool is_special_best() const {
    return special.plan && (!contiguous_period || special.period < *contiguous_period);
  }
};

Answers answers_to(const PlanRequest& request, const Chain& chain, const Settings& settings) {
  Answers answers{{}, contiguous_planner.plan(request), std::nullopt};
  Ticks longest = madpipe::longest_period(chain);
  if (const auto* planned = std::get_if<Planned>(&answers.contiguous)) {
    answers.contiguous_period = ticks_up(*planned->plan.predicted.period);
    if (settings.fallback) longest = *answers.contiguous_period - 1;
  }
  answers.special = madpipe::special_plan(madpipe_planner, request, settings, longest);
  return answers;
}

Detail::Record details_of(const PlanRequest& request, const Chain& chain, const Answers& answers, bool is_fallback) {
  const std::optional<PipedreamCut> pipedream = pipedream_cut(chain);
  const Ticks achieved = is_fallback ? *answers.contiguous_period : answers.special.period;
  Detail::Record details = {
      {"dp_period_s", seconds(answers.special.dp_period)},
      {"achieved_period_s", to_seconds(achieved).value()},
      {"contiguous_period_s", seconds(answers.contiguous_period)},
      {"pipedream_claimed_period_s", seconds(pipedream ? std::optional(pipedream->claimed) : std::nullopt)},
      {"pipedream_true_period_s", seconds(pipedream ? std::optional(pipedream->achieved) : std::nullopt)},
      {"fallback", is_fallback},
      {"ilp_nodes", answers.special.nodes},
      {"ilp_limit_struck", answers.special.limit_struck}};
  const Detail::Record figures = chain_figures(request, chain);
  details.insert(details.end(), figures.begin(), figures.end());
  return details;
}

std::vector<std::string> notes_of(const Answers& answers, const Settings& settings) {
  if (!answers.special.limit_struck) return {};
  return {"the integer program ended without a proof, mostly for its limit of " + std::to_string(settings.node_limit) +
          " nodes (ilp_node_limit): there may be a better pattern"};
}

/// Without the smallest memory.
PlanResult plan_once(const PlanRequest& request, const Chain& chain, const Settings& settings) {
  Answers answers = answers_to(request, chain, settings);
  if (answers.is_special_best() || (!settings.fallback && answers.special.plan)) {
    return Planned{*answers.special.plan, details_of(request, chain, answers, false), notes_of(answers, settings)};
  }
  auto* planned = std::get_if<Planned>(&answers.contiguous);
  if (planned != nullptr && settings.fallback) {
    planned->plan.planner = madpipe_planner.name;
    return Planned{planned->plan, details_of(request, chain, answers, true), notes_of(answers, settings)};
  }
  if (planned == nullptr) {
    Infeasible none = std::get<Infeasible>(answers.contiguous);
    none.reason += "; a device with several stages does not help";
    return none;
  }
  const bool has_allocation = answers.special.dp_period.has_value();
  return Infeasible{has_allocation ? "no pattern of the allocation that was found fits the memory"
                                   : "no allocation with a device of several stages fits the memory",
                    {},
                    {},
                    Bytes(0),
                    "contiguous stages fit: fallback=true takes them" +
                        std::string(answers.special.limit_struck ? "; or raise ilp_node_limit, which struck" : "")};
}

/// The least memory with which there is a plan, by bisection below one that is enough.
std::optional<Bytes> smallest_memory(const PlanRequest& request, const Settings& settings, const Chain& chain,
                                     const Infeasible& none) {
  if (chain.size() > kLayersToRepeat) return settings.fallback ? none.smallest_memory : std::nullopt;
  const auto finds = [&](const Platform& platform) {
    const PlanRequest again = on_platform(request, platform);
    return std::holds_alternative<Planned>(plan_once(again, Chain(again, kPeriodicWeightVersions), settings));
  };
  Bytes enough = none.smallest_memory.value_or(std::max(Bytes(1), smallest_capacity(request.platform)));
  for (int doublings = 0; doublings < 20 && enough < kMostMemory; ++doublings, enough = enough * 2) {
    if (finds(with_memory(request.platform, enough))) return least_memory(request.platform, enough, finds);
  }
  return std::nullopt;
}

PlanResult plan_madpipe(const PlanRequest& request) {
  if (request.schedule.name != madpipe_planner.default_schedule) {
    throw InputError("planner 'madpipe' plans for the schedule '1f1b-star', not for " + quote(request.schedule.name),
                     {}, "its plan is a pattern of that schedule's family");
  }
  const Settings settings = madpipe::settings_of(request.options);
  const Chain chain(request, kPeriodicWeightVersions);
  PlanResult result = plan_once(request, chain, settings);
  auto* none = std::get_if<Infeasible>(&result);
  if (none != nullptr && request.explain) none->smallest_memory = smallest_memory(request, settings, chain, *none);
  return result;
}

}  // namespace

const PlannerInfo madpipe_planner{
    .name = "madpipe",
    .summary = "stages for a periodic schedule under tight memory, several of them on one device where that is faster",
    .source = "Beaumont, Eyraud-Dubois, Shilova, 2022",
    .default_schedule = "1f1b-star",
    .options = madpipe::option_table(),
    .plan = plan_madpipe,
};

}  // namespace stagecraft
