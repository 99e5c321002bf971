#pragma once

#include "sim/workload/device.hpp"

#include <string>
#include <vector>

namespace stagecraft {

/// What the value of a constant is counted in.
enum class ConstantUnit { None, OfTime, OfSize };

/// A constant of a device that can be fitted, by its key in a device file.
struct DeviceConstant {
  std::string name;
  std::string meaning;
  ConstantUnit unit = ConstantUnit::None;
  bool is_share = false;  ///< above 0 and below 1; else above 0
  double (*get)(const DeviceDescription& device) = nullptr;
  void (*set)(DeviceDescription& device, double value) = nullptr;
};

/// Of every kind, in the order of a device file.
[[nodiscard]] const std::vector<DeviceConstant>& all_device_constants();
/// The names of those that are fitted unless the user says otherwise.
[[nodiscard]] const std::vector<std::string>& usual_constants();

/// The coordinate in which a solver moves: the logarithm, or of a share its log-odds. So every coordinate is a value.
[[nodiscard]] double coordinate_of(const DeviceConstant& constant, double value);
[[nodiscard]] double value_at(const DeviceConstant& constant, double coordinate);

/// The value with its unit and three digits, for tables.
[[nodiscard]] std::string constant_text(const DeviceConstant& constant, double value);

}  // namespace stagecraft
