#pragma once

#include "experiments/commands/verb.hpp"

#include <optional>
#include <string>

namespace stagecraft {

/// How a profile for Sailor's planner is turned into a model file.
struct SailorImport {
  std::string file;
  std::string model;  ///< the network that was profiled
  std::string device;
  std::optional<std::string> precision;
  std::optional<std::string> output;
};

/// The answer of `import sailor`: the text of the model file, or a summary of it if it is written. A note tells that
/// other tensor degrees are left out, a warning that the profile lacks a product.
/// **Throws** InputError for a file that is no such profile, a model that is no network or another one, and
/// for values of options that make no sense.
[[nodiscard]] Answer import_sailor_profile(const SailorImport& import, const Settings& settings);

}  // namespace stagecraft
