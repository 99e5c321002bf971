#include "planners/shared/savings/even_pipelines.hpp"

#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/costs/evaluated_claim.hpp"
#include "planners/shared/costs/pipeline_claim.hpp"
#include "planners/shared/cuts/balanced_cuts.hpp"
#include "planners/shared/cuts/equal_cuts.hpp"
#include "planners/shared/savings/even_cut.hpp"
#include "planners/shared/savings/fastest_plan.hpp"
#include "planners/shared/savings/least_memory.hpp"
#include "planners/shared/savings/memory_policy.hpp"
#include "planners/shared/savings/saved_cut.hpp"
#include "planners/shared/savings/saving_pipeline.hpp"
#include "planners/shared/savings/shifted_plan.hpp"
#include "planners/shared/savings/stage_devices.hpp"
#include "sim/base/error.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <queue>
#include <string>
#include <utility>
#include <variant>

namespace stagecraft {
namespace {

EvenShape shape_of(const Plan& plan) { return {plan.stages.size(), plan.stages.front().replicas.size()}; }

/// Whether layers may move between stages: an option of some planners.
bool may_shift(const Options& options) {
  const auto shift = options.values().find("shift");
  return shift == options.values().end() || std::get<bool>(shift->second);
}

/// Whether every stage has a run of devices of its own.
bool is_straight(const EvenShape& shape, const Plan& plan) {
  return plan.stages.size() == shape.length && require_family(plan.schedule.name).has_formula();
}

/// Best-first: the cut that seems fastest is looked at more closely, until the one that seems fastest is a plan that
/// fits.
class EvenPipelines {
 public:
  EvenPipelines(const PlannerInfo& planner, const PlanRequest& request, const std::vector<EvenShape>& shapes,
                const std::string& recompute)
      : planner_(planner),
        request_(request),
        shapes_(shapes),
        recompute_(recompute),
        usual_(stage_cuts(request.graph, false)),
        recomputing_(stage_cuts(request.graph, true)) {
    for (const EvenShape& shape : shapes) add(shape);
  }

  PlanResult best() {
    if (std::optional<Planned> planned = fastest()) return described(*std::move(planned));
    if (!least_) throw InputError(*refusal_);
    if (recompute_ != "none") return *std::move(least_);
    if (std::optional<Planned> planned = all_recomputed()) return *std::move(planned);
    return saving_refusal(planner_, request_, *std::move(least_));
  }

  /// Of the plans with the best claims, one of each shape, the fastest.
  std::optional<Planned> fastest() {
    std::optional<Planned> best = next();
    if (!best) return best;
    FastestPlan fastest(planner_, request_);
    const EvenShape first = shape_of(best->plan);
    fastest.add(faster(*std::move(best)));
    if (request_.only_shape) return std::move(fastest.best());
    if (shapes_.size() > 1) compare(fastest, {first}, shapes_to_compare(request_.graph), kNever);
    const std::vector<EvenShape> fewer = fewer_replicas(request_, shapes_);
    if (fewer.empty()) return std::move(fastest.best());
    cuts_ = {};
    for (const EvenShape& shape : fewer) add(shape);
    compare(fastest, {}, shapes_to_compare(request_.graph) / 2, fastest.time());
    return std::move(fastest.best());
  }

  /// The plan that fits and has the best claim of those not yet taken, if a claim is below `limit`.
  std::optional<Planned> next(Seconds limit = kNever) {
    while (!cuts_.empty() && cuts_.top().time < limit) {
      EvenCut cut = cuts_.top();
      cuts_.pop();
      if (cut.known == EvenCut::Known::Exactly) return std::move(cut.planned);
      if (look_closer(cut)) cuts_.push(std::move(cut));
    }
    return std::nullopt;
  }

 private:
  void add(const EvenShape& shape) {
    try {
      const bool recomputes = recompute_ != "none";
      const Plan plan = cut(shape, recomputes);
      if (recomputes || !may_recompute(request_.memory)) {
        append(shape, recomputes, plan);
        return;
      }
      const Plan other = cut(shape, true);
      const bool differs = other.stages != plan.stages;
      append(shape, !differs, plan);
      if (differs) append(shape, true, other);
    } catch (const InputError& error) {
      refuse(error, rank_);
    }
  }

