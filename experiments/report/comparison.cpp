#include "experiments/report/comparison.hpp"

#include "experiments/report/plan_view.hpp"
#include "experiments/report/simulation_record.hpp"
#include "experiments/report/table.hpp"
#include "sim/base/text.hpp"

#include <algorithm>

namespace stagecraft {
namespace {

std::string or_dash(const std::optional<Seconds>& value) { return value ? format_human_seconds(*value) : "-"; }

bool is_asynchronous(const ComparisonRow& row) { return row.simulation && row.simulation->report.period; }

/// The device whose memory is fullest, as `peak/capacity`.
std::string fullest_memory(const Report& report) {
  const DeviceReport* fullest = nullptr;
  double highest = -1.0;
  for (const DeviceReport& device : report.devices) {
    const double share = static_cast<double>(device.memory.peak.value()) /
                         static_cast<double>(std::max<std::int64_t>(device.memory.capacity.value(), 1));
    if (share > highest) fullest = &device;
    highest = std::max(highest, share);
  }
  if (fullest == nullptr) return "-";
  return format_human_bytes(fullest->memory.peak) + " / " + format_human_bytes(fullest->memory.capacity);
}

std::vector<std::string> infeasible_cells(const ComparisonRow& row) {
  std::vector<std::string> cells(10, "-");
  cells.front() = row.planning.planner->name;
  cells.back() = "infeasible";
  return cells;
}

std::vector<std::string> cells_of(const ComparisonRow& row) {
  if (!row.simulation) return infeasible_cells(row);
  const Plan& plan = row.planning.planned()->plan;
  const Simulation& simulation = *row.simulation;
  const Report& report = simulation.report;
  const auto error = simulation.prediction_error(plan.predicted);
  const Figures figures = report.figures();
  return {row.planning.planner->name,
          plan.schedule.name + (report.period ? " *" : ""),
          configuration_text(plan),
          short_number(report.throughput),
          or_dash(headline(figures)),
          or_dash(headline(simulation.evaluated)),
          or_dash(report.period ? plan.predicted.period : plan.predicted.iteration_time) +
              (error ? " (" + std::string(*error < 0.0 ? "" : "+") + percent(*error) + ")" : ""),
          percent(report.bubble_ratio),
          fullest_memory(report),
          report.out_of_memory() ? "out of memory" : "ok"};
}

/// Why rows have no figures, or figures that no machine would show.
std::string notes(const Comparison& comparison) {
  std::string text;
  for (const ComparisonRow& row : comparison.rows) {
    const std::string& name = row.planning.planner->name;
    if (const auto* infeasible = std::get_if<Infeasible>(&row.planning.result)) {
      text += name + ": " + infeasible->reason + (infeasible->hint.empty() ? "" : " (" + infeasible->hint + ")") + "\n";
    } else if (!row.has_run()) {
      const MemoryOverflow& overflow = row.simulation->report.overflows.front();
      text += name + ": " + comparison.inputs.platform.place_name(overflow.place) + " lacks " +
              format_human_bytes(overflow.excess) + "\n";
    }
  }
  return text;
}

std::string one_text(const Comparison& comparison, bool timings) {
  const bool replays = std::ranges::any_of(comparison.rows, [](const ComparisonRow& row) {
    return row.simulation && row.simulation->choices.engine == EngineChoice::Replay;
  });
  Table table{{"planner", "schedule", "replicas", "samples/s", replays ? "replayed" : "simulated", "evaluated",
               "predicted", "bubble", "fullest memory", "outcome"},
              {}};
  if (timings) table.header.insert(table.header.end() - 1, "planning");
  for (const ComparisonRow& row : comparison.rows) {
    std::vector<std::string> cells = cells_of(row);
    if (timings) cells.insert(cells.end() - 1, format_human_seconds(row.planning.time));
    table.rows.push_back(std::move(cells));
  }
  const LayerGraph& graph = comparison.rows.front().planning.graph;
  return graph.name + " on " + comparison.inputs.platform.spec.name + ", microbatches of " +
         std::to_string(graph.microbatch_size) + " samples\n" + to_text(table) + notes(comparison);
}

Detail::Record row_record(const ComparisonRow& row, const Platform& platform, bool timings) {
  Detail::Record record = planning_record(row.planning, platform, timings);
  if (row.simulation) {
    const Plan& plan = row.planning.planned()->plan;
    record.emplace_back("simulation", simulation_record(*row.simulation, plan, platform, timings));
  }
  return record;
}

}  // namespace

std::string comparison_text(const std::vector<Comparison>& comparisons, bool timings) {
  std::string text;
  bool any_asynchronous = false;
  for (const Comparison& comparison : comparisons) {
    text += (text.empty() ? "" : "\n") + one_text(comparison, timings);
    any_asynchronous = any_asynchronous || std::ranges::any_of(comparison.rows, &is_asynchronous);
  }
  text += "\nTimes are of one iteration; samples/s compares all rows.\n";
  if (any_asynchronous) {
    text += "* asynchronous: no flush between iterations, older weights; times are of one microbatch\n";
  }
  return text;
}

Detail::Record comparison_record(const std::vector<Comparison>& comparisons, bool timings) {
  Detail::List models;
  for (const Comparison& comparison : comparisons) {
    Detail::List rows;
    for (const ComparisonRow& row : comparison.rows) {
      rows.emplace_back(row_record(row, comparison.inputs.platform, timings));
    }
    models.emplace_back(
        Detail::Record{{"model", comparison.inputs.model.profiles.front().name}, {"rows", std::move(rows)}});
  }
  return {{"platform", comparisons.front().inputs.platform.spec.name}, {"models", std::move(models)}};
}

}  // namespace stagecraft
