#include "experiments/view/simulation_text.hpp"

#include "experiments/run/degrees_text.hpp"
#include "experiments/view/basis_words.hpp"
#include "experiments/view/cost_view.hpp"
#include "experiments/view/events_view.hpp"
#include "experiments/view/figures.hpp"
#include "experiments/view/ladder_view.hpp"
#include "experiments/view/long_run_view.hpp"
#include "experiments/view/plan_view.hpp"
#include "experiments/view/rates_view.hpp"
#include "experiments/view/replanning_view.hpp"
#include "experiments/view/table.hpp"
#include "experiments/view/update_words.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/short_number.hpp"
#include "sim/base/text.hpp"
#include "sim/model/plan.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

constexpr std::size_t kShownIterations = 8;
constexpr double kOtherThroughput = 0.1;

/// The largest peak memory of a device, without the device's name.
std::string largest_peak_text(const Figures& figures) {
  Bytes largest{0};
  for (const auto& [device, peak] : figures.peak_memory) largest = std::max(largest, peak);
  return figures.peak_memory.empty() ? "-" : format_human_bytes(largest);
}

std::string headline_text(const Simulation& simulation, const Plan& plan) {
  const Report& report = simulation.report;
  const std::string time = report.period ? "period per microbatch " + format_human_seconds(*report.period)
                                         : "iteration time " + time_or_dash(headline(report.figures()));
  return schedule_text(plan.schedule) + ", " + microbatches_text(simulation, plan) + ": " + time + ", " +
         short_number(report.throughput) + " samples/s, bubble ratio " + percent(report.bubble_ratio) + "\n";
}

/// A line; empty if nothing is known.
std::string rates_line(const Simulation& simulation) {
  const std::string text = rates_text(simulation.rates);
  return text.empty() ? "" : text + "\n";
}

/// The throughput of a whole run in which the plan changes, or in which something else does and the measured part has
/// another one.
std::string whole_run_text(const Report& report) {
  if (report.course.windows.empty() || report.throughput <= 0.0) return "";
  const std::vector<WindowReport>& windows = report.course.windows;
  const double whole = static_cast<double>(samples_of(windows)) / windows.back().at.value();
  if (report.course.replans.empty() && std::abs(whole / report.throughput - 1.0) <= kOtherThroughput) return "";
  return "; the whole run has " + short_number(whole) + " samples/s";
}

/// Whether the period has converged; nothing for a synchronous schedule.
std::string convergence_text(const Report& report) {
  if (!report.period) return "";
  return "the period has " + std::string(report.converged() ? "" : "not ") + "converged: " + drift_text(report) +
         whole_run_text(report) + "\n";
}

/// The time of each iteration where they may differ.
std::string iterations_text(const Report& report) {
  if (report.iterations.size() < 2) return "";
  std::string text = "iterations:";
  for (std::size_t i = 0; i < std::min(report.iterations.size(), kShownIterations); ++i) {
    text += (i == 0 ? " " : ", ") + format_human_seconds(report.iterations[i]);
  }
  if (report.iterations.size() > kShownIterations) {
    text += ", … (" + std::to_string(report.iterations.size()) + " in all)";
  }
  return text + "; the figures are those of the last one\n";
}

/// `least possible: 1.2 s, limited by the work of gpu3; this run takes 1.08 times that`; nothing where there is none,
/// and where a table says it.
std::string bound_text(const Simulation& simulation, const Platform& platform) {
  if (simulation.ladder) return "";
  const auto& bound = simulation.bound;
  const std::optional<double> over = simulation.over_bound();
  if (!bound || !over) return "";
  return "least possible: " + format_human_seconds(bound->time) + ", limited by " +
         bound_cause_text(bound->cause, platform) + "; this run takes " + short_number(*over) + " times that\n";
}

std::string comparison_text(const Simulation& simulation, const Plan& plan, const Platform& platform) {
  const Figures simulated = simulation.report.figures();
  // A plan may predict an iteration time where the simulation has a period, or the other way round; the cell is then
  // `-`.
  const auto row = [&](const std::string& name, const Figures& figures) {
    const std::optional<Seconds> time = simulated.period ? figures.period : figures.iteration_time;
    return std::vector<std::string>{name, time_or_dash(time), largest_peak_text(figures)};
  };
  Table table{{"", simulated.period ? "period" : "iteration time", "largest peak"}, {}};
  table.rows.push_back(row("the planner's claim", plan.predicted));
  table.rows.push_back(row("evaluated without contention", simulation.evaluated));
  if (simulation.choices.engine == EngineChoice::Replay) table.rows.push_back(row("replayed", simulated));
  const PlanLoad& load = simulation.load;
  if (load.least_period) {
    table.rows.push_back({"busiest device or link", time_or_dash(load.least_period), ""});
  } else if (load.busiest && simulation.choices.network == NetworkModel::Analytic) {
    table.rows.push_back({"busiest device or channel", time_or_dash(load.busiest), ""});
  }
  std::string text = to_text(table) + bound_text(simulation, platform);
  if (const auto error = simulation.prediction_error(plan.predicted)) {
    text += "error of the claim: " + signed_percent(*error) + "\n";
  }
  return text;
}

