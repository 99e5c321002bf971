#include "planners/shared/savings/fastest_variant.hpp"

#include "planners/shared/savings/fastest_plan.hpp"
#include "sim/base/error.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace stagecraft {
namespace {

/// The values that a variant chooses: `stages=16, replicas=4`.
std::string chosen_values(const PlannerInfo& planner, const Options& asked, const Options& variant) {
  std::string values;
  for (const OptionInfo& option : planner.options) {
    const OptionValue& value = variant.values().at(option.name);
    if (asked.values().at(option.name) == value) continue;
    values += (values.empty() ? "" : ", ") + option.name + "=" + to_string(value);
  }
  return values;
}

class VariantSearch {
 public:
  VariantSearch(const PlannerInfo& planner, const PlanRequest& request,
                const std::function<PlanResult(const PlanRequest&)>& plan)
      : planner_(planner), request_(request), plan_(plan), fastest_(planner, request) {}

  void ask(const Options& options) {
    PlanRequest asked = request_;
    asked.options = options;
    try {
      ++tried_;
      std::visit([&](auto&& answer) { take(std::forward<decltype(answer)>(answer), options); }, plan_(asked));
    } catch (const InputError& error) {
      if (!refusal_) refusal_ = error;
    }
  }

  [[nodiscard]] bool has_plan() const { return fastest_.best().has_value(); }

  [[nodiscard]] PlanResult answer() && {
    if (has_plan()) {
      Planned best = *std::move(fastest_.best());
      best.work = work_;
      if (best_is_ > 1) {
        best.notes.push_back(values_ + " takes the least time of " + std::to_string(tried_) + " tried");
      }
      return best;
    }
    if (!none_) throw InputError(*refusal_);
    if (tried_ > 1)
      none_->reason = "none of " + std::to_string(tried_) + " tried fits; " + values_ + ": " + none_->reason;
    none_->work = work_;
    return *std::move(none_);
  }

 private:
  void take(Planned planned, const Options& options) {
    work_ += planned.work;
    if (!fastest_.add(std::move(planned))) return;
    best_is_ = tried_;
    values_ = chosen_values(planner_, request_.options, options);
  }

  /// The one refusal for all variants.
  void take(Infeasible other, const Options& options) {
    work_ += other.work;
    if (has_plan()) return;
    if (none_) {
      other.is_costly = none_->is_costly = other.is_costly || none_->is_costly;
      other.sizes_to_try = none_->sizes_to_try = std::max(other.sizes_to_try, none_->sizes_to_try);
      const auto [less, more] = std::minmax(none_->fewest_samples, other.fewest_samples);
      other.fewest_samples = none_->fewest_samples = less > 0 ? less : more;
      if (!says_more(other, *none_)) return;
    }
    none_ = std::move(other);
    values_ = chosen_values(planner_, request_.options, options);
  }

  const PlannerInfo& planner_;
  const PlanRequest& request_;
  const std::function<PlanResult(const PlanRequest&)>& plan_;
  FastestPlan fastest_;
  std::string values_;  ///< of the best plan, or else of the refusal
  std::optional<Infeasible> none_;
  std::optional<InputError> refusal_;
  std::int64_t tried_ = 0;
  std::int64_t best_is_ = 0;  ///< of those tried, from 1 on
  double work_ = 0.0;
};

/// Whether the user's options leave a single number of stages.
bool gives_stages(const PlannerInfo& planner, const Options& options) {
  const auto gives = [&](const char* name) {
    return std::ranges::count(planner.options, name, &OptionInfo::name) > 0 && options.count(name) > 0;
  };
  return gives("stages") || (gives("replicas") && std::ranges::count(planner.options, "stages", &OptionInfo::name) > 0);
}

PlanResult with_hint(const PlannerInfo& planner, const Options& options, PlanResult result) {
  auto* none = std::get_if<Infeasible>(&result);
  if (none == nullptr || !gives_stages(planner, options)) return result;
  none->hint += (none->hint.empty() ? "" : "; ") + std::string("other numbers were not tried (--set stages=N)");
  return result;
}

}  // namespace

bool says_more(const Infeasible& refusal, const Infeasible& other) {
  const auto rank = [](const Infeasible& one) { return one.smallest_memory ? 0 : one.search ? 1 : one.device ? 2 : 3; };
  if (rank(refusal) != rank(other)) return rank(refusal) < rank(other);
  return refusal.smallest_memory < other.smallest_memory;
}

PlanResult fastest_variant(const PlannerInfo& planner, const PlanRequest& request,
                           const std::function<PlanResult(const PlanRequest&)>& plan) {
  const Variants variants = planner.variants ? planner.variants(request) : Variants{};
  if (variants.tried.empty()) return with_hint(planner, request.options, plan(request));
  VariantSearch search(planner, request, plan);
  for (const Options& options : variants.tried) search.ask(options);
  for (const Options& options : variants.otherwise) {
    if (search.has_plan()) break;
    search.ask(options);
  }
  return with_hint(planner, request.options, std::move(search).answer());
}

}  // namespace stagecraft
