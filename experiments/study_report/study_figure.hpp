#pragma once

#include "experiments/study_report/summary.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace stagecraft {

/// A value for each row and series; none where there is none.
using FigureValues = std::vector<std::vector<std::optional<double>>>;

/// The mean of a series over all rows, and of how many groups or cells it is one.
struct SeriesMean {
  std::optional<double> mean;
  std::size_t used = 0;
  std::size_t total = 0;
};

/// Bars: the means of the series, and their values in each row.
struct BarFigure {
  std::vector<std::string> series;
  std::vector<std::string> rows;
  FigureValues values;            ///< by row and series
  std::vector<SeriesMean> means;  ///< by series; empty if means over the rows say nothing
  std::string of_what;            ///< what the means are taken over: `groups` or `cells`
};

/// Curves over the same columns, in panels with the same axes.
struct CurveFigure {
  struct Panel {
    std::string heading;
    FigureValues values;  ///< by series and column
  };
  std::string column_key;
  std::vector<std::string> columns;
  std::vector<std::string> series;
  std::vector<Panel> panels;
};

/// Points (simulated, claimed), in panels with the same axes.
struct PointFigure {
  struct Panel {
    std::string heading;
    std::vector<std::vector<std::pair<double, double>>> points;  ///< by series
  };
  std::vector<std::string> series;
  std::vector<Panel> panels;
};

/// Points (peak memory, time of a sample), each over that of the baseline, in panels with the same axes.
struct TradeFigure {
  struct Panel {
    std::string heading;
    std::vector<std::optional<std::pair<double, double>>> points;  ///< by series
  };
  std::vector<std::string> series;
  std::vector<Panel> panels;
};

/// What the picture of a study shows.
struct StudyFigure {
  std::string title;
  std::string value;      ///< the name of the figure that is shown
  bool is_ratio = false;  ///< 1 means equal
  std::variant<BarFigure, CurveFigure, PointFigure, TradeFigure> content;
};

/// The first of these that the study has:
/// - its first table with numbers: curves if the table has one key other than `planner` across and three values of it
///   or more, otherwise bars; means for ratios only;
/// - with a baseline and one planner, whose schedules differ: time over memory, a point for each schedule;
/// - speed-ups over its baseline, as bars;
/// - columns with periods (`details.NAME_period_s`): the points of each over the simulated period;
/// - with several planners their regret, as bars;
/// - samples/s: a curve over the only key that differs, otherwise the values of the groups.
[[nodiscard]] StudyFigure choose_figure(const StudySummary& summary);

/// Names of rows, each by the values of its keys. A number has the name of its key. Keys that are not needed to tell
/// the rows apart are left out, the last ones first, but never the first one.
[[nodiscard]] std::vector<std::string> row_names(std::vector<Keys> rows);

}  // namespace stagecraft
