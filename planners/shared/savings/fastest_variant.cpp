#include "planners/shared/savings/fastest_variant.hpp"

#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/costs/evaluated_claim.hpp"
#include "planners/shared/turns/level_shares.hpp"
#include "planners/shared/turns/turn_order.hpp"
#include "sim/base/error.hpp"
#include "sim/schedule/schedule_family.hpp"

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

bool has_unequal_devices(const Platform& platform) {
  const Device& first = platform.devices[DeviceId(0)];
  for (DeviceId id : indices(platform.devices)) {
    const Device& device = platform.devices[id];
    if (device.kind != first.kind || device.slowdown != first.slowdown) return true;
  }
  return false;
}

/// Where devices are not alike, the time of the plan with the shares that its replicas and pipelines will get.
Seconds compared_time(const PlannerInfo& planner, const PlanRequest& request, const Planned& planned) {
  if (is_asynchronous(planned.plan.schedule)) return claimed_time(planned.plan);
  if (planner.orders_turns || !has_unequal_devices(request.platform)) {
    return *evaluated_claim(request, planned.plan).iteration_time;
  }
  const Planned levelled = with_level_shares(request, with_ordered_turns(request, planned));
  return *evaluated_claim(request, levelled.plan).iteration_time;
}

/// Of two refusals the one that says more.
bool says_more(const Infeasible& other, const Infeasible& none) {
  const auto rank = [](const Infeasible& one) { return one.smallest_memory ? 0 : one.search ? 1 : one.device ? 2 : 3; };
  if (rank(other) != rank(none)) return rank(other) < rank(none);
  return other.smallest_memory < none.smallest_memory;
}

class VariantSearch {
 public:
  VariantSearch(const PlannerInfo& planner, const PlanRequest& request,
                const std::function<PlanResult(const PlanRequest&)>& plan)
      : planner_(planner), request_(request), plan_(plan) {}

  void ask(const Options& options) {
    PlanRequest asked = request_;
    asked.options = options;
    try {
      ++tried_;
      PlanResult result = plan_(asked);
      if (auto* none = std::get_if<Infeasible>(&result)) {
        take(std::move(*none), options);
      } else {
        take(std::get<Planned>(std::move(result)), asked);
      }
    } catch (const InputError& error) {
      if (!refusal_) refusal_ = error;
    }
  }

  [[nodiscard]] bool has_plan() const { return best_.has_value(); }

  [[nodiscard]] PlanResult answer() && {
    if (best_) {
      best_->work = work_;
      if (best_is_ > 1) {
        const bool is_claim = is_asynchronous(best_->plan.schedule);
        best_->notes.push_back(values_ + (is_claim ? " has the best claim of " : " takes the least time of ") +
                               std::to_string(tried_) + " tried");
      }
      return *std::move(best_);
    }
    if (!none_) throw InputError(*refusal_);
    if (tried_ > 1)
      none_->reason = "none of " + std::to_string(tried_) + " tried fits; " + values_ + ": " + none_->reason;
    none_->work = work_;
    return *std::move(none_);
  }

 private:
  void take(Planned planned, const PlanRequest& asked) {
    const Seconds time = compared_time(planner_, asked, planned);
    work_ += planned.work;
    if (best_ && time >= least_) return;
    best_ = std::move(planned);
    least_ = time;
    best_is_ = tried_;
    values_ = chosen_values(planner_, request_.options, asked.options);
  }

  /// The one refusal for all variants.
  void take(Infeasible other, const Options& options) {
    work_ += other.work;
    if (best_) return;
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
  std::optional<Planned> best_;
  Seconds least_;       ///< the time of the best plan
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
