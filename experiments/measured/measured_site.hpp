#pragma once

#include "experiments/measured/measured_steps.hpp"

#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// Steps that ran on one platform in one precision, and so can be compared with each other.
struct MeasuredSite {
  std::string table;     ///< its file
  std::string platform;  ///< its file, or its name
  std::optional<std::string> precision;
  std::vector<MeasuredStep> steps;
};

/// What rows take that do not say it, by `--platform` and `--precision`.
struct SiteDefaults {
  std::optional<std::string> platform;
  std::optional<std::string> precision;
};

/// The steps by platform and precision, in the order of their first rows. A platform is a file relative to the table,
/// or a shipped one.
/// **Throws** InputError, at the row, for a platform that is neither, and for none.
[[nodiscard]] std::vector<MeasuredSite> measured_sites(const std::vector<MeasuredStep>& steps,
                                                       const SiteDefaults& defaults);

}  // namespace stagecraft
