#pragma once

#include "experiments/run/inputs.hpp"
#include "experiments/run/planning.hpp"
#include "experiments/run/sensitivity.hpp"
#include "experiments/run/simulation.hpp"
#include "sim/base/error.hpp"
#include "sim/model/detail.hpp"
#include "sim/model/schedule.hpp"
#include "sim/model/schedule_choice.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// The result of one planner for one model: its plan and the simulation of the plan.
struct ComparisonRow {
  const PlannerInfo* planner = nullptr;
  std::optional<ScheduleChoice> schedule;  ///< that the planner was asked for, if the comparison names schedules
  std::optional<Planning> planning;
  std::optional<Simulation> simulation;  ///< if there is a plan
  Figures evaluated;                     ///< of one iteration of the plan on the platform's links, without contention
  std::optional<InputError> refusal;     ///< why the planner, or the rule for transfers, refused it
  std::optional<std::string> file;       ///< where the plan is kept, if it is
  Detail::Record record;                 ///< `row_record`, if it is wanted

  [[nodiscard]] const Plan* plan() const;
  /// `spp`, or `uniform with zb-v`.
  [[nodiscard]] std::string name() const;
  /// That was asked for, as on the command line; empty if the comparison names none.
  [[nodiscard]] std::string asked_schedule() const;
  /// `ok`, `out_of_memory`, `infeasible` or `refused`.
  [[nodiscard]] std::string outcome() const;
};

/// The rows for one model, which come one after another.
struct Comparison {
  Inputs inputs;
  std::size_t expected = 0;                ///< how many rows there will be
  bool names_schedules = false;            ///< whether rows have schedules that were asked for
  std::optional<Transfers> transfers;      ///< the rule that the plans run with, if one was asked for
  std::vector<ComparisonRow> rows;         ///< the best one first
  bool is_varied = false;                  ///< whether its sensitivity was asked for
  std::optional<Sensitivity> sensitivity;  ///< of the winner among the rows; none if there are no two to compare

  /// Puts the row where it belongs: the most samples/s first; after all that fit in memory those that do not, then
  /// those without a plan, then refusals.
  void add(ComparisonRow row);
  /// The row with the most samples/s of those that fit in memory; null if none does.
  [[nodiscard]] const ComparisonRow* best() const;
};

/// The columns of a table, and whether they have the times that planning took.
struct RowChoice {
  bool wide = false;  ///< all of them; else those of the first screen
  bool timings = true;
};

/// One table for each model, and if it was asked for, then one for each with its sensitivity. If rows are still to
/// come, its title says so.
[[nodiscard]] std::string comparison_text(const std::vector<Comparison>& comparisons, const RowChoice& choice);

/// Why rows have no figures, or figures that no machine could reach because memory does not suffice; that plans have
/// changed; events that name devices which a plan does not use; how many devices stand idle; and which rows stand on
/// short runs: each once, after the names of its planners, such as `spp, dapple`, or of planners and schedules:
/// `spp, dapple with zb-v; spp with zb-h1`.
[[nodiscard]] std::vector<std::string> notes_of(const Comparison& comparison);

/// `spp: 134 samples/s with 4 x 4 replicas`, or that there is no plan; the row's name comes first.
[[nodiscard]] std::string row_line(const ComparisonRow& row);

/// What `compare --json` shows of a row. Its `simulation` is as in `simulate --json`.
[[nodiscard]] Detail::Record row_record(const ComparisonRow& row, const Inputs& inputs, bool timings);

/// `{"platform": …, "models": [{"model": …, "best": …, "rows": […]}]}`, of the records that rows have. A model of which
/// rows are still to come has `complete: false`, one whose plans run with a rule for transfers has `sends`, one whose
/// rows have schedules has `best_schedule`, and one whose sensitivity was asked for has `sensitivity`.
[[nodiscard]] Detail::Record comparison_record(const std::vector<Comparison>& comparisons);

}  // namespace stagecraft
