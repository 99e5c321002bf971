#include "experiments/measured/calibration.hpp"

#include "experiments/measured/least_squares.hpp"
#include "experiments/measured/step_times.hpp"
#include "sim/base/activity.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

namespace stagecraft {
namespace {

constexpr double kNoticeable = 0.01;               ///< least |d log time / d log constant| of a step that counts
constexpr double kConfused = 0.95;                 ///< correlations from here on are named
constexpr double kKnown = 0.5;                     ///< of a constant; a larger error says that its value is open
constexpr double kAtBound = 0.999;                 ///< of a share
constexpr double kUsualNoise = 0.03;               ///< of measured steps, before their residuals are known
constexpr double kFarthest = 12.0;                 ///< of a coordinate from its start: a factor of some 160,000
constexpr double kProbe = 1e-4;                    ///< of a coordinate, for derivatives
constexpr std::array kTriedFactors = {4.0, 16.0};  ///< of a constant that has no effect where it starts

/// The constants that are fitted, and the steps that they are fitted to.
class StepFit {
 public:
  StepFit(DeviceDescription device, StepTimes& times, const std::vector<MeasuredStep>& steps)
      : device_(std::move(device)), times_(times), steps_(steps) {}

  /// log(predicted / measured), by step.
  [[nodiscard]] std::vector<double> residuals() const {
    std::vector<double> logs = times_.at(device_);
    for (std::size_t s = 0; s < logs.size(); ++s) logs[s] = std::log(logs[s] / steps_[s].time.value());
    return logs;
  }

  /// By step, how the logarithm of its time changes with that of the constant.
  [[nodiscard]] std::vector<double> elasticities(const DeviceConstant& constant) {
    const double value = constant.get(device_);
    const double middle = coordinate_of(constant, value);
    const double below = value_at(constant, middle - kProbe);
    const double above = value_at(constant, middle + kProbe);
    const std::vector<double> high = with(constant, above);
    std::vector<double> slopes = with(constant, below);
    constant.set(device_, value);
    for (std::size_t s = 0; s < slopes.size(); ++s) slopes[s] = (high[s] - slopes[s]) / std::log(above / below);
    return slopes;
  }

  /// Moves a constant that has no effect to several times its value, if that has and comes nearer to the steps.
  /// Returns whether it has moved.
  [[nodiscard]] bool moves_into_effect(const DeviceConstant& constant) {
    if (constant.is_share) return false;
    const double value = constant.get(device_);
    double least = squares(residuals());
    double best = value;
    for (const double factor : kTriedFactors) {
      const double sum = squares(with(constant, value * factor));
      if (sum < least && counted_rows(elasticities(constant)) > 0) {
        least = sum;
        best = value * factor;
      }
    }
    constant.set(device_, best);
    return best != value;
  }

  void solve(const std::vector<DeviceConstant>& constants) {
    std::vector<double> start;
    for (const DeviceConstant& constant : constants) start.push_back(coordinate_of(constant, constant.get(device_)));
    const auto move_to = [&](const std::vector<double>& point) {
      for (std::size_t c = 0; c < constants.size(); ++c) {
        const double near = std::clamp(point[c], start[c] - kFarthest, start[c] + kFarthest);
        constants[c].set(device_, value_at(constants[c], near));
      }
    };
    const auto at = [&](const std::vector<double>& point) {
      move_to(point);
      return residuals();
    };
    move_to(least_squares(at, start));
  }

  static std::size_t counted_rows(const std::vector<double>& elasticities) {
    return static_cast<std::size_t>(
        std::ranges::count_if(elasticities, [](double slope) { return std::abs(slope) >= kNoticeable; }));
  }

  [[nodiscard]] const DeviceDescription& device() const { return device_; }

 private:
  [[nodiscard]] std::vector<double> with(const DeviceConstant& constant, double value) {
    constant.set(device_, value);
    return residuals();
  }

  static double squares(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value * value;
    return sum;
  }

