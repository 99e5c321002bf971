#include "experiments/view/comparison.hpp"

#include "experiments/view/basis_words.hpp"
#include "experiments/view/events_view.hpp"
#include "experiments/view/plan_view.hpp"
#include "experiments/view/replanning_view.hpp"
#include "experiments/view/sensitivity_view.hpp"
#include "experiments/view/simulation_record.hpp"
#include "experiments/view/table.hpp"
#include "experiments/view/update_words.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"
#include "sim/base/short_number.hpp"
#include "sim/base/text.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::size_t kFigures = 13;    // columns of a row without its extra ones and its outcome
constexpr std::size_t kSizeColumn = 5;  // where the column is that follows the microbatches

bool is_asynchronous(const ComparisonRow& row) { return row.simulation && row.simulation->report.period; }

bool has_savings(const ComparisonRow& row) {
  return row.simulation && layers_with<Recompute>(*row.plan()) + layers_with<Swap>(*row.plan()) > 0;
}

bool has_even_stages(const ComparisonRow& row) {
  return row.simulation && configuration_text(*row.plan()).find('x') != std::string::npos;
}

/// The highest share of a device's memory that is in use.
std::string fullest_memory(const Report& report) {
  double highest = 0.0;
  for (const DeviceReport& device : report.devices) {
    const double share = static_cast<double>(device.memory.peak.value()) /
                         static_cast<double>(std::max<std::int64_t>(device.memory.capacity.value(), 1));
    highest = std::max(highest, share);
  }
  return percent(highest);
}

std::string prediction_text(const Simulation& simulation, const Plan& plan) {
  const auto error = simulation.prediction_error(plan.predicted);
  return error ? signed_percent(*error) : "-";
}

std::string over_bound_text(const Simulation& simulation) {
  const auto over = simulation.over_bound();
  return over ? short_number(*over) : "-";
}

/// `37r 2s`: how many layers are recomputed and swapped.
std::string saving_text(const Plan& plan) {
  std::string text;
  if (const std::int64_t layers = layers_with<Recompute>(plan); layers > 0) text += std::to_string(layers) + "r";
  if (const std::int64_t layers = layers_with<Swap>(plan); layers > 0) {
    text += (text.empty() ? "" : " ") + std::to_string(layers) + "s";
  }
  return text.empty() ? "-" : text;
}

/// The microbatch sizes of the rows that were not refused.
std::set<std::int64_t> sizes_of(const Comparison& comparison) {
  std::set<std::int64_t> sizes;
  for (const ComparisonRow& row : comparison.rows) {
    if (row.planning) sizes.insert(row.planning->graph.microbatch_size);
  }
  return sizes;
}

/// `microbatches of 4 samples`, or that each row has its own.
std::string sizes_text(const std::set<std::int64_t>& sizes) {
  if (sizes.empty()) return "";
  return ", microbatches of " + (sizes.size() == 1 ? counted(*sizes.begin(), "sample") : std::string("several sizes"));
}

/// What a table shows besides the figures of each row.
struct ExtraColumns {
  bool sizes = false;  ///< of the microbatches
  bool saves = false;  ///< what plans recompute and swap
  bool timings = false;
};

std::vector<std::string> cells_of(const ComparisonRow& row, const ExtraColumns& extra) {
  std::vector<std::string> cells{row.planner->name};
  if (row.simulation) {
    const Plan& plan = *row.plan();
    const Report& report = row.simulation->report;
    cells.insert(cells.end(),
                 {schedule_text(plan.schedule) + (report.period ? " *" : ""), configuration_text(plan),
                  std::to_string(report.measured_devices()), std::to_string(row.simulation->length.microbatches),
                  samples_text(row.simulation->updates), short_number(report.throughput),
                  time_or_dash(headline(report.figures())), over_bound_text(*row.simulation),
                  time_or_dash(headline(row.simulation->evaluated)), prediction_text(*row.simulation, plan),
                  percent(report.bubble_ratio), fullest_memory(report)});
  } else {
    cells.resize(kFigures, "-");
  }
  if (extra.sizes) {
    cells.insert(cells.begin() + kSizeColumn, row.planning ? std::to_string(row.planning->graph.microbatch_size) : "-");
  }
  if (extra.saves) cells.push_back(row.simulation ? saving_text(*row.plan()) : "-");
  if (extra.timings) cells.push_back(row.planning ? format_human_seconds(row.planning->time) : "-");
  std::string outcome = row.outcome();
  std::ranges::replace(outcome, '_', ' ');
  if (is_asynchronous(row) && !row.simulation->report.converged()) outcome += ", not converged";
  cells.push_back(outcome);
  return cells;
}

/// The reason why a row has no figures, or figures that no machine could reach because memory does not suffice; and
/// that its plan has changed, or that events name devices which it does not use.
std::string note(const ComparisonRow& row, const Platform& platform) {
  if (!row.planning) {
    const std::string refusal = row.refusal->what();
    const std::string name = row.planner->name + ": ";
    return (refusal.starts_with(name) ? "" : name) + refusal + "\n";
  }
  if (row.planning->planned() == nullptr) {
    return row.planner->name + ": " + infeasible_text(*row.planning, platform, "  ");
  }
  const std::string replans = replans_line(row.simulation->report);
  std::string changed = replans.empty() ? "" : row.planner->name + ": " + replans;
  for (const std::string& line : idle_events_words(*row.simulation, platform)) {
    changed += row.planner->name + ": " + line + "\n";
  }
  if (!row.simulation->report.out_of_memory()) return changed;
  const MemoryOverflow& overflow = row.simulation->report.overflows.front();
  return changed + row.planner->name + ": " + platform.place_name(overflow.place) + " lacks " +
         format_human_bytes(overflow.excess) + "\n";
}

