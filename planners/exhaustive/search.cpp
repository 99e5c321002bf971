#include "planners/exhaustive/search.hpp"

#include "planners/exhaustive/candidate_costs.hpp"
#include "planners/exhaustive/space.hpp"
#include "planners/planner.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/costs/pipeline_claim.hpp"
#include "planners/shared/costs/work.hpp"
#include "planners/shared/turns/level_shares.hpp"
#include "planners/shared/turns/turn_order.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/model/bandwidths.hpp"
#include "sim/model/check_plan.hpp"
#include "sim/model/graph_order.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/lower.hpp"
#include "sim/schedule/measured_part.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft::exhaustive {

namespace {

constexpr double kTie = 1e-9;  ///< times whose relative difference is less than this count as equal

/// A depth-first search that builds plans stage by stage from the front. `SpaceCount` tells how many plans are below
/// each partial plan, so that plans that are skipped can still be counted.
class Search {
 public:
  Search(const PlanRequest& request, const SearchSettings& settings)
      : request_(request),
        settings_(settings),
        space_(space_of(request, settings)),
        count_(space_),
        free_(all_free(space_.nodes)),
        least_(request, settings.finishes_plans()),
        order_(canonical_order(request.graph)),
        plan_(plan_of(request, {})),
        synchronous_(!is_asynchronous(request.schedule)),
        connected_(space_.devices() == 1 ||
                   (smallest_pair_bandwidth(request.platform).has_value() &&
                    smallest_pair_bandwidth(request.platform, PairUse::Collective).has_value())) {
    found_.candidates = count_.total();
    require_affordable({.what = "the search of " + std::to_string(space_.layers) + " layers on " +
                                std::to_string(space_.devices()) + " devices",
                        .steps = found_.candidates,
                        .unit = "plans",
                        .remedy = "merge layers, plan for fewer devices"},
                       {.steps = settings.max_candidates, .option = "max_candidates"});
  }

  Found run() {
    const std::size_t all = space_.devices();
    for (std::size_t stages = 1; stages <= std::min(space_.layers, all); ++stages) {
      for (std::size_t devices = space_.use_fewer ? stages : all; devices <= all; ++devices) {
        if (count_.completions(stages, space_.layers, devices, free_) > 0) extend(stages, 0, devices);
      }
    }
    replay_the_rest();
    if (found_.best) found_.smallest.reset();
    return std::move(found_);
  }

 private:
  /// Completes the partial plan in `plan_` by exactly `stages` stages of the layers from `begin` on, on exactly
  /// `devices` of the free devices: tries every next piece and recurses.
  void extend(std::size_t stages, std::size_t begin, std::size_t devices) {
    if (stages == 0) {
      judge();
      return;
    }
    const std::size_t last_end = stages == 1 ? space_.layers : space_.layers - stages + 1;
    const std::size_t most = devices - stages + 1;
    for (std::size_t end = stages == 1 ? space_.layers : begin + 1; end <= last_end; ++end) {
      for (std::size_t replicas = stages == 1 ? devices : 1; replicas <= most; ++replicas) {
        const FreeDevices before = free_;
        for_each_choice(space_.nodes, before, replicas, [&](const FreeDevices& after) {
          add_on({begin, end, taken(space_.nodes, before, after)}, after, stages, devices);
        });
      }
    }
  }

  void add_on(Piece piece, const FreeDevices& after, std::size_t stages, std::size_t devices) {
    const std::size_t replicas = piece.devices.size();
    const double rest = count_.completions(stages - 1, space_.layers - piece.end, devices - replicas, after);
    if (rest == 0.0) return;
    for (const bool split : {false, true}) {
      const bool allowed = split ? replicas > 1 && replicas <= space_.most_split : replicas == 1 || space_.round_robin;
      if (!allowed) continue;
      piece.split = split;
      if (settings_.prune && is_hopeless(piece, rest)) continue;
      plan_.stages.push_back(stage_of(order_, piece));
      const FreeDevices before = std::exchange(free_, after);
      extend(stages - 1, piece.end, devices - replicas);
      free_ = before;
      plan_.stages.pop_back();
    }
  }

  /// Whether no plan with this piece can be the best plan, the runner-up, or the smallest one if nothing fits. If so,
  /// its `rest` plans are counted as skipped.
  bool is_hopeless(const Piece& piece, double rest) {
    const Bytes needed = least_.memory_needed(piece);
    if (needed > Bytes(0) && (found_.best || (found_.smallest && needed >= found_.least_memory))) {
      found_.too_large += rest;
      return true;
    }
    if (synchronous_ && is_too_slow(least_.time(piece))) {
      found_.too_slow += rest;
      return true;
    }
    return false;
  }

  /// Whether a plan that takes at least so long can be neither the best nor the runner-up.
  [[nodiscard]] bool is_too_slow(double least) const {
    return found_.runner_up && least * (1.0 - 2.0 * kTie) >= found_.runner_up->time;
  }

  [[nodiscard]] bool is_applicable() const {
    return connected_ || check_plan(request_.graph, request_.platform, plan_).empty();
  }

  /// Judges the complete plan in `plan_`.
  void judge() {
    ++number_;
    const std::optional<Plan> plan = is_applicable() ? plan_that_runs() : std::nullopt;
    if (!plan) {
      ++found_.not_applicable;
      return;
    }
    const Compilation compiled = compile_schedule(request_.graph, request_.platform, *plan);
    const auto* program = std::get_if<ScheduleProgram>(&compiled);
    if (program == nullptr) {  // the schedule cannot run these stages
      ++found_.not_applicable;
      return;
    }
    const Bytes needed = memory_needed(request_.platform, ledger_peaks(request_.graph, request_.platform, *program));
    if (needed == Bytes(0)) {
      rank_if_it_runs(*plan, *program);
      return;
    }
    ++found_.too_large;
    if (found_.best || (found_.smallest && needed >= found_.least_memory)) return;
    found_.smallest = {plan->stages, number_, 0.0};
    found_.least_memory = needed;
  }

