#pragma once

#include "experiments/study_report/study_figure.hpp"

#include <string>

namespace stagecraft {

/// A picture of a study for pages and slides: an SVG image of at most 900 x 500 units (more than 23 bars make it
/// longer), with dark text on white, without scripts. `choose_figure` says what it shows.
///
/// Bars are as long as the means, from 0 on. The axis ends at three times the largest mean at most, and a mark at its
/// end stands for a value beyond it. Below the bars there is a line for each row, if all fit.
[[nodiscard]] std::string study_picture(const StudySummary& summary);

/// The picture of a figure that was chosen. **Requires** a series.
[[nodiscard]] std::string draw_figure(const StudyFigure& figure);

}  // namespace stagecraft
