#include "experiments/study_report/study_picture.hpp"

#include "experiments/study_report/picture_panels.hpp"
#include "experiments/study_report/picture_words.hpp"
#include "experiments/view/svg_sheet.hpp"
#include "sim/base/counted.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace stagecraft {
namespace {

constexpr double kTop = 50;
constexpr double kSeriesHeight = 18;
constexpr double kBarHeight = 12;
constexpr double kRowHeight = 14;
constexpr double kFooter = 24;
constexpr double kLeastNames = 80;
constexpr double kMostNames = 420;
constexpr double kEnd = 655;  ///< of the bars; behind it there are the figures
constexpr double kMeanEnd = 712;
constexpr double kRangeEnd = 804;
constexpr double kCountEnd = 894;
constexpr double kMostOfMean = 3.0;           ///< the end of the axis over the largest mean
constexpr std::size_t kMostSmallDots = 2000;  ///< on bars

/// The lowest and the highest value of a series.
struct Range {
  std::optional<double> lowest;
  double highest = 0.0;
};

Range range_of(const FigureValues& values, std::size_t series) {
  Range range;
  for (const auto& row : values) {
    if (!row[series]) continue;
    range.lowest = range.lowest ? std::min(*range.lowest, *row[series]) : *row[series];
    range.highest = std::max(range.highest, *row[series]);
  }
  return range;
}

double largest_value(const BarFigure& bars) {
  double largest = 0.0;
  for (const auto& row : bars.values) {
    for (const auto& value : row) largest = std::max(largest, value.value_or(0.0));
  }
  double mean = 0.0;
  for (const SeriesMean& each : bars.means) mean = std::max(mean, each.mean.value_or(0.0));
  if (mean > 0.0) largest = std::clamp(largest, mean, kMostOfMean * mean);
  return largest > 0.0 ? largest : 1.0;
}

double width_of_names(const BarFigure& bars, bool has_rows) {
  double width = kLeastNames;
  for (const std::string& name : bars.series) width = std::max(width, text_length(name) + 16);
  for (std::size_t i = 0; has_rows && i < bars.rows.size(); ++i) {
    width = std::max(width, text_length(bars.rows[i]) + 16);
  }
  return std::min(width, kMostNames);
}

/// Draws bars, or a legend in place of them, and rows.
class BarPicture {
 public:
  BarPicture(const StudyFigure& figure, const BarFigure& bars)
      : figure_(figure), bars_(bars), has_means_(!bars.means.empty()) {}

  std::string svg() {
    sheet_.text(8, 20, cut_to(picture_title(figure_), kSheetWidth - 16), "t");
    double y = has_means_ ? kTop + kSeriesHeight * static_cast<double>(bars_.series.size())
                          : sheet_.legend(bars_.series, 8, 42) + 14;
    const double top = has_means_ ? kTop : y;
    const double room = kLargestSheetHeight - kFooter - 10 - y;
    const auto fit = static_cast<std::size_t>(std::max(0.0, room / kRowHeight));
    rows_ = bars_.rows.size() <= fit ? bars_.rows.size() : has_means_ ? 0 : fit;
    if (has_means_ && bars_.rows.size() < 2) rows_ = 0;
    const double largest = largest_value(bars_) * 1.02;
    axis_ = {largest, width_of_names(bars_, rows_ > 0), has_means_ ? kEnd : kSheetWidth - 24};
    const double first_row = y + (has_means_ ? 16 : 4);
    const double bottom = rows_ > 0 ? first_row + kRowHeight * static_cast<double>(rows_) - 6 : y;
    draw_axis(top - 4, bottom);
    if (has_means_) draw_bars();
    for (std::size_t i = 0; i < rows_; ++i) draw_row(i, first_row + kRowHeight * static_cast<double>(i));
    sheet_.text(8, bottom + kFooter - 6, note(), "a");
    return sheet_.svg(bottom + kFooter + 2);
  }

 private:
  void draw_axis(double top, double bottom) {
    for (const double tick : ticks_up_to(axis_.largest, 8)) {
      sheet_.line(axis_.at(tick), top, axis_.at(tick), bottom, "g");
      sheet_.text(axis_.at(tick), top - 6, tick_text(figure_, tick), "a m");
    }
    if (figure_.is_ratio && axis_.largest > 1.0) sheet_.line(axis_.at(1.0), top, axis_.at(1.0), bottom, "r");
    if (has_means_) {
      sheet_.text(kMeanEnd, top - 6, "mean", "a d");
      sheet_.text(kRangeEnd, top - 6, "from, to", "a d");
      sheet_.text(kCountEnd, top - 6, bars_.of_what, "a d");
    }
    sheet_.end_line();
  }

