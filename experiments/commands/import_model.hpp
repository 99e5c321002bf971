#pragma once

#include "experiments/commands/verb.hpp"

#include <optional>
#include <string>

namespace stagecraft {

/// How a profile of another program is turned into a model file.
struct ModelImport {
  std::string file;
  std::optional<std::string> microbatch_size;
  std::string device;
  std::optional<std::string> time_unit;
  std::optional<std::string> output;
};

/// Says that other tensor degrees than 1 are left out.
void tell_left_out_degrees(const Settings& settings);

/// The answer of `import pipedream`: the text of the model file, or a summary of it if it is written.
/// **Requires** a microbatch size. **Throws** InputError for a file that is no such profile, and for values of options
/// that make no sense.
[[nodiscard]] Answer import_pipedream_profile(const ModelImport& import, const Settings& settings);

/// The same of `import dapple`, whose format is the same. Without a microbatch size it is that of `pbs-N` in the name
/// of the file, as DAPPLE has it. **Throws** InputError if there is none, too.
[[nodiscard]] Answer import_dapple_profile(const ModelImport& import, const Settings& settings);

/// The same of `import piper`: times are in seconds, unless the option says otherwise. Warns of times that seem to be
/// in another unit.
[[nodiscard]] Answer import_piper_profile(const ModelImport& import, const Settings& settings);

/// The same of `import dnn-partitioning`, with times in milliseconds unless the option says otherwise. Notes tell what
/// the file lacks.
[[nodiscard]] Answer import_dnn_partitioning_profile(const ModelImport& import, const Settings& settings);

}  // namespace stagecraft