  void append(const EvenShape& shape, bool recomputes, const Plan& plan) {
    cuts_.push({.shape = shape,
                .recomputes = recomputes,
                .planned = {},
                .time = claimed_time(claim_without_exchange(shape, plan)),
                .rank = rank_++,
                .known = EvenCut::Known::Stages});
  }

  void append_tied(std::optional<Plan> plan, EvenCut::Kind kind) {
    if (!plan) return;
    const Seconds claim = claimed_time(*plan);
    cuts_.push({.planned = {*std::move(plan), {}}, .time = claim, .rank = rank_++, .kind = kind});
  }

  static constexpr double kMuchTooLong = 1.5;  ///< times the time that an evaluation gives

  /// Adds the plans with the best claims that are below `limit`, one of each shape, up to `most` with those `seen`.
  void compare(FastestPlan& fastest, std::vector<EvenShape> seen, std::size_t most, Seconds limit) {
    while (seen.size() < most && may_be_faster_than(fastest.time())) {
      std::optional<Planned> other = next(limit);
      if (!other) break;
      if (std::ranges::find(seen, shape_of(other->plan)) != seen.end()) continue;
      seen.push_back(shape_of(other->plan));
      fastest.add(faster(*std::move(other)));
    }
  }

  /// Whether the best claim that is left, if it is much too long, may belong to a plan that takes less than `time`.
  [[nodiscard]] bool may_be_faster_than(Seconds time) const {
    return !cuts_.empty() && cuts_.top().time < kMuchTooLong * time;
  }

  /// Keeps the first refusal of a cut without a claim, or else the first one that came.
  void refuse(const InputError& error, std::size_t rank) {
    if (refusal_ && refused_ <= rank) return;
    refusal_ = error;
    refused_ = rank;
  }

  /// Another cut of the plan's shape with the same largest stage by the profile (`equal_cut`), where there is one. What
  /// makes one cut faster than another is the forwards that a stage runs before its first backward, if it does not run
  /// all of them.
  [[nodiscard]] std::optional<Plan> equal(const Plan& plan, EqualCut wish, const LayerGraph& profile) const {
    if (!require_family(request_.schedule.name).has_formula()) return std::nullopt;
    const ScheduleProgram program = require_schedule(request_.graph, request_.platform, plan);
    const auto replicas = std::ssize(plan.stages.front().replicas);
    const bool runs_all_first = program.in_flight.back() * replicas >= plan.microbatches;
    const bool differs = program.synchronous && program.reaches_in_flight && !runs_all_first;
    if (wish == EqualCut::Fastest && !differs) return std::nullopt;
    Plan other = plan;
    other.stages = equal_cut(on_graph(request_, profile), plan, program, wish);
    if (other.stages.empty()) return std::nullopt;
    recompute_stages(other.stages, recompute_);
    other.predicted = pipeline_claim(request_.graph, request_.platform, other);
    return other;
  }

  /// Other cuts that tie with the first one of a shape, which does not fit. If no actions make it fit, they may have
  /// actions, and one that ties where all is recomputed is added.
  void append_ties(const EvenCut& cut, EvenCut::Kind kind) {
    if (cut.kind != EvenCut::Kind::First) return;
    if (request_.only_shape && kind == EvenCut::Kind::TiedAsItIs) return;
    const Plan& plan = cut.planned.plan;
    for (const EqualCut wish : {EqualCut::Fastest, EqualCut::Smallest}) {
      append_tied(equal(plan, wish, request_.graph), kind);
    }
    if (kind == EvenCut::Kind::TiedAsItIs || !cut.recomputes) return;
    append_tied(equal(plan, EqualCut::Smallest, with_all_recomputed(request_.graph)), kind);
  }

