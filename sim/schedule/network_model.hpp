#pragma once

namespace stagecraft {

/// How tensors cross the boundaries of stages (docs/reference/report.md).
enum class NetworkModel {
  Platform,  ///< flows over the platform's routes
  Analytic,  ///< each boundary is one exclusive channel whose time a formula gives
};

}  // namespace stagecraft
