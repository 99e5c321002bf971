#pragma once

#include "experiments/run/inputs.hpp"
#include "experiments/run/largest_size.hpp"
#include "planners/planner.hpp"
#include "sim/model/report.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace stagecraft {

/// A microbatch size with the planner's plan for it, which fits, and the run of the plan.
struct CurvePoint {
  std::int64_t size = 0;
  Planned planned;
  Report report;                 ///< evaluated, or of the replay if it was asked for
  bool is_extrapolated = false;  ///< whether the times of the layers are
};

/// How many samples per second a planner's plans have over the microbatch size.
struct BatchCurve {
  LargestSize largest;
  std::vector<CurvePoint> points;  ///< by increasing size; the last one is that of the largest size, if there is one
  std::vector<std::int64_t> left_out;  ///< sizes below the largest that do not fit or are refused, increasing

  /// The point with the most samples per second, of equal ones the first; null if no size fits.
  [[nodiscard]] const CurvePoint* fastest() const;
};

/// The largest size as `find_largest_size` finds it, with the point there.
[[nodiscard]] BatchCurve largest_point(const PlannerInfo& planner, const Inputs& inputs,
                                       const LargestSizeChoices& choices,
                                       const std::function<void(const std::string&)>& say);

/// The same with points at smaller sizes: of those that the choices allow from the smallest on each at least twice the
/// one before (in long ranges four times, eight times, …), at most ten; then at most four that divide the wider gap
/// beside the fastest one. The sizes that the search for the largest tried belong to them if they are the fastest.
/// `on_point` is told of the curve so far whenever it has one more. The sizes end early as that search does
/// (`run_limits::kMostSearchWork`).
/// **Throws** as `find_largest_size`. **Cost** of that search, and of the plans and the runs of those sizes that it did
/// not try.
[[nodiscard]] BatchCurve find_batch_curve(const PlannerInfo& planner, const Inputs& inputs,
                                          const LargestSizeChoices& choices,
                                          const std::function<void(const std::string&)>& say,
                                          const std::function<void(const BatchCurve&)>& on_point);

}  // namespace stagecraft
