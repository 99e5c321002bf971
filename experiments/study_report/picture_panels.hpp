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

/// Points over lines at 1, where the baseline is. The axis of memory ends at three times the baseline's at most; a mark
/// at its end stands for a point beyond it. The axis of time begins a bit below the shortest.
[[nodiscard]] std::string draw_trade(const StudyFigure& figure, const TradeFigure& trade);

}  // namespace stagecraft
