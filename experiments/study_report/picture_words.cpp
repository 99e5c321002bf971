#include "experiments/study_report/picture_words.hpp"

#include "experiments/study_report/study_words.hpp"
#include "experiments/view/figures.hpp"
#include "experiments/view/svg_sheet.hpp"
#include "sim/base/short_number.hpp"

#include <fmt/format.h>

namespace stagecraft {
namespace {

bool is_rate(const StudyFigure& figure) {
  const FigureInfo* info = find_figure(figure.value);
  return !figure.is_ratio && info != nullptr && info->kind == FigureKind::Rate;
}

}  // namespace

std::string tick_text(const StudyFigure& figure, double value) {
  if (figure.is_ratio) return fmt::format("{:.3g}", value);
  return is_rate(figure) ? short_number(value) : figure_text(figure.value, value);
}

std::string picture_title(const StudyFigure& figure) {
  const bool says_unit = figure.title.find("amples") != std::string::npos;
  return figure.title + (is_rate(figure) && !says_unit ? " (samples/s)" : "");
}

std::string cut_to(const std::string& text, double length) {
  if (text_length(text) <= length) return text;
  std::string begin = text;
  const auto is_inner = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; };  // of a character
  while (!begin.empty() && text_length(begin) + text_length("…") > length) {
    while (begin.size() > 1 && is_inner(begin.back())) begin.pop_back();
    begin.pop_back();
  }
  return begin + "…";
}

}  // namespace stagecraft
