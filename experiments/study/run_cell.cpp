#include "experiments/study/run_cell.hpp"

#include "experiments/external_planner.hpp"
#include "experiments/option_text.hpp"
#include "experiments/planning.hpp"
#include "experiments/report/plan_view.hpp"
#include "experiments/report/simulation_record.hpp"
#include "experiments/simulation.hpp"
#include "experiments/study/result_columns.hpp"
#include "planners/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/events_file.hpp"
#include "sim/io/text_file.hpp"
#include "sim/schedule/schedule_info.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace stagecraft {
namespace {

const std::string& word(const Cell& cell, const char* name) {
  static const std::string kNone;
  const Detail* value = find_key(cell.keys, name);
  return value == nullptr ? kNone : std::get<std::string>(value->value);
}

std::optional<std::int64_t> count(const Cell& cell, const char* name) {
  const Detail* value = find_key(cell.keys, name);
  return value == nullptr ? std::nullopt : std::optional(std::get<std::int64_t>(value->value));
}

/// A value as the command line would give it.
std::string option_text(const Detail& value) {
  if (const auto* text = std::get_if<std::string>(&value.value)) return *text;
  if (const auto* flag = std::get_if<bool>(&value.value)) return *flag ? "true" : "false";
  if (const auto* whole = std::get_if<std::int64_t>(&value.value)) return std::to_string(*whole);
  if (const auto* number = std::get_if<double>(&value.value)) return format_number(*number);
  return {};
}

Training training_of(const Cell& cell) {
  Training training;
  training.gradient_copies = count(cell, "training.gradient_copies").value_or(training.gradient_copies);
  training.optimizer_copies = count(cell, "training.optimizer_copies").value_or(training.optimizer_copies);
  training.boundary_buffers = count(cell, "training.boundary_buffers").value_or(training.boundary_buffers);
  if (const Detail* release = find_key(cell.keys, "training.input_gradient_release")) {
    training.input_gradient_release = std::get<double>(release->value);
  }
  return training;
}

PlanningChoices planning_choices(const Cell& cell) {
  PlanningChoices choices;
  const std::string& schedule = word(cell, "schedule");
  if (!schedule.empty()) choices.schedule = read_schedule_option("schedule", schedule);
  choices.microbatches = count(cell, "microbatches");
  choices.global_batch = count(cell, "global_batch");
  choices.microbatch_size = count(cell, "microbatch_size");
  choices.iterations = count(cell, "iterations").value_or(1);
  choices.training = training_of(cell);
  const std::string prefix = option_prefix(word(cell, "planner"));
  for (const auto& [name, value] : cell.keys) {
    if (name.starts_with(prefix)) choices.options.emplace_back(name.substr(prefix.size()), option_text(value));
  }
  return choices;
}

SimulationChoices simulation_choices(const Manifest& manifest, const Cell& cell, const Platform& platform) {
  SimulationChoices choices;
  if (word(cell, "engine") == "evaluate") choices.engine = EngineChoice::Evaluate;
  if (word(cell, "network") == "analytic") choices.network = NetworkModel::Analytic;
  choices.iterations = count(cell, "iterations").value_or(1);
  choices.in_place = true;
  if (const std::string& events = word(cell, "events"); !events.empty()) {
    const StudyFile& file = find_file(manifest, "events", events);
    choices.events = resolve_events(parse_events(read_text_file(file.path), events), platform);
    choices.events_hash = file.sha256;
    choices.noise_seed = noise_seed(cell);
  }
  return choices;
}

/// A planner that is a program has the time of its cell, and less than the cell's end, so that it is told apart.
PlannerInfo planner_of(const Manifest& manifest, const Cell& cell) {
  const std::string& name = word(cell, "planner");
  if (!is_external(name)) return find_planner(name);
  const ExternalCalls calls{.time_limit = 0.9 * manifest.limits.time,
                            .seed = static_cast<std::int64_t>(noise_seed(cell))};
  return external_planner(name, find_file(manifest, "planner", name).path, calls);
}

template <class Figure>
void put(Detail::Record& figures, const std::string& name, const std::optional<Figure>& value) {
  if constexpr (std::is_same_v<Figure, Seconds> || std::is_same_v<Figure, Bytes>) {
    if (value) figures.emplace_back(name, value->value());
  } else {
    if (value) figures.emplace_back(name, *value);
  }
}

std::optional<Bytes> largest_peak(const Figures& figures) {
  const auto largest =
      std::ranges::max_element(figures.peak_memory, {}, [](const auto& entry) { return entry.second; });
  return largest == figures.peak_memory.end() ? std::nullopt : std::optional(largest->second);
}

void put_figures(Detail::Record& into, const std::string& prefix, const Figures& figures) {
  put(into, prefix + "iteration_time_s", figures.iteration_time);
  put(into, prefix + "period_s", figures.period);
  put(into, prefix + "peak_memory_bytes", largest_peak(figures));
}

std::size_t devices_used(const Plan& plan) {
  std::vector<DeviceId> devices;
  for (const Stage& stage : plan.stages) devices.insert(devices.end(), stage.devices.begin(), stage.devices.end());
  std::ranges::sort(devices);
  return static_cast<std::size_t>(std::ranges::unique(devices).begin() - devices.begin());
}

void put_plan(Detail::Record& into, const Plan& plan) {
  into.emplace_back("stages", std::ssize(plan.stages));
  into.emplace_back("devices_used", static_cast<std::int64_t>(devices_used(plan)));
  into.emplace_back("configuration", configuration_text(plan));
  into.emplace_back("resolved_schedule", schedule_text(plan.schedule));
  into.emplace_back("resolved_microbatches", plan.microbatches);
  into.emplace_back("resolved_microbatch_size", plan.microbatch_size);
}

void put_memory(Detail::Record& into, const Report& report, const Platform& platform) {
  const auto fullest =
      std::ranges::max_element(report.devices, {}, [](const DeviceReport& device) { return device.memory.peak; });
  if (fullest != report.devices.end()) into.emplace_back("peak_memory_device", platform.devices[fullest->device].name);
  Detail::Record peaks;
  for (const DeviceReport& device : report.devices) {
    peaks.emplace_back(platform.devices[device.device].name, device.memory.peak.value());
  }
  into.emplace_back("device_peak_memory_bytes", std::move(peaks));
  const auto worst = std::ranges::max_element(report.overflows, {}, &MemoryOverflow::excess);
  if (worst == report.overflows.end()) return;
  into.emplace_back("overflow_bytes", worst->excess.value());
  into.emplace_back("overflow_device", platform.place_name(worst->place));
}

void put_report(Detail::Record& into, const Simulation& simulation, const Plan& plan, const Platform& platform) {
  const Report& report = simulation.report;
  put_figures(into, "", report.figures());
  put(into, "load_s", simulation.load);
  into.emplace_back("throughput_samples_per_s", report.throughput);
  into.emplace_back("bubble_ratio", report.bubble_ratio);
  into.emplace_back("span_bubble_ratio", report.span_bubble_ratio);
  into.emplace_back("ideal_bubble_ratio", report.ideal_bubble_ratio);
  into.emplace_back("recompute_time_s", report.recompute_time.value());
  into.emplace_back("exposed_communication_s", report.exposed_communication.value());
  put_figures(into, "predicted_", plan.predicted);
  put_figures(into, "evaluated_", simulation.evaluated);
  put(into, "prediction_error", simulation.prediction_error(plan.predicted));
  if (report.bottleneck) into.emplace_back("bottleneck", bottleneck_name(*report.bottleneck, platform));
  into.emplace_back("simulated_ops", static_cast<std::int64_t>(report.operations));
  put_memory(into, report, platform);
}

Row infeasible_row(const StudyCell& cell, const Planning& planning) {
  const auto& answer = std::get<Infeasible>(planning.result);
  Row row = failed_row(cell, CellStatus::Infeasible, answer.reason);
  put(row.figures, "smallest_memory_bytes", answer.smallest_memory);
  put(row.figures, "largest_microbatch_size", planning.largest_microbatch_size);
  return row;
}

Row run_planner(const Manifest& manifest, const StudyCell& cell, const Inputs& inputs) {
  const auto ignore = [](const std::string&) {};
  const PlannerInfo planner = planner_of(manifest, cell.cell);
  const Planning planning = make_plan(planner, inputs, planning_choices(cell.cell), ignore);
  Row row;
  if (const Planned* planned = planning.planned()) {
    const Simulation simulation = simulate_plan(planning.graph, inputs.platform, planned->plan,
                                                simulation_choices(manifest, cell.cell, inputs.platform), Settings());
    row.key = cell.key;
    row.status = simulation.report.out_of_memory() ? CellStatus::OutOfMemory : CellStatus::Ok;
    put_report(row.figures, simulation, planned->plan, inputs.platform);
    put_plan(row.figures, planned->plan);
    row.figures.emplace_back("details", planned->details);
    row.timings.emplace_back("planning_time_s", planning.time.value());
    row.timings.emplace_back("wall_time_s", simulation.wall_time.value());
  } else {
    row = infeasible_row(cell, planning);
    row.timings.emplace_back("planning_time_s", planning.time.value());
  }
  return row;
}

}  // namespace

Row failed_row(const StudyCell& cell, CellStatus status, std::string message) {
  return {.key = cell.key, .status = status, .message = std::move(message), .figures = {}, .timings = {}};
}

Row run_cell(const Manifest& manifest, const StudyCell& cell, const Inputs& inputs) {
  try {
    Row row = run_planner(manifest, cell, inputs);
    STAGECRAFT_CHECK(!find_misfit(row.figures), "every figure has its column");
    return row;
  } catch (const PlannerTimeout& error) {
    return failed_row(cell, CellStatus::Timeout, error.what());
  } catch (const PlannerFailure& error) {
    return failed_row(cell, CellStatus::Crashed, error.what());
  } catch (const InputError& error) {
    return failed_row(cell, CellStatus::Invalid, error.what());
  }
}

}  // namespace stagecraft
