#include "planners/shared/savings/fastest_variant.hpp"

#include "planners/shared/costs/cost_model.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace stagecraft {
namespace {

PlanRequest with_options(const PlanRequest& request, const Options& options) {
  PlanRequest asked = request;
  asked.options = options;
  return asked;
}

/// The values that the variant chooses: `stages=16, replicas=4`.
std::string chosen_values(const PlannerInfo& planner, const Options& asked, const Options& variant) {
  std::string values;
  for (const OptionInfo& option : planner.options) {
    const OptionValue& value = variant.values().at(option.name);
    if (asked.values().at(option.name) == value) continue;
    values += (values.empty() ? "" : ", ") + option.name + "=" + to_string(value);
  }
  return values;
}

/// After so many variants the first plan ends the search.
std::size_t most_variants(const PlanRequest& request) {
  constexpr std::size_t kFewLayers = 500;  // planning takes a second at most
  return request.graph.layers.size() <= kFewLayers ? 6 : 2;
}

/// Answers of variants; the best one so far.
class BestAnswer {
 public:
  void add(PlanResult result, const Options& options) {
    ++tried_;
    if (result_ && !is_better(result)) return;
    result_ = std::move(result);
    options_ = options;
  }

  [[nodiscard]] bool is_empty() const { return !result_; }
  [[nodiscard]] bool is_plan() const { return result_ && std::holds_alternative<Planned>(*result_); }

  /// **Requires** an answer.
  [[nodiscard]] PlanResult described(const PlannerInfo& planner, const PlanRequest& request) && {
    const std::string values = chosen_values(planner, request.options, *options_);
    if (auto* planned = std::get_if<Planned>(&*result_)) {
      if (tried_ > 1) {
        planned->notes.push_back(values + " takes the least time of " + counted(tried_, "combination") + " tried");
      }
    } else if (tried_ > 1) {
      auto& none = std::get<Infeasible>(*result_);
      none.reason = "none of " + counted(tried_, "combination") + " tried fits; with " + values + ": " + none.reason;
    }
    return *std::move(result_);
  }

 private:
  [[nodiscard]] bool is_better(const PlanResult& other) const {
    const auto* kept = std::get_if<Infeasible>(&*result_);
    const auto* none = std::get_if<Infeasible>(&other);
    if (kept != nullptr && none != nullptr) return none->device && (!kept->device || none->excess < kept->excess);
    return claimed_time(other) < claimed_time(*result_);
  }

  std::optional<PlanResult> result_;
  std::optional<Options> options_;
  std::size_t tried_ = 0;
};

}  // namespace

PlanResult fastest_variant(const PlannerInfo& planner, const PlanRequest& request,
                           const std::function<PlanResult(const PlanRequest&)>& plan) {
  const std::vector<Options> variants = planner.variants ? planner.variants(request) : std::vector<Options>{};
  if (variants.empty()) return plan(request);
  BestAnswer best;
  std::optional<InputError> refusal;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    if (i >= most_variants(request) && best.is_plan()) break;
    try {
      best.add(plan(with_options(request, variants[i])), variants[i]);
    } catch (const InputError& error) {
      if (!refusal) refusal = error;
    }
  }
  if (best.is_empty()) throw InputError(*refusal);
  return std::move(best).described(planner, request);
}

}  // namespace stagecraft
