#include "experiments/view/comparison.hpp"

#include "experiments/view/plan_view.hpp"
#include "experiments/view/sensitivity_view.hpp"
#include "experiments/view/simulation_record.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace stagecraft {
namespace {

/// The better row has the smaller rank.
std::pair<std::ptrdiff_t, double> rank_of(const ComparisonRow& row) {
  constexpr std::array<std::string_view, 4> kBestFirst = {"ok", "out_of_memory", "infeasible", "refused"};
  return {std::ranges::find(kBestFirst, row.outcome()) - kBestFirst.begin(),
          row.simulation ? -row.simulation->report.throughput : 0.0};
}

Detail::Record model_record(const Comparison& comparison) {
  Detail::List rows;
  for (const ComparisonRow& row : comparison.rows) rows.emplace_back(row.record);
  const ComparisonRow* best = comparison.best();
  Detail::Record model{{"model", comparison.inputs.model.profiles.front().name},
                       {"best", best != nullptr ? Detail(best->planner->name) : Detail()}};
  if (comparison.names_schedules) {
    model.emplace_back("best_schedule", best != nullptr ? Detail(best->asked_schedule()) : Detail());
  }
  if (comparison.transfers) model.emplace_back("sends", to_string(*comparison.transfers));
  model.emplace_back("rows", std::move(rows));
  if (comparison.rows.size() < comparison.expected) model.emplace_back("complete", false);
  if (comparison.is_varied) model.emplace_back("sensitivity", sensitivity_record(comparison.sensitivity));
  return model;
}

}  // namespace

const Plan* ComparisonRow::plan() const {
  const Planned* planned = planning ? planning->planned() : nullptr;
  return planned == nullptr ? nullptr : &planned->plan;
}

std::string ComparisonRow::name() const {
  return schedule ? planner->name + " with " + asked_schedule() : planner->name;
}

std::string ComparisonRow::asked_schedule() const { return schedule ? schedule_text(*schedule) : ""; }

std::string ComparisonRow::outcome() const {
  if (!planning) return "refused";
  if (!simulation) return "infeasible";
  return simulation->report.out_of_memory() ? "out_of_memory" : "ok";
}

void Comparison::add(ComparisonRow row) {
  rows.insert(std::ranges::upper_bound(rows, rank_of(row), {}, &rank_of), std::move(row));
}

const ComparisonRow* Comparison::best() const {
  return !rows.empty() && rows.front().outcome() == "ok" ? &rows.front() : nullptr;
}

Detail::Record row_record(const ComparisonRow& row, const Inputs& inputs, bool timings) {
  Detail::Record record{{"planner", row.planner->name}};
  if (row.planning) {
    record = planning_record(*row.planning, row.evaluated, inputs.platform, timings);
  } else {
    record.emplace_back("outcome", "refused");
    record.emplace_back("reason", row.refusal->what());
  }
  if (row.schedule) record.emplace(record.begin() + 1, "schedule", row.asked_schedule());
  if (row.file) record.emplace_back("file", *row.file);
  if (row.simulation) {
    const Explanation explanation = explain(inputs, row.planning->graph, *row.planning->program, *row.simulation);
    record.emplace_back("simulation", simulation_record(*row.simulation, row.planning->graph, *row.plan(),
                                                        inputs.platform, explanation, timings));
  }
  return record;
}

Detail::Record comparison_record(const std::vector<Comparison>& comparisons) {
  Detail::List models;
  for (const Comparison& comparison : comparisons) models.emplace_back(model_record(comparison));
  return {{"platform", comparisons.front().inputs.platform.spec.name}, {"models", std::move(models)}};
}

}  // namespace stagecraft
