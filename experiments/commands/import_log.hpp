#pragma once

#include "experiments/commands/verb.hpp"

#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// How logs of Megatron-LM are turned into a table of measured steps.
struct LogImport {
  std::vector<std::string> files;
  std::string model;
  std::optional<std::string> platform;
  std::optional<std::string> flags;   ///< a file, in place of the arguments in the log
  std::optional<std::string> warmup;  ///< iterations
  std::optional<std::string> output;
};

/// The answer of `import megatron-log`: the table, with a row for each log; or a summary of it if it is written. Files
/// are named relative to the table.
/// **Throws** InputError for a file that is no such log, a run that no row can say, and values of options that make no
/// sense.
[[nodiscard]] Answer import_megatron_log(const LogImport& import, const Settings& settings);

}  // namespace stagecraft