  /// The complete plan, as it is judged; none if its schedule refuses it.
  [[nodiscard]] std::optional<Plan> plan_that_runs() const {
    if (!settings_.finishes_plans()) return plan_;
    const Compilation compiled = compile_schedule(request_.graph, request_.platform, plan_);
    const auto* program = std::get_if<ScheduleProgram>(&compiled);
    if (program == nullptr) return std::nullopt;
    Planned planned{plan_, {}};
    planned.plan.predicted.peak_memory = ledger_peaks(request_.graph, request_.platform, *program);
    try {
      planned = with_level_shares(request_, with_ordered_turns(request_, std::move(planned)));
    } catch (const Deadlock&) {  // replicas that gather weights together wait for each other
      return std::nullopt;
    }
    planned.plan.predicted = {};
    return std::move(planned.plan);
  }

  void rank_if_it_runs(const Plan& plan, const ScheduleProgram& program) {
    if (settings_.objective == Objective::Replayed) {
      rank_by_replay(plan);
      return;
    }
    try {
      rank({plan.stages, number_, objective(plan, program)});
    } catch (const Deadlock&) {  // as above
      ++found_.not_applicable;
    }
  }

  void rank_by_replay(const Plan& plan) {
    const Seconds evaluated = request_.judge->evaluate(plan).time;
    if (evaluated == kNever) {
      ++found_.not_applicable;
      return;
    }
    if (settings_.prune && is_too_slow(evaluated.value())) {
      ++found_.too_slow;
    } else if (evaluated.value() < least_evaluated_) {
      least_evaluated_ = evaluated.value();
      replay({plan.stages, number_});
    } else {
      waiting_.push_back({plan.stages, number_, evaluated.value()});
    }
  }

  /// Replays the plans that wait, as far as they may be the best or the runner-up.
  void replay_the_rest() {
    std::ranges::stable_sort(waiting_, {}, &Candidate::time);
    for (Candidate& each : waiting_) {
      if (settings_.prune && is_too_slow(each.time)) {
        ++found_.too_slow;
      } else {
        replay(std::move(each));
      }
    }
  }

  void replay(Candidate candidate) {
    const Seconds time = request_.judge->replay(plan_of(request_, candidate.stages)).time;
    if (time == kNever) {
      ++found_.not_applicable;
      return;
    }
    candidate.time = time.value();
    rank(std::move(candidate));
  }

  [[nodiscard]] double objective(const Plan& plan, const ScheduleProgram& program) const {
    if (settings_.objective == Objective::Predicted)
      return headline(pipeline_claim(request_.graph, request_.platform, plan));
    const std::int64_t least = least_microbatches(program, program.kept->replicas);
    if (least <= plan.microbatches) {
      return synchronous_ ? evaluate_iteration(request_.graph, request_.platform, program).value()
                          : headline(evaluate_program(request_.graph, request_.platform, program).figures());
    }
    Plan longer = plan;
    longer.pattern = program.pattern;
    longer.microbatches = least;
    return headline(evaluate_plan(request_.graph, request_.platform, longer).figures());
  }

  [[nodiscard]] double headline(const Figures& figures) const {
    return (synchronous_ ? *figures.iteration_time : *figures.period).value();
  }

  void rank(Candidate candidate) {
    ++found_.judged;
    const auto beats = [&](const std::optional<Candidate>& other) {
      if (!other || candidate.time < other->time * (1.0 - kTie)) return true;
      return candidate.number < other->number && candidate.time * (1.0 - kTie) <= other->time;
    };
    if (beats(found_.best)) {
      found_.runner_up = std::exchange(found_.best, std::move(candidate));
    } else if (beats(found_.runner_up)) {
      found_.runner_up = std::move(candidate);
    }
  }

  const PlanRequest& request_;
  const SearchSettings& settings_;
  Space space_;
  SpaceCount count_;
  FreeDevices free_;
  LeastCosts least_;
  std::vector<LayerId> order_;
  Plan plan_;
  bool synchronous_;
  bool connected_;
  double number_ = 0;  ///< of the last plan that was complete
  double least_evaluated_ = std::numeric_limits<double>::infinity();
  std::vector<Candidate> waiting_;  ///< for a replay, with their evaluated times
  Found found_;
};

}  // namespace

Space space_of(const PlanRequest& request, const SearchSettings& settings) {
  Space space;
  space.layers = request.graph.layers.size();
  space.nodes = settings.any_devices ? alike_devices(request.platform) : in_platform_order(request.platform);
  space.use_fewer = settings.use_fewer;
  space.round_robin = settings.round_robin;
  space.most_split = settings.split ? static_cast<std::size_t>(request.graph.microbatch_size) : 0;
  return space;
}

Stage stage_of(const std::vector<LayerId>& order, const Piece& piece) {
  Stage stage;
  stage.layers = layers_in(order, piece.begin, piece.end);
  stage.replicas = groups_of_one(piece.devices);
  stage.replication = piece.split ? Replication::Split : Replication::RoundRobin;
  return stage;
}

Plan plan_of(const PlanRequest& request, const std::vector<Stage>& stages) {
  Plan plan = empty_plan(exhaustive_planner, request);
  plan.stages = stages;
  return plan;
}

Found search(const PlanRequest& request, const SearchSettings& settings) {
  (void)is_asynchronous(request.schedule);  // refuses an unknown schedule
  return Search(request, settings).run();
}

}  // namespace stagecraft::exhaustive
