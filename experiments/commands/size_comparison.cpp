#include "experiments/commands/size_comparison.hpp"

#include "experiments/commands/shared_options.hpp"
#include "experiments/run/batch_curve.hpp"
#include "experiments/run/result_so_far.hpp"
#include "experiments/view/size_rows_view.hpp"
#include "sim/base/activity.hpp"
#include "sim/base/error.hpp"
#include "sim/io/json.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

namespace stagecraft {
namespace {

bool is_saved_by_policy(const SizeRow& row) {
  return row.curve &&
         std::ranges::any_of(row.curve->points, [](const CurvePoint& point) { return point.planned.saved_by_policy; });
}

/// Rows that come one after another.
class SizeRows {
 public:
  SizeRows(const SizeComparisonChoices& choices, const Inputs& inputs, const Settings& settings)
      : choices_(choices), settings_(settings) {
    comparison_.inputs = &inputs;
    comparison_.has_curves = choices.curves;
    comparison_.is_replayed = choices.sizes.replays;
  }

  /// Adds the planner's row, and if the common memory policy chose what it saves, another one as published.
  void add(const PlannerInfo& planner) {
    LargestSizeChoices sizes = choices_.sizes;
    sizes.planning = choices_of(planner, sizes.planning, choices_.set);
    add(planner, sizes);
    if (!is_saved_by_policy(comparison_.rows.back())) return;
    sizes.planning.memory = MemoryPolicy::Keep;
    add(planner, sizes);
  }

  [[nodiscard]] std::string text() const { return size_rows_text(comparison_); }
  [[nodiscard]] std::string json() const { return to_json(size_rows_record(comparison_)); }
  [[nodiscard]] const std::vector<SizeRow>& rows() const { return comparison_.rows; }

 private:
  void add(const PlannerInfo& planner, const LargestSizeChoices& sizes) {
    SizeRow row{.planner = &planner, .memory = sizes.planning.memory, .curve = {}, .refusal = {}};
    try {
      row.curve = curve_of(planner, sizes);
      if (const auto& program = row.curve->largest.planning.program) {
        refuse_run_length(sizes.planning.run_length, program->synchronous);
      }
    } catch (const InputError& error) {
      row.curve.reset();
      row.refusal = error;
    }
    comparison_.rows.push_back(std::move(row));
    keep(comparison_);
  }

  [[nodiscard]] BatchCurve curve_of(const PlannerInfo& planner, const LargestSizeChoices& sizes) {
    const auto say = [&](const std::string& text) {
      if (said_.insert(text).second) settings_.say(text);
    };
    const Inputs& inputs = *comparison_.inputs;
    if (!choices_.curves) return largest_point(planner, inputs, sizes, say);
    return find_batch_curve(planner, inputs, sizes, say, [&](const BatchCurve& curve) {
      SizeComparison so_far = comparison_;
      so_far.rows.push_back({.planner = &planner, .memory = sizes.planning.memory, .curve = curve, .refusal = {}});
      keep(so_far);
    });
  }

  /// As what an interrupt prints.
  void keep(const SizeComparison& comparison) {
    so_far_.set(settings_.json ? to_json(size_rows_record(comparison)) + "\n" : size_rows_text(comparison));
  }

  const SizeComparisonChoices& choices_;
  const Settings& settings_;
  SizeComparison comparison_;
  std::set<std::string> said_;  ///< several planners may have the same remark
  ResultSoFar so_far_;
};

}  // namespace

Answer compare_sizes(const SizeComparisonChoices& choices, const Inputs& inputs, const Settings& settings) {
  SizeRows rows(choices, inputs, settings);
  Activity activity("looking for the largest microbatches");
  for (std::size_t i = 0; i < choices.planners.size(); ++i) {
    activity.count(i, choices.planners.size(), "planners");
    rows.add(*choices.planners[i]);
  }
  const auto is_refused = [](const SizeRow& row) { return row.refusal.has_value(); };
  if (std::ranges::all_of(rows.rows(), is_refused)) throw InputError(*rows.rows().front().refusal);
  const auto has_size = [](const SizeRow& row) { return row.curve && row.curve->largest.size; };
  return {.text = rows.text(),
          .json = rows.json(),
          .code = std::ranges::any_of(rows.rows(), has_size) ? ExitCode::Done : ExitCode::No};
}

}  // namespace stagecraft
