#pragma once

#include "experiments/commands/verb.hpp"

#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// Measured collectives, and the platform on which they ran.
struct CollectivesImport {
  std::vector<std::string> files;
  std::string platform;
  std::optional<std::string> output;
};

/// The answer of `import nccl-tests`: the constants that were fitted, with residuals. With `output` the platform with
/// these constants is written there, or is the answer if that is `-`.
/// **Throws** InputError for files without tables, and as `fit_collectives`.
[[nodiscard]] Answer import_collectives(const CollectivesImport& import, const Settings& settings);

}  // namespace stagecraft
