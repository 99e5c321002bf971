#include "experiments/view/svg_sheet.hpp"

#include "experiments/view/text_width.hpp"
#include "experiments/view/xml_text.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <iterator>

namespace stagecraft {
namespace {

constexpr double kMeanLetter = 7.0;  ///< mean width of a letter of 12 units
constexpr double kLegendLine = 17;

constexpr std::array<std::string_view, 14> kColours = {"#4c78a8", "#f58518", "#54a24b", "#e45756", "#72b7b2",
                                                       "#b279a2", "#9d755d", "#eeca3b", "#ff9da6", "#2f4b7c",
                                                       "#8c8c8c", "#1b9e77", "#a6761d", "#7570b3"};

constexpr std::string_view kSheetStyle =
    "text{font:12px system-ui,sans-serif;fill:#1b1f24}.d{text-anchor:end}.m{text-anchor:middle}.a{fill:#5b6472}"
    ".t{font-weight:600;font-size:14px}.g{stroke:#e3e6ea}.r{stroke:#8a929c;stroke-dasharray:3 3}"
    ".w{stroke:#1b1f24;stroke-width:1.2}circle{stroke:#fff;stroke-width:.7}path{fill:none;stroke-width:1.8}";

std::string colour_styles() {
  std::string text;
  for (std::size_t i = 0; i < kColours.size(); ++i) {
    text += fmt::format(".c{0}{{fill:{1}}}.p{0}{{stroke:{1}}}", i, kColours[i]);
  }
  return text;
}

}  // namespace

std::vector<double> ticks_up_to(double largest, std::size_t count) {
  const double least = largest / static_cast<double>(count);
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0}) {
    if (factor * power >= least * (1 - 1e-9)) step = factor * power;
  }
  std::vector<double> ticks;
  for (int i = 0; step * i <= largest * (1 + 1e-9); ++i) ticks.push_back(step * i);
  return ticks;
}

std::size_t colour_of(std::size_t series) { return series % kColours.size(); }

double radius_of(std::size_t series, std::size_t count) {
  constexpr double kLargest = 5.5;
  constexpr double kLeast = 3.2;
  if (count < 2) return kLargest;
  return kLargest - (kLargest - kLeast) * static_cast<double>(series) / static_cast<double>(count - 1);
}

double text_length(std::string_view text) { return kMeanLetter * static_cast<double>(width_of(text)); }

void SvgSheet::text(double x, double y, const std::string& words, std::string_view style) {
  const std::string style_class = style.empty() ? "" : fmt::format(R"( class="{}")", style);
  body_ += fmt::format(R"(<text{} x="{:.1f}" y="{:.1f}">{}</text>)", style_class, x, y, xml_text(words));
}

void SvgSheet::bar(double x, double y, double width, double height, std::size_t series) {
  body_ += fmt::format(R"(<rect class="c{}" x="{:.1f}" y="{:.1f}" width="{:.2f}" height="{:.1f}"/>)", colour_of(series),
                       x, y, width, height);
}

void SvgSheet::dot(double x, double y, double radius, std::size_t series) {
  const std::string_view style =
      series < kColours.size() ? R"(class="c{}")" : R"(class="p{}" fill="#fff" style="stroke-width:2")";
  body_ += fmt::format(R"(<circle {} cx="{:.1f}" cy="{:.1f}" r="{:.1f}"/>)",
                       fmt::format(fmt::runtime(style), colour_of(series)), x, y, radius);
}

void SvgSheet::beyond(double x, double y, std::size_t series) {
  body_ += fmt::format(R"(<polygon class="c{}" points="{:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f}"/>)",
                       colour_of(series), x, y - 4, x + 7, y, x, y + 4);
}

void SvgSheet::curve(const std::vector<std::pair<double, double>>& points, std::size_t series) {
  std::string way;
  for (const auto& [x, y] : points) way += fmt::format("{}{:.1f} {:.1f}", way.empty() ? "M" : "L", x, y);
  body_ += fmt::format(R"(<path class="p{}" d="{}"/>)", colour_of(series), way);
}

void SvgSheet::line(double x, double y, double to_x, double to_y, std::string_view style) {
  body_ +=
      fmt::format(R"(<line class="{}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>)", style, x, y, to_x, to_y);
}

double SvgSheet::legend(const std::vector<std::string>& series, double x, double y) {
  double at = x;
  for (std::size_t i = 0; i < series.size(); ++i) {
    const double length = text_length(series[i]) + 26;
    if (at > x && at + length > kSheetWidth - 10) {
      at = x;
      y += kLegendLine;
    }
    dot(at + 5, y - 4, 5, i);
    text(at + 14, y, series[i]);
    at += length;
  }
  end_line();
  return y + kLegendLine;
}

std::string SvgSheet::svg(double height) const {
  return fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1:.0f}" role="img"><!-- Stagecraft study -->)"
      "<style>{2}{3}</style>\n"
      R"(<rect fill="#fff" width="{0}" height="{1:.0f}"/>)"
      "\n{4}</svg>\n",
      kSheetWidth, height, kSheetStyle, colour_styles(), body_);
}

}  // namespace stagecraft
