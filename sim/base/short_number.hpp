#pragma once

#include <string>

namespace stagecraft {

/// The number with three significant digits, or all digits before the point: `1234`, `56.7`, `0.0891`.
[[nodiscard]] std::string short_number(double value);

}  // namespace stagecraft
