#include "experiments/study_report/picture_panels.hpp"

#include "experiments/study_report/picture_words.hpp"
#include "experiments/view/svg_sheet.hpp"
#include "sim/base/counted.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::size_t kPanelsInRow = 4;
constexpr std::size_t kMostPanels = 8;
constexpr double kLeft = 64;  ///< of the first panel
constexpr double kRight = 888;
constexpr double kBetween = 16;  ///< panels of a row
constexpr double kHeading = 18;
constexpr double kBelow = 42;        ///< for the labels below a panel
constexpr double kMostMemory = 3.0;  ///< over the baseline's

/// Where a panel lies.
struct Frame {
  SvgAxis x;
  SvgAxis y;  ///< `from` is the bottom
  bool is_first_in_row = false;
};

/// The panels of a picture below `top`.
std::vector<Frame> make_frames(std::size_t panels, double top) {
  const std::size_t shown = std::min(panels, kMostPanels);
  const std::size_t across = std::min(shown, kPanelsInRow);
  const std::size_t down = (shown + across - 1) / across;
  const double width = (kRight - kLeft - kBetween * static_cast<double>(across - 1)) / static_cast<double>(across);
  const double height = (kLargestSheetHeight - 22 - top) / static_cast<double>(down) - kHeading - kBelow;
  std::vector<Frame> frames;
  for (std::size_t i = 0; i < shown; ++i) {
    const double left = kLeft + static_cast<double>(i % across) * (width + kBetween);
    const std::size_t line = i / across;
    const double above = top + kHeading + static_cast<double>(line) * (height + kHeading + kBelow);
    frames.push_back({{1.0, left, left + width}, {1.0, above + height, above}, i % across == 0});
  }
  return frames;
}

void draw_frame(SvgSheet& sheet, const StudyFigure& figure, const Frame& frame, const std::string& heading) {
  sheet.text(frame.x.from, frame.y.to - 6, cut_to(heading, frame.x.to - frame.x.from));
  const double shown = 1.0 - frame.y.least / frame.y.largest;
  for (const double tick : ticks_up_to(frame.y.largest, static_cast<std::size_t>(6 / shown))) {
    if (tick < frame.y.least) continue;
    sheet.line(frame.x.from, frame.y.at(tick), frame.x.to, frame.y.at(tick), "g");
    if (frame.is_first_in_row) sheet.text(frame.x.from - 6, frame.y.at(tick) + 4, tick_text(figure, tick), "a d");
  }
  sheet.end_line();
}

/// Numbers below the panel, and what they are.
void draw_numbers(SvgSheet& sheet, const StudyFigure& figure, const Frame& frame, const std::string& what) {
  for (const double tick : ticks_up_to(frame.x.largest, 4)) {
    sheet.text(frame.x.at(tick), frame.y.from + 16, tick_text(figure, tick), "a m");
  }
  sheet.text((frame.x.from + frame.x.to) / 2, frame.y.from + 32, what, "a m");
}

/// Labels of columns, as many as fit.
void draw_columns(SvgSheet& sheet, const Frame& frame, const CurveFigure& curves) {
  double longest = 0.0;
  for (const std::string& column : curves.columns) longest = std::max(longest, text_length(column) + 8);
  const double distance = (frame.x.to - frame.x.from) / static_cast<double>(curves.columns.size());
  const auto step = static_cast<std::size_t>(std::max(1.0, longest / distance + 0.999));
  for (std::size_t i = 0; i < curves.columns.size(); i += step) {
    sheet.text(frame.x.at(static_cast<double>(i) + 0.5), frame.y.from + 16, curves.columns[i], "a m");
  }
  sheet.text((frame.x.from + frame.x.to) / 2, frame.y.from + 32, curves.column_key, "a m");
}

void draw_curve(SvgSheet& sheet, const Frame& frame, const std::vector<std::optional<double>>& values,
                std::size_t series) {
  std::vector<std::pair<double, double>> part;
  const auto end_part = [&] {
    if (part.size() > 1) sheet.curve(part, series);
    for (const auto& [x, y] : part) sheet.dot(x, y, 3, series);
    part.clear();
  };
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values[i]) {
      end_part();
    } else {
      part.emplace_back(frame.x.at(static_cast<double>(i) + 0.5), frame.y.at(*values[i]));
    }
  }
  end_part();
}

double begin_sheet(SvgSheet& sheet, const StudyFigure& figure, const std::vector<std::string>& series) {
  sheet.text(8, 20, cut_to(picture_title(figure), kSheetWidth * 0.8), "t");
  return sheet.legend(series, 8, 42);
}

std::string end_sheet(SvgSheet& sheet, std::size_t panels, const std::string& note) {
  std::string text = note;
  if (panels > kMostPanels) text += " " + counted(panels - kMostPanels, "more panel") + " not shown.";
  sheet.text(8, kLargestSheetHeight - 8, text, "a");
  return sheet.svg(kLargestSheetHeight);
}

constexpr double kMargin = 1.03;  ///< of the axis of memory

