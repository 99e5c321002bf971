#include "experiments/view/comparison.hpp"

#include "experiments/view/plan_view.hpp"
#include "experiments/view/simulation_record.hpp"
#include "experiments/view/table.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <algorithm>

namespace stagecraft {
namespace {

constexpr std::size_t kFigures = 9;  // columns of a row before its timing and outcome

bool is_asynchronous(const ComparisonRow& row) { return row.simulation && row.simulation->report.period; }

bool has_even_stages(const ComparisonRow& row) {
  return row.simulation && configuration_text(*row.plan()).find('x') != std::string::npos;
}

/// `peak / capacity` of the device with the highest share of its memory in use.
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

std::string prediction_text(const Simulation& simulation, const Plan& plan) {
  const auto error = simulation.prediction_error(plan.predicted);
  const std::string claim =
      time_or_dash(simulation.report.period ? plan.predicted.period : plan.predicted.iteration_time);
  return error ? claim + " (" + signed_percent(*error) + ")" : claim;
}

std::vector<std::string> cells_of(const ComparisonRow& row, bool timings) {
  std::vector<std::string> cells{row.planner->name};
  if (row.simulation) {
    const Plan& plan = *row.plan();
    const Report& report = row.simulation->report;
    cells.insert(cells.end(),
                 {schedule_text(plan.schedule) + (report.period ? " *" : ""), configuration_text(plan),
                  short_number(report.throughput), time_or_dash(headline(report.figures())),
                  time_or_dash(headline(row.simulation->evaluated)), prediction_text(*row.simulation, plan),
                  percent(report.bubble_ratio), fullest_memory(report)});
  } else {
    cells.resize(kFigures, "-");
  }
  if (timings) cells.push_back(row.planning ? format_human_seconds(row.planning->time) : "-");
  std::string outcome = row.outcome();
  std::ranges::replace(outcome, '_', ' ');
  cells.push_back(outcome);
  return cells;
}

/// The reason why a row has no figures, or figures that no machine could reach because memory does not suffice.
std::string note(const ComparisonRow& row, const Platform& platform) {
  if (!row.planning) {
    const std::string refusal = row.refusal->what();
    const std::string name = row.planner->name + ": ";
    return (refusal.starts_with(name) ? "" : name) + refusal + "\n";
  }
  if (row.planning->planned() == nullptr) {
    return row.planner->name + ": " + infeasible_text(*row.planning, platform, "  ");
  }
  if (!row.simulation->report.out_of_memory()) return "";
  const MemoryOverflow& overflow = row.simulation->report.overflows.front();
  return row.planner->name + ": " + platform.place_name(overflow.place) + " lacks " +
         format_human_bytes(overflow.excess) + "\n";
}

std::string one_text(const Comparison& comparison, bool timings) {
  const bool replays = std::ranges::any_of(comparison.rows, [](const ComparisonRow& row) {
    return row.simulation && row.simulation->choices.engine == EngineChoice::Replay;
  });
  Table table{{"planner", "schedule", "replicas", "samples/s", replays ? "replayed" : "simulated", "evaluated",
               "predicted", "bubble", "fullest memory"},
              {},
              3};
  STAGECRAFT_CHECK(table.header.size() == kFigures, "a cell for each figure");
  if (timings) table.header.emplace_back("planning");
  table.header.emplace_back("outcome");
  std::string notes;
  for (const ComparisonRow& row : comparison.rows) {
    table.rows.push_back(cells_of(row, timings));
    notes += note(row, comparison.inputs.platform);
  }
  return comparison.inputs.model.profiles.front().name + " on " + comparison.inputs.platform.spec.name +
         ", microbatches of " + counted(comparison.microbatch_size, "sample") + "\n" + to_text(table) + notes;
}

Detail::Record row_record(const ComparisonRow& row, const Inputs& inputs, bool timings) {
  if (!row.planning) return {{"planner", row.planner->name}, {"outcome", "refused"}, {"reason", row.refusal->what()}};
  Detail::Record record = planning_record(*row.planning, row.evaluated, inputs.platform, timings);
  if (row.simulation) {
    const Explanation explanation = explain(inputs, row.planning->graph, *row.plan(), *row.simulation);
    record.emplace_back("simulation",
                        simulation_record(*row.simulation, *row.plan(), inputs.platform, explanation, timings));
  }
  return record;
}

}  // namespace

const Plan* ComparisonRow::plan() const {
  const Planned* planned = planning ? planning->planned() : nullptr;
  return planned == nullptr ? nullptr : &planned->plan;
}

std::string ComparisonRow::outcome() const {
  if (!planning) return "refused";
  if (!simulation) return "infeasible";
  return simulation->report.out_of_memory() ? "out_of_memory" : "ok";
}

std::string comparison_text(const std::vector<Comparison>& comparisons, bool timings) {
  std::string text;
  bool any_asynchronous = false;
  bool any_even = false;
  for (const Comparison& comparison : comparisons) {
    text += (text.empty() ? "" : "\n") + one_text(comparison, timings);
    any_even = any_even || std::ranges::any_of(comparison.rows, &has_even_stages);
    any_asynchronous = any_asynchronous || std::ranges::any_of(comparison.rows, &is_asynchronous);
  }
  text += "\nTimes are for one iteration; samples/s can be compared between all rows.\n";
  if (any_even) text += "replicas: of each stage in turn; 8 x 2 stands for 8 stages of 2 replicas each\n";
  if (any_asynchronous) {
    text += "* asynchronous: no flush between iterations, weights are older; times are for one microbatch\n";
  }
  return text;
}

Detail::Record comparison_record(const std::vector<Comparison>& comparisons, bool timings) {
  Detail::List models;
  for (const Comparison& comparison : comparisons) {
    Detail::List rows;
    for (const ComparisonRow& row : comparison.rows) {
      rows.emplace_back(row_record(row, comparison.inputs, timings));
    }
    models.emplace_back(
        Detail::Record{{"model", comparison.inputs.model.profiles.front().name}, {"rows", std::move(rows)}});
  }
  return {{"platform", comparisons.front().inputs.platform.spec.name}, {"models", std::move(models)}};
}

}  // namespace stagecraft
