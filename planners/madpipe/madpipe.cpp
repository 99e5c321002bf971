#include "planners/madpipe/settings.hpp"
#include "planners/madpipe/special_plan.hpp"
#include "planners/planner.hpp"
#include "planners/shared/costs/chain.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/costs/limits.hpp"
#include "planners/shared/cuts/contiguous_plan.hpp"
#include "planners/shared/cuts/pipedream_cut.hpp"
#include "planners/shared/cuts/star_plan.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

extern const PlannerInfo madpipe_planner;

namespace madpipe {
namespace {

Detail seconds(const std::optional<Ticks>& period) { return period ? Detail(to_seconds(*period).value()) : Detail(); }

/// The two plans of which the better one is taken: with a special device, and with contiguous stages only.
struct Answers {
  SpecialPlan special;
  PlanResult contiguous;
  std::optional<Ticks> contiguous_period;
  [[nodiscard]] bool is_special_best() const {
    return special.plan && (!contiguous_period || special.period < *contiguous_period);
  }
};

Answers answers_to(const PlanRequest& request, const Chain& chain, const Settings& settings) {
  Answers answers{{}, contiguous_plan(madpipe_planner, request), std::nullopt};
  Ticks longest = longest_period(chain);
  if (const auto* planned = std::get_if<Planned>(&answers.contiguous)) {
    answers.contiguous_period = ticks_up(*planned->plan.predicted.period);
    if (settings.fallback) longest = *answers.contiguous_period - 1;
  }
  answers.special = special_plan(madpipe_planner, request, chain, settings, longest);
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
  return {"the integer program ended without a proof, most likely at its limit of " +
          std::to_string(settings.node_limit) + " nodes (ilp_node_limit), so there may be a better pattern"};
}

PlanResult plan_once(const PlanRequest& request, const Chain& chain, const Settings& settings) {
  Answers answers = answers_to(request, chain, settings);
  if (answers.is_special_best() || (!settings.fallback && answers.special.plan)) {
    return Planned{*answers.special.plan, details_of(request, chain, answers, false), notes_of(answers, settings)};
  }
  auto* planned = std::get_if<Planned>(&answers.contiguous);
  if (planned != nullptr && settings.fallback) {
    return Planned{planned->plan, details_of(request, chain, answers, true), notes_of(answers, settings)};
  }
  if (planned == nullptr) {
    Infeasible none = std::get<Infeasible>(answers.contiguous);
    none.reason += "; a device with several stages does not help";
    return none;
  }
  const bool has_allocation = answers.special.dp_period.has_value();
  return Infeasible{
      has_allocation ? "no pattern of the allocation that was found fits in memory"
                     : "no allocation with several stages on one device fits in memory",
      {},
      {},
      Bytes(0),
      "contiguous stages fit; fallback=true uses them" +
          std::string(answers.special.limit_struck ? "; or raise ilp_node_limit, which was reached" : "")};
}

bool fits_contiguously(const PlanRequest& request) {
  return std::holds_alternative<Planned>(contiguous_plan(madpipe_planner, request));
}

/// How to search for the least memory. If planning again takes long, the search tries contiguous stages only.
std::optional<MemorySearch> search_of(const PlanRequest& request, const Settings& settings,
                                      const std::optional<MemorySearch>& contiguous) {
  const bool takes_long = request.graph.layers.size() > kMostLayersToRepeat;
  if (takes_long && (!settings.fallback || !contiguous)) return std::nullopt;
  if (takes_long) return MemorySearch{contiguous->start, fits_contiguously};
  if (contiguous) return MemorySearch{contiguous->start};
  return MemorySearch{std::max(Bytes(1), smallest_capacity(request.platform))};
}

/// Contiguous stages that fit are a plan, whether or not a device with several stages makes a faster one.
bool surely_plans(const PlanRequest& request) {
  return settings_of(request.options).fallback && request.schedule.name == madpipe_planner.default_schedule &&
         fits_contiguously(request);
}

PlanResult plan_madpipe(const PlanRequest& request) {
  if (request.schedule.name != madpipe_planner.default_schedule) {
    throw InputError("planner 'madpipe' plans for the schedule '1f1b-star', not for " + quote(request.schedule.name),
                     {}, "its plan is a pattern of that schedule's family; uniform and gpipe plan for every schedule");
  }
  const Settings settings = settings_of(request.options);
  const Chain chain(request, kPeriodicWeightVersions);
  PlanResult result = plan_once(request, chain, settings);
  auto* none = std::get_if<Infeasible>(&result);
  if (none != nullptr) none->search = search_of(request, settings, none->search);
  return result;
}

}  // namespace
}  // namespace madpipe

const PlannerInfo madpipe_planner{
    .name = "madpipe",
    .summary =
        "stages for a periodic schedule with little memory; one device may have several stages if that is faster",
    .source = "Beaumont, Eyraud-Dubois, Shilova, 2022",
    .default_schedule = "1f1b-star",
    .options = madpipe::option_table(),
    .plan = madpipe::plan_madpipe,
    .cuts_by_memory = true,
    .levels_devices = true,
    .surely_plans = madpipe::surely_plans,
};

}  // namespace stagecraft