  /// Where stages share devices and no ties are known, what the planner answers if each layer is recomputed, or each
  /// stage: the one with the better claim, if one fits.
  [[nodiscard]] std::optional<Planned> all_recomputed() const {
    std::optional<Planned> best;
    if (require_family(request_.schedule.name).has_formula() || !may_recompute(request_.memory) || request_.only_shape)
      return best;
    for (const std::string recompute : {"layer", "stage"}) {
      PlanResult result = EvenPipelines(planner_, request_, shapes_, recompute).best();
      auto* planned = std::get_if<Planned>(&result);
      if (planned == nullptr || (best && claimed_time(best->plan) <= claimed_time(planned->plan))) continue;
      best = std::move(*planned);
    }
    return best;
  }

  /// A cut with the same largest stage, or with shifted layers, that fits as well, if its claim is as good and it is
  /// faster in an evaluation.
  [[nodiscard]] Planned faster(Planned best) const {
    const bool saves = std::ranges::any_of(best.plan.stages, [](const Stage& stage) { return !stage.memory.empty(); });
    if (saves && recompute_ == "none") return best;
    if (require_family(request_.schedule.name).orders != nullptr && !request_.only_shape)
      return may_shift(request_.options) ? shifted_plan(request_, std::move(best), recompute_) : best;
    try {
      std::optional<Plan> other = equal(best.plan, EqualCut::Fastest, request_.graph);
      if (!other || claimed_time(*other) > claimed_time(best.plan)) return best;
      PlanResult result = judged(request_, {*std::move(other), best.details, best.notes});
      auto* planned = std::get_if<Planned>(&result);
      if (planned == nullptr) return best;
      FastestPlan fastest(planner_, request_);
      fastest.add(best);
      fastest.add(std::move(*planned));
      return *std::move(fastest.best());
    } catch (const InputError&) {
      return best;  // the other cut has neighbours that are not connected
    }
  }

  /// False if the cut does not fit, or if the schedule refuses it.
  bool look_closer(EvenCut& cut) {
    try {
      if (cut.known == EvenCut::Known::Stages) return claim(cut);
      return cut.known == EvenCut::Known::AtLeast ? estimate(cut) : fit(cut);
    } catch (const InputError& error) {
      refuse(error, cut.known == EvenCut::Known::Stages ? cut.rank : kClaimed);
      return false;
    }
  }

  bool claim(EvenCut& cut) {
    Plan& plan = cut.planned.plan;
    plan = this->cut(cut.shape, cut.recomputes);
    plan.predicted = claim_of(cut.shape, plan);
    cut.time = claimed_time(plan);
    cut.known = EvenCut::Known::AtLeast;
    return true;
  }

  static constexpr std::size_t kClaimed = std::numeric_limits<std::size_t>::max();

  [[nodiscard]] Figures claim_of(const EvenShape& shape, const Plan& plan) const {
    if (is_straight(shape, plan)) return pipeline_claim(request_.graph, request_.platform, plan);
    if (is_claim_evaluated(plan)) return evaluated_claim(request_, plan);
    return claim_without_exchange(shape, plan);
  }

  /// The claim, or a lower bound of it that takes no look at links.
  [[nodiscard]] Figures claim_without_exchange(const EvenShape& shape, const Plan& plan) const {
    if (is_straight(shape, plan)) return pipeline_claim_without_exchange(request_.graph, request_.platform, plan);
    const LargestTimes largest = largest_times(request_.graph, request_.platform, plan);
    if (!is_claim_evaluated(plan)) return claimed_figures(plan, largest, static_cast<std::int64_t>(shape.replicas));
    Figures busiest;
    busiest.iteration_time =
        largest.device * static_cast<double>(plan.microbatches) / static_cast<double>(shape.replicas);
    return busiest;
  }