std::string title_of(const Comparison& comparison) {
  return comparison.inputs.model.profiles.front().name + " on " + comparison.inputs.platform.spec.name;
}

std::string one_text(const Comparison& comparison, bool timings) {
  const bool replays = std::ranges::any_of(comparison.rows, [](const ComparisonRow& row) {
    return row.simulation && row.simulation->choices.engine == EngineChoice::Replay;
  });
  Table table{{"planner", "schedule", "replicas", "dev.", "micro", "update", "samples/s",
               replays ? "replayed" : "simulated", "/ bound", "evaluated", "claim", "bubble", "memory"},
              {},
              3};
  STAGECRAFT_CHECK(table.header.size() == kFigures, "a cell for each figure");
  const std::set<std::int64_t> sizes = sizes_of(comparison);
  const ExtraColumns extra{
      .sizes = sizes.size() > 1, .saves = std::ranges::any_of(comparison.rows, &has_savings), .timings = timings};
  if (extra.sizes) table.header.insert(table.header.begin() + kSizeColumn, "size");
  if (extra.saves) table.header.emplace_back("saves");
  if (extra.timings) table.header.emplace_back("planning");
  table.header.emplace_back("outcome");
  std::string notes;
  std::vector<Basis> bases;
  std::vector<std::int64_t> updates;
  std::map<Bytes, std::vector<std::string>> buckets;
  for (const ComparisonRow& row : comparison.rows) {
    table.rows.push_back(cells_of(row, extra));
    notes += note(row, comparison.inputs.platform);
    if (!row.simulation) continue;
    bases.push_back(row.simulation->basis);
    updates.push_back(fewest_samples(row.simulation->updates));
    updates.push_back(largest(row.simulation->updates).samples);
    if (const auto size = exchanged_buckets(*row.plan())) buckets[*size].push_back(row.planner->name);
  }
  return title_of(comparison) + sizes_text(sizes) + "\n" + different_updates_text(std::move(updates)) +
         different_buckets_text(buckets) + to_text(table) + notes +
         (bases.empty() ? "" : "Rests on: " + basis_text(ranges_of(bases)) + "\n");
}

Detail::Record row_record(const ComparisonRow& row, const Inputs& inputs, bool timings) {
  if (!row.planning) return {{"planner", row.planner->name}, {"outcome", "refused"}, {"reason", row.refusal->what()}};
  Detail::Record record = planning_record(*row.planning, row.evaluated, inputs.platform, timings);
  if (row.simulation) {
    const Explanation explanation = explain(inputs, row.planning->graph, *row.planning->program, *row.simulation);
    record.emplace_back("simulation", simulation_record(*row.simulation, row.planning->graph, *row.plan(),
                                                        inputs.platform, explanation, timings));
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
  bool any_sizes = false;
  bool any_even = false;
  bool any_saves = false;
  for (const Comparison& comparison : comparisons) {
    text += (text.empty() ? "" : "\n") + one_text(comparison, timings);
    any_sizes = any_sizes || sizes_of(comparison).size() > 1;
    any_even = any_even || std::ranges::any_of(comparison.rows, &has_even_stages);
    any_saves = any_saves || std::ranges::any_of(comparison.rows, &has_savings);
    any_asynchronous = any_asynchronous || std::ranges::any_of(comparison.rows, &is_asynchronous);
  }
  text += "\ndev.: devices used; micro: microbatches of an iteration, or of the whole asynchronous run\n";
  if (any_sizes) text += "size: samples in a microbatch\n";
  text += "update: samples per update, of the stages with the fewest and the most\n";
  text += "/ bound: the time over the least that any order of the plan's own work takes\n";
  text += "Times are for one iteration; claim: error of the planner's; memory: of the fullest device\n";
  if (any_saves) text += "saves: layers that are recomputed (r) and swapped to the host (s), so that the plan fits\n";
  if (any_even) text += "replicas: of each stage in turn; 8 x 2 stands for 8 stages of 2 replicas each\n";
  if (any_asynchronous) {
    text += "* asynchronous: no flush between iterations, weights are older; times are for one microbatch\n";
  }
  for (const Comparison& comparison : comparisons) {
    if (comparison.is_varied) text += "\n" + sensitivity_text(title_of(comparison), comparison.sensitivity);
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
    Detail::Record model{{"model", comparison.inputs.model.profiles.front().name}, {"rows", std::move(rows)}};
    if (comparison.is_varied) model.emplace_back("sensitivity", sensitivity_record(comparison.sensitivity));
    models.emplace_back(std::move(model));
  }
  return {{"platform", comparisons.front().inputs.platform.spec.name}, {"models", std::move(models)}};
}

}  // namespace stagecraft
