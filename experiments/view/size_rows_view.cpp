#include "experiments/view/size_rows_view.hpp"

#include "experiments/run/simulation.hpp"
#include "experiments/view/configuration.hpp"
#include "experiments/view/plan_view.hpp"
#include "experiments/view/saving_words.hpp"
#include "experiments/view/table.hpp"
#include "experiments/view/text_width.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/short_number.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace stagecraft {
namespace {

constexpr double kBar = 30.0;  ///< characters of the fastest point

const CurvePoint* largest_of(const SizeRow& row) {
  return row.curve && !row.curve->points.empty() ? &row.curve->points.back() : nullptr;
}

/// `gpipe`, or `gpipe (keep)` beside a row of the same planner under another memory policy.
std::string name_of(const SizeComparison& comparison, const SizeRow& row) {
  const bool is_second = std::ranges::count(comparison.rows, row.planner, &SizeRow::planner) > 1;
  return row.planner->name + (is_second && row.memory == MemoryPolicy::Keep ? " (keep)" : "");
}

bool is_asynchronous(const CurvePoint& point) { return point.report.period.has_value(); }

std::vector<std::string> cells_of(const CurvePoint& point) {
  return {std::to_string(point.size) + (point.is_extrapolated ? " ~" : ""), configuration_text(point.planned.plan),
          short_number(point.report.throughput), peak_text(fullest(point.report)), saving_text(point.planned)};
}

Table largest_table(const SizeComparison& comparison) {
  Table table{{"planner", "size", "replicas", "samples/s", "memory", "saves"}, {}, 1};
  std::vector<const SizeRow*> rows;
  for (const SizeRow& row : comparison.rows) rows.push_back(&row);
  std::ranges::stable_sort(rows, std::ranges::greater(), [](const SizeRow* row) {
    const CurvePoint* point = largest_of(*row);
    return point == nullptr ? 0 : point->size;
  });
  for (const SizeRow* row : rows) {
    std::vector<std::string> cells = {"-", "-", "-", "-", "-"};
    if (const CurvePoint* point = largest_of(*row)) cells = cells_of(*point);
    const bool is_marked = largest_of(*row) != nullptr && is_asynchronous(*largest_of(*row));
    cells.insert(cells.begin(), name_of(comparison, *row) + (is_marked ? " *" : ""));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

/// Why a row has no figures, or may not have the largest size.
std::string notes_of(const SizeComparison& comparison) {
  std::string notes;
  for (const SizeRow& row : comparison.rows) {
    const std::string name = name_of(comparison, row) + ": ";
    if (row.refusal) notes += name + row.refusal->what() + "\n";
    if (!row.curve) continue;
    const LargestSize& largest = row.curve->largest;
    if (!largest.size) {
      notes += name + "no microbatch size fits; with " + counted(largest.planning.graph.microbatch_size, "sample") +
               ": " + infeasible_text(largest.planning, comparison.inputs->platform, "  ");
    }
    if (const std::string open = open_sizes_text(largest); !open.empty()) notes += name + open + " (--tries)\n";
  }
  return notes;
}

std::string curve_text(const std::string& name, const BatchCurve& curve) {
  const CurvePoint& fastest = *curve.fastest();
  std::string text = "\n" + name + ": fastest at " + std::to_string(fastest.size) + " of at most " +
                     counted(curve.points.back().size, "sample") + ": " + short_number(fastest.report.throughput) +
                     " samples/s\n";
  Table table{{"  size", "replicas", "samples/s", "memory", "saves", ""}, {}, 0, true};
  for (const CurvePoint& point : curve.points) {
    std::vector<std::string> cells = cells_of(point);
    cells.front().insert(0, &point == &fastest ? "> " : "  ");
    const double share = fastest.report.throughput > 0 ? point.report.throughput / fastest.report.throughput : 0.0;
    cells.emplace_back(static_cast<std::size_t>(std::lround(kBar * share)), '#');
    table.rows.push_back(std::move(cells));
  }
  text += to_text(table);
  if (!curve.left_out.empty()) text += fmt::format("no plan fits at {}\n", fmt::join(curve.left_out, ", "));
  return text;
}

std::vector<std::string> configurations_of(const SizeComparison& comparison) {
  std::vector<std::string> texts;
  for (const SizeRow& row : comparison.rows) {
    if (!row.curve) continue;
    for (const CurvePoint& point : row.curve->points) texts.push_back(configuration_text(point.planned.plan));
  }
  return texts;
}

std::string legend(const SizeComparison& comparison) {
  const auto any = [&](bool (*is)(const CurvePoint&)) {
    return std::ranges::any_of(
        comparison.rows, [&](const SizeRow& row) { return row.curve && std::ranges::any_of(row.curve->points, is); });
  };
  if (!any([](const CurvePoint&) { return true; })) return "";
  const bool has_published = std::ranges::any_of(
      comparison.rows, [&](const SizeRow& row) { return name_of(comparison, row) != row.planner->name; });
  std::string text = std::string("size: samples of a microbatch; memory: peak of the fullest device\nsamples/s: ") +
                     (comparison.is_replayed ? "simulated" : "evaluated without contention") + "\n";
  if (any(&is_asynchronous)) text += "* no flush between iterations: asynchronous, weights are older\n";
  if (comparison.has_curves) text += "> the most samples/s of the sizes tried\n";
  if (const std::string folded = configuration_legend(configurations_of(comparison)); !folded.empty()) {
    text += folded + "\n";
  }
  if (any([](const CurvePoint& point) { return saves(point.planned.plan); })) text += std::string(kSavesLegend) + "\n";
  if (any([](const CurvePoint& point) { return point.planned.saved_by_policy; })) {
    text += std::string(kPolicyLegend) + "\n";
  }
  if (has_published) {
    text += "(keep): as published, without what the common memory policy saves\n";
  }
  if (any([](const CurvePoint& point) { return point.is_extrapolated; })) {
    text += "~ outside the sizes of the model's profile: times are extrapolated\n";
  }
  return text;
}

Detail::Record point_record(const CurvePoint& point) {
  const DeviceReport& device = fullest(point.report);
  return {{"microbatch_size", point.size},
          {"throughput_samples_per_s", point.report.throughput},
          {"configuration", configuration_text(point.planned.plan)},
          {"peak_memory_bytes", device.memory.peak.value()},
          {"memory_bytes", device.memory.capacity.value()},
          {"recomputed_layers", layers_with<Recompute>(point.planned.plan)},
          {"swapped_layers", layers_with<Swap>(point.planned.plan)},
          {"memory_by", memory_by(point.planned)},
          {"extrapolated", point.is_extrapolated}};
}

Detail::Record row_record(const SizeRow& row, bool has_curve) {
  Detail::Record record{{"planner", row.planner->name}, {"memory", to_string(row.memory)}};
  if (row.refusal) {
    record.emplace_back("outcome", "refused");
    record.emplace_back("reason", row.refusal->what());
    return record;
  }
  const LargestSize& largest = row.curve->largest;
  const auto* none = std::get_if<Infeasible>(&largest.planning.result);
  record.emplace_back("outcome", none == nullptr ? "planned" : "infeasible");
  if (none != nullptr) record.emplace_back("reason", none->reason);
  const CurvePoint* point = largest_of(row);
  record.emplace_back("largest", point == nullptr ? Detail() : Detail(point_record(*point)));
  record.emplace_back("ended_early", largest.ended_early);
  if (!has_curve) return record;
  const CurvePoint* fastest = row.curve->fastest();
  record.emplace_back("fastest", fastest == nullptr ? Detail() : Detail(point_record(*fastest)));
  Detail::List points;
  for (const CurvePoint& each : row.curve->points) points.emplace_back(point_record(each));
  record.emplace_back("points", std::move(points));
  Detail::List left_out;
  for (const std::int64_t size : row.curve->left_out) left_out.emplace_back(size);
  record.emplace_back("left_out", std::move(left_out));
  return record;
}

}  // namespace

std::string size_rows_text(const SizeComparison& comparison) {
  const Inputs& inputs = *comparison.inputs;
  std::string text = "largest microbatches of " + inputs.model.profiles.front().name + " on " +
                     inputs.platform.spec.name + " (" + counted(inputs.platform.devices.size(), "device") + ")\n" +
                     to_text(largest_table(comparison)) + wrapped_lines(notes_of(comparison));
  for (const SizeRow& row : comparison.rows) {
    if (comparison.has_curves && largest_of(row) != nullptr) text += curve_text(name_of(comparison, row), *row.curve);
  }
  const std::string explained = wrapped_lines(legend(comparison));
  return explained.empty() ? text : text + "\n" + explained;
}

Detail::Record size_rows_record(const SizeComparison& comparison) {
  Detail::List rows;
  for (const SizeRow& row : comparison.rows) rows.emplace_back(row_record(row, comparison.has_curves));
  return {{"model", comparison.inputs->model.profiles.front().name},
          {"platform", comparison.inputs->platform.spec.name},
          {"engine", to_string(comparison.is_replayed ? EngineChoice::Replay : EngineChoice::Evaluate)},
          {"rows", std::move(rows)}};
}

}  // namespace stagecraft
