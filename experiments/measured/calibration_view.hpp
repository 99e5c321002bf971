#pragma once

#include "experiments/measured/calibration.hpp"
#include "experiments/view/description.hpp"

#include <string>
#include <vector>

namespace stagecraft {

/// Tables of the constants, of the errors and of the steps, and the same as JSON. `file` names the table of the steps.
[[nodiscard]] Description describe_calibration(const Calibration& calibration, const std::string& file);

/// What the user should know before the constants are used: constants that no step tells anything about, constants at
/// their bound, and pairs that the steps cannot tell apart.
[[nodiscard]] std::vector<std::string> calibration_warnings(const Calibration& calibration);

/// The device with a text that says which constants were fitted to which steps (`DeviceDescription::fit`).
[[nodiscard]] DeviceDescription fitted_device(const Calibration& calibration, const std::string& file);

}  // namespace stagecraft
