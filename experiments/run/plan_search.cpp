#include "experiments/run/plan_search.hpp"

#include "experiments/run/chosen_size.hpp"
#include "experiments/run/external_planner.hpp"
#include "experiments/run/judge.hpp"
#include "experiments/run/simulation.hpp"
#include "sim/base/activity.hpp"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>
#include <variant>

namespace stagecraft {
namespace {

using Say = std::function<void(const std::string&)>;

/// Tries combinations, and keeps the answer for the best.
class CombinationTries {
 public:
  CombinationTries(const PlannerInfo& planner, const Inputs& inputs) : planner_(planner), inputs_(inputs) {}

  /// Returns the answer if it is the best so far and fits.
  const Planning* try_one(const PlanningChoices& choices) {
    bool is_best = false;
    PlanTry tried{.choices = choices};
    try {
      std::vector<std::string> said;
      Planning planning = answer_for(choices, [&](const std::string& line) { said.push_back(line); });
      time_ += planning.time;
      judge(planning, tried);
      if (!best_ || rank(tried) < rank(best_try_)) {
        best_ = std::move(planning);
        best_try_ = tried;
        said_ = std::move(said);
        is_best = best_try_.fits();
      }
    } catch (const PlannerFailure&) {
      throw;
    } catch (const PlannerTimeout&) {
      throw;
    } catch (const InputError& error) {
      tried.refusal = error;
    }
    const auto after = std::ranges::upper_bound(tries_, rank(tried), {}, rank);
    tries_.insert(after, std::move(tried));
    return is_best ? &*best_ : nullptr;
  }

  [[nodiscard]] const std::vector<PlanTry>& best_first() const { return tries_; }

  [[nodiscard]] PlanSearch result(const Say& say) {
    if (!best_) throw InputError(*tries_.front().refusal);
    if (best_->planned() == nullptr && !best_try_.choices.fastest_size) {
      said_.clear();
      best_ = make_plan(planner_, inputs_, best_try_.choices, say);
    }
    for (const std::string& line : said_) say(line);
    best_->time = time_;
    return {.tries = std::move(tries_), .planning = *std::move(best_)};
  }

 private:
  /// Not explained where no plan fits: only the answer for the best needs to be.
  [[nodiscard]] Planning answer_for(const PlanningChoices& choices, const Say& say) const {
    if (choices.fastest_size) return plan_at_chosen_size(planner_, inputs_, choices, say);
    const std::int64_t usual = inputs_.model.profiles.front().microbatch_size;
    return plan_at_size(planner_, inputs_, choices, choices.microbatch_size.value_or(usual), say);
  }

  void judge(const Planning& planning, PlanTry& tried) const {
    if (const auto* none = std::get_if<Infeasible>(&planning.result)) {
      tried.lacking = *none;
      tried.lacking->search.reset();
      return;
    }
    const Report report = evaluate_planning(planning, inputs_.platform, tried.choices.run_length);
    tried.plan = planning.planned()->plan;
    tried.figures = report.figures();
    tried.figures.peak_memory.clear();
    tried.is_replayed = planning.planned()->is_replayed;
    if (tried.is_replayed) tried.figures.iteration_time = tried.plan->predicted.iteration_time;
    tried.samples_per_second = compared_throughput(planning, report);
    if (!report.devices.empty()) tried.fullest = fullest(report);
    if (!report.out_of_memory()) return;
    const Bytes excess = report.overflows.front().excess;
    tried.lacking = Infeasible{memory_findings(report, inputs_.platform).front().message, {}, {}, excess, ""};
  }

  /// Less of it is better.
  [[nodiscard]] static std::tuple<int, double> rank(const PlanTry& tried) {
    if (tried.refusal) return {3, 0.0};
    if (!tried.lacking) return {0, -tried.samples_per_second};
    const Bytes excess = tried.lacking->excess;
    return {excess > Bytes(0) ? 1 : 2, static_cast<double>(excess.value())};
  }

  const PlannerInfo& planner_;
  const Inputs& inputs_;
  std::vector<PlanTry> tries_;  ///< the best first
  std::optional<Planning> best_;
  PlanTry best_try_;
  std::vector<std::string> said_;  ///< of the best
  Seconds time_;
};

}  // namespace

PlanSearch search_plans(const PlannerInfo& planner, const Inputs& inputs,
                        const std::vector<PlanningChoices>& combinations, const SearchListener& listener) {
  Activity activity(listener.activity);
  CombinationTries tries(planner, inputs);
  for (std::size_t i = 0; i < combinations.size(); ++i) {
    activity.count(i, combinations.size(), listener.noun);
    const Planning* const best = tries.try_one(combinations[i]);
    if (best != nullptr && listener.on_best) listener.on_best(*best);
    if (listener.on_try) listener.on_try(tries.best_first());
  }
  return tries.result(listener.say);
}

}  // namespace stagecraft