  void draw_bars() {
    for (std::size_t i = 0; i < bars_.series.size(); ++i) {
      const double y = kTop + kSeriesHeight * static_cast<double>(i);
      const double middle = y + kBarHeight / 2;
      sheet_.text(axis_.from - 8, middle + 4, cut_to(bars_.series[i], axis_.from - 12), "d");
      const SeriesMean& mean = bars_.means[i];
      sheet_.text(kCountEnd, middle + 4, fmt::format("{} of {}", mean.used, mean.total), "a d");
      if (!mean.mean) {
        sheet_.text(axis_.from + 4, middle + 4, "none", "a");
        continue;
      }
      sheet_.bar(axis_.from, y, axis_.at(*mean.mean) - axis_.from, kBarHeight, i);
      sheet_.text(kMeanEnd, middle + 4, fmt::format("{:.2f}", *mean.mean), "d");
      draw_range(i, middle);
    }
  }

  void draw_range(std::size_t series, double middle) {
    const Range range = range_of(bars_.values, series);
    if (!range.lowest) return;
    sheet_.text(kRangeEnd, middle + 4, fmt::format("{:.2f}, {:.2f}", *range.lowest, range.highest), "a d");
    if (range.highest > *range.lowest) {
      sheet_.line(axis_.at(std::min(*range.lowest, axis_.largest)), middle,
                  axis_.at(std::min(range.highest, axis_.largest)), middle, "w");
    }
    if (rows_ > 0 || bars_.values.size() * bars_.series.size() > kMostSmallDots) return;
    for (const auto& row : bars_.values) draw_value(row[series], series, middle, 2.5);
  }

  void draw_row(std::size_t row, double y) {
    sheet_.text(axis_.from - 8, y + 4, cut_to(bars_.rows[row], axis_.from - 12), "a d");
    sheet_.line(axis_.from, y, axis_.to, y, "g");
    for (std::size_t i = 0; i < bars_.series.size(); ++i)
      draw_value(bars_.values[row][i], i, y, radius_of(i, bars_.series.size()));
    sheet_.end_line();
  }

  void draw_value(const std::optional<double>& value, std::size_t series, double y, double radius) {
    if (!value) return;
    if (*value > axis_.largest) {
      sheet_.beyond(axis_.to, y, series);
    } else {
      sheet_.dot(axis_.at(*value), y, radius, series);
    }
  }

  [[nodiscard]] std::string note() const {
    const std::string row = bars_.of_what == "groups" ? "group" : "line of the table";
    std::string text;
    if (has_means_)
      text = "Bars: mean over the " + bars_.of_what + "; line: from the lowest to the highest " + row + ".";
    if (has_means_ && rows_ == 0 && bars_.rows.size() > 1) text += " Dots: each " + row + ".";
    if (rows_ > 0) text += std::string(text.empty() ? "" : " ") + (has_means_ ? "Below: each " : "Each ") + row + ".";
    if (rows_ < bars_.rows.size() && !has_means_) {
      text += " " + counted(bars_.rows.size() - rows_, "more line") + " not shown.";
    }
    return text;
  }

  const StudyFigure& figure_;
  const BarFigure& bars_;
  bool has_means_;
  std::size_t rows_ = 0;  ///< that are shown
  SvgAxis axis_;
  SvgSheet sheet_;
};

}  // namespace

std::string draw_figure(const StudyFigure& figure) {
  if (const auto* curves = std::get_if<CurveFigure>(&figure.content)) return draw_curves(figure, *curves);
  if (const auto* points = std::get_if<PointFigure>(&figure.content)) return draw_points(figure, *points);
  if (const auto* trade = std::get_if<TradeFigure>(&figure.content)) return draw_trade(figure, *trade);
  return BarPicture(figure, std::get<BarFigure>(figure.content)).svg();
}

std::string study_picture(const StudySummary& summary) { return draw_figure(choose_figure(summary)); }

}  // namespace stagecraft
