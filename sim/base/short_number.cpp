#include "sim/base/short_number.hpp"

#include <fmt/core.h>

#include <cmath>

namespace stagecraft {

std::string short_number(double value) {
  if (std::abs(value) >= 999.5) return fmt::format("{:.0f}", value);
  return fmt::format("{:.3g}", value);
}

}  // namespace stagecraft
