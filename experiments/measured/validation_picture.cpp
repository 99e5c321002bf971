// Two squares with the same logarithmic axes: what is predicted, and what the plain formula says, over what was
// measured.
#include "experiments/measured/validation_view.hpp"
#include "experiments/view/svg_sheet.hpp"
#include "sim/base/text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

namespace stagecraft {
namespace {

constexpr double kSide = 360;
constexpr double kTop = 40;
constexpr std::array kLefts{70.0, 510.0};
constexpr std::array<Seconds PredictedStep::*, 2> kPredictions{&PredictedStep::time, &PredictedStep::plain};
constexpr std::array kTitles{"Stagecraft", "plain formula"};
constexpr double kDecadesWithRoom = 2.2;
constexpr double kNear = 0.1;
constexpr double kRadius = 2.5;

/// The times of all steps, measured and predicted, between whole steps of the axes.
struct TimeRange {
  double least = 0;  ///< logarithms to the base 10
  double most = 0;
};

TimeRange range_of(const std::vector<Validation>& validations) {
  double least = 1e300;
  double most = 0;
  for (const Validation& validation : validations) {
    for (const PredictedStep& each : validation.steps) {
      const auto [low, high] = std::minmax({each.step.time.value(), each.time.value(), each.plain.value()});
      least = std::min(least, low);
      most = std::max(most, high);
    }
  }
  return {std::log10(least) - 0.05, std::log10(most) + 0.05};
}

/// The powers of ten that lie in the range, and 2 and 5 times them where there is room for that.
std::vector<double> ticks_in(const TimeRange& range) {
  const bool has_room = range.most - range.least < kDecadesWithRoom;
  std::vector<double> ticks;
  for (double power = std::floor(range.least); power <= range.most; power += 1) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double log = power + std::log10(factor);
      if (factor > 1.0 && !has_room) continue;
      if (log >= range.least && log <= range.most) ticks.push_back(std::pow(10.0, power) * factor);
    }
  }
  return ticks;
}

/// One of the squares.
class Panel {
 public:
  Panel(SvgSheet& sheet, const TimeRange& range, double left)
      : sheet_(sheet),
        range_(range),
        across_{range.most, left, left + kSide, range.least},
        up_{range.most, kTop + kSide, kTop, range.least} {}

  void frame(const std::string& title) {
    sheet_.text(across_.from, kTop - 14, title, "t");
    for (const double tick : ticks_in(range_)) {
      const double log = std::log10(tick);
      sheet_.line(across_.at(log), up_.from, across_.at(log), up_.to, "g");
      sheet_.line(across_.from, up_.at(log), across_.to, up_.at(log), "g");
      sheet_.text(across_.at(log), up_.from + 16, format_human_seconds(Seconds(tick)), "m a");
      sheet_.text(across_.from - 6, up_.at(log) + 4, format_human_seconds(Seconds(tick)), "d a");
    }
    sheet_.line(across_.from, up_.from, across_.to, up_.to, "w");
    for (const double factor : {1.0 - kNear, 1.0 + kNear}) beside(std::log10(factor));
    sheet_.end_line();
  }

  void dot(Seconds measured, Seconds predicted, std::size_t series) {
    sheet_.dot(across_.at(std::log10(measured.value())), up_.at(std::log10(predicted.value())), kRadius, series);
  }

 private:
  /// The line of predictions that differ from what was measured by so much.
  void beside(double log) {
    const double from = range_.least - std::min(log, 0.0);
    const double to = range_.most - std::max(log, 0.0);
    sheet_.line(across_.at(from), up_.at(from + log), across_.at(to), up_.at(to + log), "r");
  }

  SvgSheet& sheet_;
  TimeRange range_;
  SvgAxis across_;
  SvgAxis up_;
};

std::vector<std::string> names_of(const std::vector<Validation>& validations) {
  std::vector<std::string> names;
  for (const Validation& validation : validations) {
    names.push_back(fmt::format("{} on {} in {}", std::filesystem::path(validation.site.table).stem().string(),
                                validation.platform, to_string(validation.device.precision)));
  }
  return names;
}

}  // namespace

std::string validation_picture(const std::vector<Validation>& validations) {
  SvgSheet sheet;
  const TimeRange range = range_of(validations);
  for (std::size_t p = 0; p < kLefts.size(); ++p) {
    Panel panel(sheet, range, kLefts[p]);
    panel.frame(kTitles[p]);
    for (std::size_t v = 0; v < validations.size(); ++v) {
      for (const PredictedStep& each : validations[v].steps) panel.dot(each.step.time, each.*kPredictions[p], v);
      sheet.end_line();
    }
  }
  const double below = kTop + kSide + 40;
  sheet.text(kLefts[0], below, "predicted over measured time of a step; broken lines: 10 % more and less", "a");
  return sheet.svg(sheet.legend(names_of(validations), kLefts[0], below + 24));
}

}  // namespace stagecraft
