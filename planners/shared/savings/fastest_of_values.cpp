#include "planners/shared/savings/fastest_of_values.hpp"

#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/costs/evaluated_claim.hpp"
#include "planners/shared/savings/memory_policy.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <variant>

namespace stagecraft {
namespace {

PlanRequest with_value(const PlanRequest& request, const std::string& option, std::int64_t value) {
  PlanRequest other = request;
  std::map<std::string, OptionValue> values = request.options.values();
  values.at(option) = value;
  other.options = Options(std::move(values));
  return other;
}

/// What plans of several values are compared by.
Seconds compared_time(const PlanRequest& request, const Plan& plan) {
  if (is_asynchronous(plan.schedule)) return claimed_time(plan);
  return *evaluated_claim(request, plan).iteration_time;
}

/// Of two refusals the one that says more: which memory would suffice, and the less of it.
bool says_more(const Infeasible& other, const Infeasible& none) {
  const auto rank = [](const Infeasible& one) { return one.smallest_memory ? 0 : one.search ? 1 : one.device ? 2 : 3; };
  if (rank(other) != rank(none)) return rank(other) < rank(none);
  return other.smallest_memory < none.smallest_memory;
}

/// The one refusal for all values.
void take(Infeasible other, std::optional<Infeasible>& none) {
  if (!none) {
    none = std::move(other);
    return;
  }
  const double work = none->work + other.work;
  const bool is_costly = none->is_costly || other.is_costly;
  const std::int64_t sizes = std::max(none->sizes_to_try, other.sizes_to_try);
  const auto [less, more] = std::minmax(none->fewest_samples, other.fewest_samples);
  const std::int64_t samples = less > 0 ? less : more;
  if (says_more(other, *none)) none = std::move(other);
  none->work = work;
  none->is_costly = is_costly;
  none->sizes_to_try = sizes;
  none->fewest_samples = samples;
}

}  // namespace

PlanResult fastest_of_values(const PlannerInfo& planner, const PlanRequest& request, const std::string& option,
                             const std::vector<std::int64_t>& values,
                             const std::function<std::string(std::int64_t)>& call) {
  std::optional<Planned> best;
  Seconds least;
  std::int64_t chosen = 0;
  std::optional<Infeasible> none;
  std::optional<InputError> refusal;
  double work = 0.0;
  for (const std::int64_t value : values) {
    try {
      const PlanRequest asked = with_value(request, option, value);
      PlanResult result = plan_within_memory(planner, asked);
      if (auto* infeasible = std::get_if<Infeasible>(&result)) {
        take(std::move(*infeasible), none);
        continue;
      }
      Planned& planned = std::get<Planned>(result);
      const Seconds time = compared_time(asked, planned.plan);
      work += planned.work;
      if (best && time >= least) continue;
      best = std::move(planned);
      least = time;
      chosen = value;
    } catch (const InputError& error) {
      if (!refusal) refusal = error;
    }
  }
  if (!best && none) return *std::move(none);
  if (!best) throw InputError(*refusal);
  best->work = work;
  if (chosen != values.front()) {
    std::vector<std::int64_t> others = values;
    std::erase(others, chosen);
    best->notes.push_back(fmt::format("{}; {} {} slower or {} not fit", call(chosen), fmt::join(others, ", "),
                                      others.size() == 1 ? "is" : "are", others.size() == 1 ? "does" : "do"));
  }
  return *std::move(best);
}

}  // namespace stagecraft