std::string basis_line(const Simulation& simulation) {
  const std::string text = basis_text(ranges_of({simulation.basis}));
  return text.empty() ? "" : text + "\n";
}

std::string stages_text(const std::vector<StageId>& stages) {
  std::string text;
  for (StageId stage : stages) text += (text.empty() ? "" : ",") + std::to_string(stage.value());
  return text;
}

/// `gpu0..gpu7`, or where such a text is long its beginning and the number of devices.
std::string group_text(const Platform& platform, const std::vector<DeviceId>& devices) {
  constexpr std::size_t kLongest = 24;
  std::string text = devices_text(platform, devices);
  if (text.size() <= kLongest || devices.size() == 1) return text;
  const std::size_t comma = text.rfind(',', kLongest);
  return text.substr(0, comma == std::string::npos ? text.find(',') : comma) + ",… (" + std::to_string(devices.size()) +
         ")";
}

/// What the table says of a device, without its name.
std::vector<std::string> device_cells(const DeviceReport& device, bool has_groups) {
  const TimeSplit& time = device.time;
  const Seconds whole = time.compute + time.recompute + time.exchange + time.exposed_communication + time.all_reduce +
                        time.collective_wait + time.update + time.idle;
  const auto share = [&](Seconds part) { return whole > Seconds(0) ? percent(part / whole) : "-"; };
  const bool fits = device.memory.peak <= device.memory.capacity;
  std::vector<std::string> cells = {stages_text(device.stages),
                                    share(time.compute),
                                    share(time.recompute),
                                    share(time.exposed_communication),
                                    share(time.all_reduce),
                                    share(time.collective_wait),
                                    share(time.update),
                                    share(time.idle),
                                    std::to_string(device.in_flight_peak),
                                    format_human_bytes(device.memory.peak) + (fits ? "" : "!"),
                                    format_human_bytes(device.memory.capacity),
                                    percent(device.memory.idle_share())};
  if (has_groups) cells.insert(cells.begin() + 3, share(time.exchange));
  return cells;
}

/// One line for all devices of which the table says the same.
std::string device_table(const Report& report, const Platform& platform) {
  struct Group {
    std::vector<std::string> cells;
    std::vector<DeviceId> devices;
  };
  std::vector<Group> groups;
  const auto exchanges = [](const DeviceReport& device) { return device.time.exchange > Seconds(0); };
  const bool has_groups = std::ranges::any_of(report.devices, exchanges);
  for (const DeviceReport& device : report.devices) {
    std::vector<std::string> cells = device_cells(device, has_groups);
    auto group = std::ranges::find(groups, cells, &Group::cells);
    if (group == groups.end()) group = groups.insert(groups.end(), {std::move(cells), {}});
    group->devices.push_back(device.device);
  }
  Table table{{"device", "stages", "compute", "recompute", "exposed comm.", "all-reduce", "all-reduce wait", "update",
               "idle", "in flight", "peak memory", "usable", "unused"},
              {}};
  if (has_groups) table.header.insert(table.header.begin() + 4, "exchange");
  for (const Group& group : groups) {
    std::vector<std::string>& row = table.rows.emplace_back();
    row.push_back(group_text(platform, group.devices));
    row.insert(row.end(), group.cells.begin(), group.cells.end());
  }
  return to_text(table);
}

}  // namespace

std::string microbatches_text(const Simulation& simulation, const Plan& plan) {
  return counted(simulation.length.microbatches, "microbatch") + " of " +
         microbatch_text(plan.microbatch_size, plan.degrees) + division_text(plan);
}

std::string simulation_text(const Simulation& simulation, const Plan& plan, const Platform& platform,
                            const Explanation& explanation, bool timings) {
  const Report& report = simulation.report;
  std::string text = headline_text(simulation, plan) + rates_line(simulation) + cost_line(simulation.cost) +
                     updates_text(simulation.updates) + convergence_text(report) +
                     long_run_line(simulation.long_run, simulation.choices.verifies_repetition) +
                     iterations_text(report) + events_text(simulation, platform) + replanning_text(simulation) +
                     overflow_text(report, platform, explanation.remedies) + "\n" + device_table(report, platform) +
                     bottleneck_text(report, platform, explanation) + "\n" +
                     comparison_text(simulation, plan, platform) + basis_line(simulation);
  if (simulation.ladder) text += "\n" + ladder_text(*simulation.ladder, platform);
  if (timings) {
    text += "\n" + counted(report.operations, "operation") + ", " + to_string(simulation.choices.engine) + " in " +
            format_human_seconds(simulation.wall_time) + "\n";
  }
  return text;
}

}  // namespace stagecraft
