#include "experiments/run/size_tries.hpp"

#include "experiments/run/external_planner.hpp"
#include "sim/base/activity.hpp"
#include "sim/base/counted.hpp"

#include <algorithm>

namespace stagecraft {
namespace {

constexpr double kEqualMerits = 1e-9;  ///< of merits, as a part of them

}  // namespace

SizeAnswer SizeTries::ask(std::int64_t size) {
  const Activity activity("trying microbatches of " + counted(size, "sample"));
  SizeTry tried{.size = size, .lacking = {}, .refusal = {}};
  SizeAnswer answer;
  try {
    std::vector<std::string> said;
    Planning planning =
        plan_at_size(planner_, inputs_, choices_, size, [&](const std::string& text) { said.push_back(text); });
    answer = size_answer(planning);
    if (const auto* none = std::get_if<Infeasible>(&planning.result)) {
      tried.lacking = *none;
    } else {
      Verdict verdict = judge_(planning);
      tried.lacking = std::move(verdict.lacking);
      tried.merit = verdict.merit;
    }
    answer.fits = tried.fits();
    if (answer.fits && (!best_ || tried.merit > best_merit_ * (1.0 + kEqualMerits))) {
      best_merit_ = tried.merit;
      best_ = std::move(planning);
      said_ = std::move(said);
    }
  } catch (const PlannerFailure&) {
    throw;
  } catch (const PlannerTimeout&) {
    throw;
  } catch (const InputError& error) {
    if (tried_.empty()) first_refusal_ = error;
    tried.refusal = error;
    answer = {};
  }
  tried_.emplace(size, std::move(tried));
  return answer;
}

std::optional<std::int64_t> SizeTries::best() const {
  return best_ ? std::optional(best_->graph.microbatch_size) : std::nullopt;
}

Planning SizeTries::take_best(const Say& say) {
  for (const std::string& text : said_) say(text);
  return std::move(*best_);
}

Planning SizeTries::explain_none(const Say& say) const {
  const auto first = [&](const auto& is_meant) {
    return std::ranges::find_if(tried_, [&](const auto& each) { return each.second.lacking && is_meant(each.second); });
  };
  auto smallest = first([](const SizeTry& each) { return each.lacking->fewest_samples <= each.size; });
  if (smallest == tried_.end()) smallest = first([](const SizeTry&) { return true; });
  if (smallest == tried_.end()) throw InputError(*first_refusal_);
  PlanningChoices choices = choices_;
  choices.microbatch_size = smallest->first;
  Planning planning = make_plan(planner_, inputs_, choices, say);
  if (planning.planned() != nullptr) {
    planning.result = *smallest->second.lacking;
    planning.program.reset();
  }
  return planning;
}

}  // namespace stagecraft
