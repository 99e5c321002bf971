#pragma once

#include "experiments/study_report/study_figure.hpp"

#include <string>

namespace stagecraft {

// Pictures of several panels with the same axes, side by side. A picture has at most eight panels and says how many are
// left out.

/// Curves over columns at equal distances. Where a value is missing, the curve has a gap.
[[nodiscard]] std::string draw_curves(const StudyFigure& figure, const CurveFigure& curves);

/// Points over the diagonal, on which a claim is right.
[[nodiscard]] std::string draw_points(const StudyFigure& figure, const PointFigure& points);

}  // namespace stagecraft
