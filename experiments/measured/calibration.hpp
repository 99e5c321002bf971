#pragma once

#include "experiments/measured/device_constants.hpp"
#include "experiments/measured/measured_steps.hpp"
#include "experiments/measured/step_errors.hpp"
#include "sim/model/platform.hpp"
#include "sim/workload/device.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// What was found of one constant.
struct FittedValue {
  DeviceConstant constant;
  double before = 0;
  double after = 0;
  std::size_t rows = 0;         ///< whose time changes noticeably with it
  std::optional<double> error;  ///< standard error, relative to the value; none where nothing can be said
};

/// Whether the steps say less than half of the value, and whether it ended where a share has its bound.
[[nodiscard]] bool is_open(const FittedValue& value);
[[nodiscard]] bool is_at_bound(const FittedValue& value);

/// A step with its times by the constants before and after.
struct FittedStep {
  MeasuredStep step;
  Seconds before;
  Seconds after;
};

/// Two constants whose errors go together: the steps know the one only as well as the other.
struct Confusion {
  std::size_t first = 0;  ///< positions in `Calibration::constants`
  std::size_t second = 0;
  double correlation = 0;
};

/// A constant that was not fitted, and why.
struct LeftConstant {
  std::string name;
  std::string reason;
};

/// Constants of a device that were fitted to steps.
struct Calibration {
  DeviceDescription device;  ///< with the constants that were found
  std::vector<FittedValue> constants;
  std::vector<FittedStep> steps;
  std::vector<Confusion> confusions;
  std::vector<LeftConstant> left;    ///< of the usual constants, if nobody chose any
  std::vector<std::string> remarks;  ///< on the files of the networks
};

[[nodiscard]] StepErrors errors_of(const Calibration& calibration, Seconds FittedStep::* predicted);

/// Fits the constants of these names by least squares of log(predicted / measured), every step with the same weight.
/// Times are those of an evaluation without contention. A step counts for a constant whose change by a hundredth
/// changes its time by a ten-thousandth or more. A constant for which no step counts, with the device's value or with
/// several times it, stays as it is.
/// **Requires** constants of `all_device_constants`, each once, and steps; all devices of the platform are of the
/// device's kind.
/// **Throws** InputError for more constants than steps, for a constant of which the device has no value from which to
/// start, and as `StepTimes`.
[[nodiscard]] Calibration calibrate(const DeviceDescription& device, const Platform& platform,
                                    const std::vector<MeasuredStep>& steps, const std::vector<std::string>& names);

/// Fits those usual constants that the steps determine; the others stay as the device has them. What steps with usual
/// noise could not determine where the fit starts is left out before, and what they do not determine where it ended
/// after: what no step depends on first, then what ended at a bound, then what has the largest standard error above a
/// half, then the less known one of two that are hardly told apart. There are fewer constants than steps, if there are
/// several. **Requires** and **throws** as `calibrate`. **Cost** one fit, and another for each that is left out after.
[[nodiscard]] Calibration calibrate_usual(const DeviceDescription& device, const Platform& platform,
                                          const std::vector<MeasuredStep>& steps);

}  // namespace stagecraft