/// Whether a point is beyond the longest axis.
bool is_beyond(double memory) { return memory > kMostMemory * kMargin; }

/// What the points of all panels reach; memory up to `kMostMemory`.
struct TradeRange {
  double memory = 1.0;
  double shortest = 1.0;
  double longest = 1.0;
  bool beyond = false;  ///< some have more memory
};

TradeRange range_of(const TradeFigure& trade) {
  TradeRange range;
  for (const TradeFigure::Panel& panel : trade.panels) {
    for (const auto& point : panel.points) {
      if (!point) continue;
      range.memory = std::max(range.memory, std::min(point->first, kMostMemory));
      range.beyond = range.beyond || is_beyond(point->first);
      range.shortest = std::min(range.shortest, point->second);
      range.longest = std::max(range.longest, point->second);
    }
  }
  return range;
}

void draw_trade_point(SvgSheet& sheet, const Frame& frame, const std::pair<double, double>& point, std::size_t series,
                      std::size_t count) {
  const auto& [memory, time] = point;
  if (is_beyond(memory)) {
    sheet.beyond(frame.x.to, frame.y.at(time), series);
  } else {
    sheet.dot(frame.x.at(memory), frame.y.at(time), radius_of(series, count), series);
  }
}

}  // namespace

std::string draw_curves(const StudyFigure& figure, const CurveFigure& curves) {
  SvgSheet sheet;
  double largest = 0.0;
  for (const CurveFigure::Panel& panel : curves.panels) {
    for (const auto& values : panel.values) {
      for (const auto& value : values) largest = std::max(largest, value.value_or(0.0));
    }
  }
  const double top = begin_sheet(sheet, figure, curves.series);
  std::vector<Frame> frames = make_frames(curves.panels.size(), top);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    Frame& frame = frames[i];
    frame.x.largest = static_cast<double>(curves.columns.size());
    frame.y.largest = largest > 0.0 ? largest * 1.03 : 1.0;
    draw_frame(sheet, figure, frame, curves.panels[i].heading);
    draw_columns(sheet, frame, curves);
    for (std::size_t s = 0; s < curves.series.size(); ++s) draw_curve(sheet, frame, curves.panels[i].values[s], s);
    sheet.end_line();
  }
  return end_sheet(sheet, curves.panels.size(), "");
}

std::string draw_points(const StudyFigure& figure, const PointFigure& points) {
  SvgSheet sheet;
  double largest = 0.0;
  for (const PointFigure::Panel& panel : points.panels) {
    for (const auto& series : panel.points) {
      for (const auto& [simulated, claimed] : series) largest = std::max({largest, simulated, claimed});
    }
  }
  const double top = begin_sheet(sheet, figure, points.series);
  std::vector<Frame> frames = make_frames(points.panels.size(), top);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    Frame& frame = frames[i];
    frame.x.largest = frame.y.largest = largest > 0.0 ? largest * 1.03 : 1.0;
    draw_frame(sheet, figure, frame, points.panels[i].heading);
    draw_numbers(sheet, figure, frame, "simulated");
    sheet.line(frame.x.from, frame.y.from, frame.x.to, frame.y.to, "r");
    for (std::size_t s = 0; s < points.series.size(); ++s) {
      for (const auto& [x, y] : points.panels[i].points[s])
        sheet.dot(frame.x.at(x), frame.y.at(y), radius_of(s, points.series.size()), s);
    }
    sheet.end_line();
  }
  return end_sheet(sheet, points.panels.size(), "A point for each plan; on the dashed line a claim is right.");
}

std::string draw_trade(const StudyFigure& figure, const TradeFigure& trade) {
  SvgSheet sheet;
  const TradeRange range = range_of(trade);
  const double margin = 0.05 * (range.longest - range.shortest) + 0.01;
  std::vector<Frame> frames = make_frames(trade.panels.size(), begin_sheet(sheet, figure, trade.series));
  for (std::size_t i = 0; i < frames.size(); ++i) {
    Frame& frame = frames[i];
    frame.x.largest = range.memory * kMargin;
    frame.y.largest = range.longest + margin;
    frame.y.least = range.shortest - margin;
    draw_frame(sheet, figure, frame, trade.panels[i].heading);
    draw_numbers(sheet, figure, frame, "peak memory");
    sheet.line(frame.x.from, frame.y.at(1.0), frame.x.to, frame.y.at(1.0), "r");
    sheet.line(frame.x.at(1.0), frame.y.from, frame.x.at(1.0), frame.y.to, "r");
    for (std::size_t s = 0; s < trade.series.size(); ++s) {
      if (const auto& point = trade.panels[i].points[s]) {
        draw_trade_point(sheet, frame, *point, s, trade.series.size());
      }
    }
    sheet.end_line();
  }
  std::string note = "Lower is faster. The baseline is where the dashed lines cross.";
  if (range.beyond) note += " Triangles: more memory than the axis has.";
  return end_sheet(sheet, trade.panels.size(), note);
}

}  // namespace stagecraft