  DeviceDescription device_;
  StepTimes& times_;
  const std::vector<MeasuredStep>& steps_;
};

std::vector<FittedValue> values_before(const DeviceDescription& device, const std::vector<std::string>& names,
                                       std::size_t steps) {
  if (names.size() > steps) {
    throw InputError(
        fmt::format("{} cannot be fitted to {}", counted(names.size(), "constant"), counted(steps, "step")),
        {"", 0, 0, "--fit"}, "give more rows, or fewer constants");
  }
  std::vector<FittedValue> values;
  for (const DeviceConstant& constant : all_device_constants()) {
    if (std::ranges::find(names, constant.name) == names.end()) continue;
    const double value = constant.get(device);
    if (value <= 0) {
      throw InputError("the device " + quote(device.name) + " has no " + quote(constant.name) + " to start from",
                       {"", 0, 0, "--fit"}, "give it a first value in a device file");
    }
    values.push_back({constant, value, value, 0, std::nullopt});
  }
  return values;
}

/// Fits the constants that have an effect, moved into it if need be. Where others ended a constant may have one that
/// had none before: then it is fitted, too.
void fit_effective(StepFit& fit, const std::vector<FittedValue>& values) {
  std::vector<char> is_fitted(values.size(), 0);
  std::vector<DeviceConstant> fitted;
  for (bool has_grown = true; has_grown;) {
    has_grown = false;
    for (std::size_t c = 0; c < values.size(); ++c) {
      const DeviceConstant& constant = values[c].constant;
      if (is_fitted[c] != 0) continue;
      if (StepFit::counted_rows(fit.elasticities(constant)) == 0 && !fit.moves_into_effect(constant)) continue;
      is_fitted[c] = 1;
      has_grown = true;
      fitted.push_back(constant);
    }
    if (has_grown) fit.solve(fitted);
  }
}

/// By constant, and then by step.
using Slopes = std::vector<std::vector<double>>;

/// Adds how well steps with these residuals determine the constants, by how their times change with these.
void add_determination(const Slopes& slopes, const std::vector<double>& residuals, Calibration& calibration) {
  Derivatives derivatives;
  std::vector<std::size_t> positions;
  calibration.confusions.clear();
  for (std::size_t c = 0; c < calibration.constants.size(); ++c) {
    FittedValue& value = calibration.constants[c];
    value.rows = StepFit::counted_rows(slopes[c]);
    if (value.rows == 0) continue;
    derivatives.push_back(slopes[c]);
    positions.push_back(c);
  }
  if (derivatives.empty()) return;
  const Determination found = determination(derivatives, residuals);
  for (std::size_t a = 0; a < positions.size(); ++a) {
    if (!found.errors.empty()) calibration.constants[positions[a]].error = found.errors[a];
    for (std::size_t b = a + 1; b < positions.size(); ++b) {
      if (std::abs(found.correlations[a][b]) < kConfused) continue;
      calibration.confusions.push_back({positions[a], positions[b], found.correlations[a][b]});
    }
  }
}

double error_of(const FittedValue& value) { return value.error.value_or(0.0); }

/// A constant that the steps do not determine, if there is one.
std::optional<LeftConstant> undetermined(const Calibration& calibration) {
  const std::vector<FittedValue>& values = calibration.constants;
  const auto idle = std::ranges::find(values, std::size_t{0}, &FittedValue::rows);
  if (idle != values.end()) return LeftConstant{idle->constant.name, "no step depends on it"};
  const auto bound = std::ranges::find_if(values, is_at_bound);
  if (bound != values.end()) return LeftConstant{bound->constant.name, "ended at its bound"};
  const auto open = std::ranges::max_element(values, {}, error_of);
  if (is_open(*open)) return LeftConstant{open->constant.name, "the steps do not determine it"};
  const auto pair = std::ranges::max_element(calibration.confusions, {},
                                             [](const Confusion& each) { return std::abs(each.correlation); });
  if (pair == calibration.confusions.end()) return std::nullopt;
  const bool is_first = error_of(values[pair->first]) > error_of(values[pair->second]);
  const FittedValue& kept = values[is_first ? pair->second : pair->first];
  const FittedValue& left = values[is_first ? pair->first : pair->second];
  return LeftConstant{left.constant.name, "the steps hardly tell it from " + quote(kept.constant.name)};
}

/// The usual constants of which the device has a value, where it has them, or several times it if they have an effect
/// only there; with how steps change with each.
Slopes slopes_of_usual(StepFit& fit, std::vector<FittedValue>& values) {
  Slopes slopes;
  for (const DeviceConstant& constant : all_device_constants()) {
    const bool is_usual = std::ranges::find(usual_constants(), constant.name) != usual_constants().end();
    const double value = constant.get(fit.device());
    if (!is_usual || value <= 0) continue;
    std::vector<double> slope = fit.elasticities(constant);
    if (StepFit::counted_rows(slope) == 0 && fit.moves_into_effect(constant)) slope = fit.elasticities(constant);
    values.push_back({constant, value, value, 0, std::nullopt});
    slopes.push_back(std::move(slope));
  }
  return slopes;
}

/// The constant with which times change least.
std::size_t weakest(const Slopes& slopes) {
  const auto effect = [](const std::vector<double>& slope) {
    return std::transform_reduce(slope.begin(), slope.end(), 0.0, std::plus<>(), [](double s) { return std::abs(s); });
  };
  return static_cast<std::size_t>(std::ranges::min_element(slopes, {}, effect) - slopes.begin());
}

/// The names of the usual constants that steps with usual noise would determine, so that no fit is lost on the others.
std::vector<std::string> determined_names(StepFit& fit, std::size_t steps, std::vector<LeftConstant>& left) {
  Calibration start;
  Slopes slopes = slopes_of_usual(fit, start.constants);
  while (start.constants.size() > 1) {
    std::optional<LeftConstant> next;
    if (start.constants.size() >= steps) {
      next = LeftConstant{start.constants[weakest(slopes)].constant.name, "there are too few steps"};
    } else {
      add_determination(slopes, std::vector<double>(steps, kUsualNoise), start);
      next = undetermined(start);
    }
    if (!next) break;
    const auto is_next = [&](const FittedValue& value) { return value.constant.name == next->name; };
    const auto found = std::ranges::find_if(start.constants, is_next);
    slopes.erase(slopes.begin() + (found - start.constants.begin()));
    start.constants.erase(found);
    left.push_back(*next);
  }
  std::vector<std::string> names;
  for (const FittedValue& value : start.constants) names.push_back(value.constant.name);
  return names;
}

}  // namespace

bool is_open(const FittedValue& value) { return error_of(value) > kKnown; }

bool is_at_bound(const FittedValue& value) { return value.constant.is_share && value.after > kAtBound; }

StepErrors errors_of(const Calibration& calibration, Seconds FittedStep::* predicted) {
  std::vector<double> times;
  std::vector<double> measured;
  for (const FittedStep& step : calibration.steps) {
    times.push_back((step.*predicted).value());
    measured.push_back(step.step.time.value());
  }
  return step_errors(times, measured);
}

Calibration calibrate(const DeviceDescription& device, const Platform& platform, const std::vector<MeasuredStep>& steps,
                      const std::vector<std::string>& names) {
  Calibration calibration;
  calibration.constants = values_before(device, names, steps.size());
  const Activity activity("fitting " + counted(names.size(), "constant") + " to " + counted(steps.size(), "step"));
  StepTimes times(steps, platform, device);
  calibration.remarks = times.remarks();
  const std::vector<double> before = times.at(device);
  StepFit fit(device, times, steps);
  fit_effective(fit, calibration.constants);
  Slopes slopes;
  for (FittedValue& value : calibration.constants) {
    value.after = value.constant.get(fit.device());
    slopes.push_back(fit.elasticities(value.constant));
  }
  add_determination(slopes, fit.residuals(), calibration);
  calibration.device = fit.device();
  const std::vector<double> after = times.at(calibration.device);
  for (std::size_t s = 0; s < steps.size(); ++s) {
    calibration.steps.push_back({steps[s], Seconds(before[s]), Seconds(after[s])});
  }
  return calibration;
}

Calibration calibrate_usual(const DeviceDescription& device, const Platform& platform,
                            const std::vector<MeasuredStep>& steps) {
  std::vector<LeftConstant> left;
  StepTimes times(steps, platform, device);
  StepFit start(device, times, steps);
  std::vector<std::string> names = determined_names(start, steps.size(), left);
  while (true) {
    Calibration calibration = calibrate(device, platform, steps, names);
    const auto next = names.size() > 1 ? undetermined(calibration) : std::nullopt;
    if (!next) {
      calibration.left = std::move(left);
      return calibration;
    }
    left.push_back(*next);
    std::erase(names, next->name);
  }
}

}  // namespace stagecraft
