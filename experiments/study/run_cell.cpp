#include "experiments/study/run_cell.hpp"

#include "experiments/run/chosen_degrees.hpp"
#include "experiments/run/chosen_size.hpp"
#include "experiments/run/external_planner.hpp"
#include "experiments/run/judge.hpp"
#include "experiments/run/largest_size.hpp"
#include "experiments/run/variation.hpp"
#include "experiments/study/result_columns.hpp"
#include "experiments/view/figures.hpp"
#include "sim/base/error.hpp"
#include "sim/io/events_file.hpp"

#include <utility>

namespace stagecraft {
namespace {

/// A planner of a cell. The time limit of an external planner is 90 % of the cell's, so that a planner that is too slow
/// is reported as such before the cell itself runs out of time.
std::shared_ptr<const PlannerInfo> planner_of(const Manifest& manifest, const CellSpec& cell, const std::string& name) {
  if (!is_external(name)) return resolve_planner(name);
  const ExternalCalls calls{.time_limit = 0.9 * manifest.limits.time,
                            .seed = static_cast<std::int64_t>(cell.noise_seed)};
  return std::make_shared<PlannerInfo>(external_planner(name, find_file(manifest, "planner", name).path, calls));
}

SimulationChoices simulation_choices(const Manifest& manifest, const CellSpec& cell, const Inputs& given,
                                     const Platform& platform, CellUse use) {
  SimulationChoices choices;
  choices.engine = cell.engine;
  choices.network = cell.network;
  choices.iterations = cell.planning.iterations;
  choices.run_length = cell.planning.run_length;
  choices.replan = read_replan_option("replan", cell.replan,
                                      [&](const std::string& name) { return planner_of(manifest, cell, name); });
  choices.in_place = use == CellUse::RowOnly;
  if (use == CellUse::Recorded) choices.recording.emplace();
  if (!cell.events.empty()) {
    const StudyFile& file = find_file(manifest, "events", cell.events);
    choices.set_events(load_events(file.path, cell.events), given.model, platform);
    for (Model& model : choices.models) model = varied(std::move(model), cell.variation);
    choices.noise_seed = cell.noise_seed;
  }
  return choices;
}

/// A cell's answer.
struct CellPlanning {
  Planning planning;
  std::string remark;  ///< if it is less than was asked for
};

CellPlanning plan_cell(const PlannerInfo& planner, const Inputs& inputs, const CellSpec& cell) {
  const auto ignore = [](const std::string&) {};
  if (!cell.at_largest_size) return {plan_at_chosen_degrees(planner, inputs, cell.planning, ignore), {}};
  if (cell.planning.fastest_degrees) {
    throw InputError("the largest microbatch size needs a number of devices in a tensor group, not auto");
  }
  LargestSizeChoices choices;
  choices.planning = cell.planning;
  LargestSize largest = find_largest_size(planner, inputs, choices, ignore);
  return {std::move(largest.planning), open_sizes_text(largest)};
}

/// Plans for a profile with noise and returns the plan with the true profile, on which it will run.
/// **Throws** InputError if the plan cannot run there, which a plan with orders or a length of its own may not.
CellPlanning plan_with_noise(const PlannerInfo& planner, const Inputs& inputs, const CellSpec& cell) {
  const Variation noise{.noise = ProfileNoise{cell.profile_noise, cell.noise_seed}};
  CellPlanning answer = plan_cell(planner, varied(inputs, noise), cell);
  Planning& planning = answer.planning;
  planning.graph = profile_at(
      inputs.model, planning.graph.microbatch_size, cell.planning.training.stash, [](const std::string&) {},
      planning.graph.degrees);
  if (const Planned* planned = planning.planned()) {
    Judgement judged = judge_plan(planning.graph, inputs.platform, {planned->plan, {}});
    refuse_findings("", "the plan for the noisy profile does not run with the true one", judged.findings, "");
    planning.program = std::move(judged.program);
  }
  return answer;
}

Row run_planner(const Manifest& manifest, const std::string& key, const CellSpec& cell, const Inputs& given) {
  const CellRun run = simulate_cell(manifest, cell, given, CellUse::RowOnly);
  const Planning& planning = run.planning;
  Row row{.key = key, .status = CellStatus::Infeasible, .message = run.remark, .figures = {}, .timings = {}};
  row.timings.emplace_back("planning_time_s", planning.time.value());
  if (run.simulation) {
    const Simulation& simulation = *run.simulation;
    row.status = simulation.report.out_of_memory() ? CellStatus::OutOfMemory : CellStatus::Ok;
    row.figures = figure_record(planning, SimulatedPlan{simulation, planning.planned()->plan, run.platform});
    row.timings.emplace_back("wall_time_s", simulation.wall_time.value());
  } else {
    row.message = std::get<Infeasible>(planning.result).reason;
    row.figures = figure_record(planning, std::nullopt);
  }
  return row;
}

}  // namespace

CellRun simulate_cell(const Manifest& manifest, const CellSpec& cell, const Inputs& given, CellUse use) {
  const std::shared_ptr<const PlannerInfo> planner = planner_of(manifest, cell, cell.planner);
  const Inputs inputs = varied(given, cell.variation);
  CellPlanning answer =
      cell.profile_noise > 0.0 ? plan_with_noise(*planner, inputs, cell) : plan_cell(*planner, inputs, cell);
  CellRun run{planner, inputs.platform, std::move(answer.planning), std::move(answer.remark), std::nullopt};
  if (run.planning.planned() != nullptr) {
    run.simulation = simulate_program(run.planning.graph, run.platform, *run.planning.program,
                                      simulation_choices(manifest, cell, given, run.platform, use), Settings());
  }
  return run;
}

Row failed_row(const std::string& key, CellStatus status, std::string message) {
  return {.key = key, .status = status, .message = std::move(message), .figures = {}, .timings = {}};
}

Row run_cell(const Manifest& manifest, const std::string& key, const CellSpec& cell, const Inputs& inputs) {
  try {
    Row row = run_planner(manifest, key, cell, inputs);
    STAGECRAFT_CHECK(!find_misfit(row.figures), "every figure has its column");
    return row;
  } catch (const PlannerTimeout& error) {
    return failed_row(key, CellStatus::Timeout, error.what());
  } catch (const PlannerFailure& error) {
    return failed_row(key, CellStatus::Crashed, error.what());
  } catch (const InputError& error) {
    return failed_row(key, CellStatus::Invalid, error.what());
  }
}

}  // namespace stagecraft
