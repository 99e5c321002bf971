#pragma once

#include "experiments/study_report/study_figure.hpp"

#include <string>

namespace stagecraft {

// Texts in a study's picture.

/// The value on an axis: a ratio as a number, a rate without its unit.
[[nodiscard]] std::string tick_text(const StudyFigure& figure, double value);

/// The title, with the unit of a rate.
[[nodiscard]] std::string picture_title(const StudyFigure& figure);

/// The beginning of the text and `…` if it is longer than `length` units of the image.
[[nodiscard]] std::string cut_to(const std::string& text, double length);

}  // namespace stagecraft
