#include "planners/exhaustive/search.hpp"

#include "planners/exhaustive/candidate_costs.hpp"
#include "planners/exhaustive/space.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/costs/pipeline_claim.hpp"
#include "planners/shared/costs/work.hpp"
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
        least_(request),
        order_(canonical_order(request.graph)),
        plan_(plan_of(request, {})),
        synchronous_(!is_asynchronous(request.schedule)),
        connected_(space_.devices == 1 ||
                   (smallest_pair_bandwidth(request.platform).has_value() &&
                    smallest_pair_bandwidth(request.platform, PairUse::Collective).has_value())) {
    found_.candidates = count_.total();
    require_affordable({.what = "the search of " + std::to_string(space_.layers) + " layers on " +
                                std::to_string(space_.devices) + " devices",
                        .steps = found_.candidates,
                        .unit = "plans",
                        .remedy = "merge layers, plan for fewer devices"},
                       {.steps = settings.max_candidates, .option = "max_candidates"});
  }

  Found run() {
    const std::size_t most = std::min(space_.layers, space_.devices);
    for (std::size_t stages = 1; stages <= most; ++stages) {
      for (std::size_t devices = space_.use_fewer ? stages : space_.devices; devices <= space_.devices; ++devices) {
        if (count_.completions(stages, space_.layers, devices) > 0) extend(stages, 0, devices, 0);
      }
    }
    if (found_.best) found_.smallest.reset();
    return std::move(found_);
  }

 private:
  /// Completes the partial plan in `plan_` by exactly `stages` stages of the layers from `begin` on, on exactly
  /// `devices` devices from `first` on: tries every next piece and recurses.
  void extend(std::size_t stages, std::size_t begin, std::size_t devices, std::size_t first) {
    if (stages == 0) {
      judge();
      return;
    }
    const std::size_t last_end = stages == 1 ? space_.layers : space_.layers - stages + 1;
    const std::size_t most = devices - stages + 1;
    for (std::size_t end = stages == 1 ? space_.layers : begin + 1; end <= last_end; ++end) {
      for (std::size_t replicas = stages == 1 ? devices : 1; replicas <= most; ++replicas) {
        for (const bool split : {false, true}) {
          const bool allowed =
              split ? replicas > 1 && replicas <= space_.most_split : replicas == 1 || space_.round_robin;
          if (allowed) add({begin, end, replicas, split}, stages, devices, first);
        }
      }
    }
  }

  void add(const Piece& piece, std::size_t stages, std::size_t devices, std::size_t first) {
    const double rest = count_.completions(stages - 1, space_.layers - piece.end, devices - piece.replicas);
    if (rest == 0.0 || (settings_.prune && is_hopeless(piece, first, rest))) return;
    plan_.stages.push_back(stage_of(order_, piece, first));
    extend(stages - 1, piece.end, devices - piece.replicas, first + piece.replicas);
    plan_.stages.pop_back();
  }

  /// Whether no plan with this piece can be the best plan, the runner-up, or the smallest one if nothing fits. If so,
  /// its `rest` plans are counted as skipped.
  bool is_hopeless(const Piece& piece, std::size_t first, double rest) {
    const Bytes needed = least_.memory_needed(piece, first);
    if (needed > Bytes(0) && (found_.best || (found_.smallest && needed >= found_.least_memory))) {
      found_.too_large += rest;
      return true;
    }
    if (synchronous_ && least_.time(piece, first) * (1.0 - 2.0 * kTie) >= time_to_beat()) {
      found_.too_slow += rest;
      return true;
    }
    return false;
  }

  [[nodiscard]] double time_to_beat() const {
    return found_.runner_up ? found_.runner_up->time : std::numeric_limits<double>::infinity();
  }

  [[nodiscard]] bool is_applicable() const {
    return connected_ || check_plan(request_.graph, request_.platform, plan_).empty();
  }

  /// Judges the complete plan in `plan_`.
  void judge() {
    if (!is_applicable()) {
      ++found_.not_applicable;
      return;
    }
    const Compilation compiled = compile_schedule(request_.graph, request_.platform, plan_);
    const auto* program = std::get_if<ScheduleProgram>(&compiled);
    if (program == nullptr) {  // the schedule cannot run these stages
      ++found_.not_applicable;
      return;
    }
    const Bytes needed = memory_needed(request_.platform, ledger_peaks(request_.graph, request_.platform, *program));
    if (needed == Bytes(0)) {
      rank_if_it_runs(*program);
      return;
    }
    ++found_.too_large;
    if (found_.best || (found_.smallest && needed >= found_.least_memory)) return;
    found_.smallest = {plan_.stages, 0.0};
    found_.least_memory = needed;
  }

  void rank_if_it_runs(const ScheduleProgram& program) {
    try {
      rank({plan_.stages, objective(program)});
    } catch (const Deadlock&) {  // replicas that gather weights together wait for each other
      ++found_.not_applicable;
    }
  }

  [[nodiscard]] double objective(const ScheduleProgram& program) const {
    if (settings_.objective == Objective::Predicted)
      return headline(pipeline_claim(request_.graph, request_.platform, plan_));
    const std::int64_t least = least_microbatches(program, program.kept->replicas);
    if (least <= plan_.microbatches) {
      return synchronous_ ? evaluate_iteration(request_.graph, request_.platform, program).value()
                          : headline(evaluate_program(request_.graph, request_.platform, program).figures());
    }
    Plan longer = plan_;
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
      return !other || candidate.time < other->time * (1.0 - kTie);
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
  LeastCosts least_;
  std::vector<LayerId> order_;
  Plan plan_;
  bool synchronous_;
  bool connected_;
  Found found_;
};

}  // namespace

Space space_of(const PlanRequest& request, const SearchSettings& settings) {
  Space space;
  space.layers = request.graph.layers.size();
  space.devices = request.platform.devices.size();
  space.use_fewer = settings.use_fewer;
  space.round_robin = settings.round_robin;
  space.most_split = settings.split ? static_cast<std::size_t>(request.graph.microbatch_size) : 0;
  return space;
}

Stage stage_of(const std::vector<LayerId>& order, const Piece& piece, std::size_t first) {
  Stage stage;
  stage.layers = layers_in(order, piece.begin, piece.end);
  for (std::size_t i = 0; i < piece.replicas; ++i) stage.replicas.emplace_back(DeviceId(first + i));
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