  bool estimate(EvenCut& cut) {
    PlanResult result = judged(request_, cut.planned);
    if (auto* fits = std::get_if<Planned>(&result)) {
      cut.planned = std::move(*fits);
      cut.known = EvenCut::Known::Exactly;
      return true;
    }
    keep_least(std::get<Infeasible>(std::move(result)));
    if (cut.kind == EvenCut::Kind::TiedAsItIs) return false;
    if (request_.memory == MemoryPolicy::Keep || recompute_ != "none") {
      append_ties(cut, EvenCut::Kind::TiedAsItIs);
      return false;
    }
    const std::optional<Figures> saved = estimated_savings(request_, cut.planned);
    append_ties(cut, saved ? EvenCut::Kind::TiedAsItIs : EvenCut::Kind::TiedWithActions);
    if (!saved) return false;
    cut.time = claimed_time(*saved);
    cut.known = EvenCut::Known::Estimated;
    return true;
  }

  bool fit(EvenCut& cut) {
    PlanResult result = judged_with_savings(request_, cut.planned);
    auto* planned = std::get_if<Planned>(&result);
    if (planned == nullptr) {
      append_ties(cut, EvenCut::Kind::TiedWithActions);
      return false;
    }
    cut.planned = std::move(*planned);
    cut.time = claimed_time(cut.planned.plan);
    cut.known = EvenCut::Known::Exactly;
    return true;
  }

  void keep_least(Infeasible none) {
    if (!least_ || none.smallest_memory < least_->smallest_memory) least_ = std::move(none);
  }

  /// Without a claim.
  [[nodiscard]] Plan cut(const EvenShape& shape, bool recomputes) {
    const Placement placement = largest_placement(request_.schedule, shape.length, request_.graph.layers.size());
    const auto runs = device_runs(shape.length, shape.replicas);
    Plan plan = empty_plan(planner_, request_);
    BalancedCuts& table = recomputes ? recomputing_ : usual_;
    plan.stages = placed_stages(request_.graph, request_.platform, placement, runs, table);
    plan.rounds_per_update = rounds_per_update(request_, shape.replicas);
    recompute_stages(plan.stages, recompute_);
    return plan;
  }

  [[nodiscard]] Planned described(Planned planned) const {
    Seconds largest{0};
    Seconds sum{0};
    for (const Stage& stage : planned.plan.stages) {
      const Seconds time = stage_time(request_.graph, request_.platform, stage).total();
      largest = std::max(largest, time);
      sum += time;
    }
    const double mean = sum.value() / static_cast<double>(planned.plan.stages.size());
    const Detail::Record figures = {{"stage_time_s", largest.value()},
                                    {"imbalance", largest > Seconds(0) ? largest.value() / mean : 1.0}};
    planned.details.insert(planned.details.begin(), figures.begin(), figures.end());
    return planned;
  }

  const PlannerInfo& planner_;
  const PlanRequest& request_;
  const std::vector<EvenShape>& shapes_;
  const std::string& recompute_;
  BalancedCuts usual_;
  BalancedCuts recomputing_;
  std::priority_queue<EvenCut, std::vector<EvenCut>, IsLater> cuts_;
  std::size_t rank_ = 0;
  std::optional<Infeasible> least_;  ///< of the cut that needs the least memory without actions
  std::optional<InputError> refusal_;
  std::size_t refused_ = 0;  ///< its rank
};

}  // namespace

std::size_t shapes_to_compare(const LayerGraph& graph) {
  constexpr std::size_t kFewLayers = 500;  // a plan takes a second at most
  return graph.layers.size() <= kFewLayers ? 6 : 2;
}

std::vector<EvenShape> best_even_shapes(const PlannerInfo& planner, const PlanRequest& request,
                                        const std::vector<EvenShape>& shapes, std::size_t most) {
  const std::string as_the_policy_says = "none";
  EvenPipelines pipelines(planner, request, shapes, as_the_policy_says);
  std::vector<EvenShape> best;
  while (best.size() < most) {
    const std::optional<Planned> planned = pipelines.next();
    if (!planned) break;
    const EvenShape shape = shape_of(planned->plan);
    if (std::ranges::find(best, shape) == best.end()) best.push_back(shape);
  }
  return best;
}

PlanResult best_even_pipeline(const PlannerInfo& planner, const PlanRequest& request,
                              const std::vector<EvenShape>& shapes, const std::string& recompute) {
  return EvenPipelines(planner, request, shapes, recompute).best();
}

}  // namespace stagecraft
