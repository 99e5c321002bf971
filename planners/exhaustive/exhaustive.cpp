#include "planners/exhaustive/candidate_costs.hpp"
#include "planners/exhaustive/pipedream_forms.hpp"
#include "planners/exhaustive/sample.hpp"
#include "planners/exhaustive/search.hpp"
#include "planners/planner.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/costs/limits.hpp"
#include "planners/shared/costs/pipeline_claim.hpp"
#include "planners/shared/costs/require_formula.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/schedule/schedule_family.hpp"

namespace stagecraft {

extern const PlannerInfo exhaustive_planner;

namespace exhaustive {
namespace {

Objective objective_of(const Options& options) {
  const std::string& word = options.word("objective");
  if (word == "replayed") return Objective::Replayed;
  return word == "evaluated" ? Objective::Evaluated : Objective::Predicted;
}

bool replays_plans(const Options& options) { return objective_of(options) == Objective::Replayed; }

SearchSettings settings_of(const Options& options) {
  SearchSettings settings;
  settings.objective = objective_of(options);
  settings.any_devices = options.word("devices") == "any";
  settings.use_fewer = options.flag("use_fewer");
  settings.round_robin = options.word("replication") != "split";
  settings.split = options.word("replication") != "round-robin";
  settings.prune = options.flag("prune");
  settings.max_candidates = static_cast<double>(options.count("max_candidates"));
  return settings;
}

Detail runner_up(const std::optional<Candidate>& candidate) {
  if (!candidate) return {};
  Detail::List stages;
  for (const Stage& stage : candidate->stages) {
    stages.emplace_back(Detail::Record{{"layers", static_cast<std::int64_t>(stage.layers.size())},
                                       {"replicas", static_cast<std::int64_t>(stage.replicas.size())},
                                       {"split", stage.replication == Replication::Split}});
  }
  return Detail::Record{{"time_s", candidate->time}, {"stages", std::move(stages)}};
}

Infeasible nothing_fits(const PlanRequest& request, const Found& found) {
  const std::string all = "none of the " + std::to_string(static_cast<std::int64_t>(found.candidates)) + " plans ";
  if (!found.smallest) return {all + "can be run", {}, {}, Bytes(0), "try other devices or another schedule"};
  const Plan plan = plan_of(request, found.smallest->stages);
  const ScheduleProgram program = require_schedule(request.graph, request.platform, plan);
  Infeasible none = *memory_overflow(request.platform, plan, ledger_peaks(request.graph, request.platform, program));
  none.reason = all + "fits; in the one that needs the least memory, " + none.reason;
  none.is_costly = found.candidates > kMostCandidatesToRepeat;
  return none;
}

/// What PipeDream's formulas say about a plan; null if two devices are not connected.
void add_pipedream_forms(const PlanRequest& request, const std::vector<Stage>& stages, Detail::Record& details) {
  const std::optional<PipedreamForms> forms = pipedream_forms(request, stages);
  details.emplace_back("pipedream_paper_period_s", forms ? Detail(forms->paper.value()) : Detail());
  details.emplace_back("pipedream_program_period_s", forms ? Detail(forms->program.value()) : Detail());
}

PlanResult plan_sampled(const PlanRequest& request) {
  const Sample drawn = sample(request, settings_of(request.options), request.options.count("sample"));
  if (drawn.stages.empty())
    return Infeasible{"none of " + std::to_string(drawn.drawn) + " plans drawn at random fits and can be run",
                      {},
                      {},
                      Bytes(0),
                      "try other devices, another schedule or smaller microbatches"};
  Plan plan = plan_of(request, drawn.stages);
  plan.predicted = pipeline_claim(request.graph, request.platform, plan);
  Detail::Record details{{"drawn", drawn.drawn}};
  add_pipedream_forms(request, drawn.stages, details);
  return judged(request, {std::move(plan), std::move(details)});
}

void require_replays(const PlanRequest& request) {
  if (!replays_plans(request.options)) return;
  if (request.judge == nullptr) {
    throw InputError("planner 'exhaustive' with objective=replayed decides by replays, and re-planning makes none", {},
                     "re-plan with objective=evaluated");
  }
  if (!is_asynchronous(request.schedule)) return;
  throw InputError("planner 'exhaustive' with objective=replayed compares the times of iterations, and schedule " +
                       quote(request.schedule.name) + " does not flush",
                   {}, "use a schedule that flushes, such as 1f1b, or objective=evaluated");
}

PlanResult plan_exhaustive(const PlanRequest& request) {
  require_formula(exhaustive_planner, request);
  require_replays(request);
  if (request.options.count("sample") > 0) return plan_sampled(request);
  const Found found = search(request, settings_of(request.options));
  if (!found.best) return nothing_fits(request, found);
  Plan plan = plan_of(request, found.best->stages);
  plan.predicted = pipeline_claim(request.graph, request.platform, plan);
  Detail::Record details{{"candidates", static_cast<std::int64_t>(found.candidates)},
                         {"judged", static_cast<std::int64_t>(found.judged)},
                         {"too_slow", static_cast<std::int64_t>(found.too_slow)},
                         {"too_large", static_cast<std::int64_t>(found.too_large)},
                         {"not_applicable", static_cast<std::int64_t>(found.not_applicable)},
                         {"objective_s", found.best->time},
                         {"runner_up", runner_up(found.runner_up)}};
  add_pipedream_forms(request, found.best->stages, details);
  return judged(request, {std::move(plan), std::move(details)});
}

}  // namespace
}  // namespace exhaustive

const PlannerInfo exhaustive_planner{
    .name = "exhaustive",
    .summary =
        "tries every cut of the layers and every number of replicas, in platform order or on any devices; exact, for "
        "small graphs",
    .source = "brute force",
    .default_schedule = "1f1b",
    .options = {{"objective",
                 std::string("evaluated"),
                 "the time to minimise: that of the evaluation, the prediction of the cost model, or that of a replay",
                 {"evaluated", "predicted", "replayed"}},
                {"devices",
                 std::string("order"),
                 "which devices stages may have: the next ones in platform order, or any",
                 {"order", "any"}},
                {"replication",
                 std::string("round-robin"),
                 "how replicas share a stage: whole microbatches alternate, each is divided, or the better of both",
                 {"round-robin", "split", "either"}},
                {"use_fewer", true, "devices may be left idle; in platform order those at its end"},
                {"prune", true, "skip plans that can be neither the best nor the runner-up"},
                {"sample",
                 std::int64_t{0},
                 "draw a plan at random instead of searching; equal numbers draw equal plans",
                 {},
                 0,
                 1e9},
                {"max_candidates", kMostCandidates, "refuse a search of more plans than this", {}, 1, 1e12}},
    .plan = exhaustive::plan_exhaustive,
    .only_by_name = true,
    .cuts_by_memory = true,
    .wants_judge = exhaustive::replays_plans,
};

}  // namespace stagecraft
