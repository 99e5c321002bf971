#pragma once

#include "sim/io/yaml_node.hpp"
#include "sim/workload/architecture.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// The most tokens that a sample has unless the user says so: models allow more than they are trained with.
inline constexpr std::int64_t kUsualSequence = 8192;

/// What a configuration file describes.
struct HfConfig {
  Architecture network;
  std::vector<std::string> notes;  ///< what the user should know: keys that were not read, a length that was chosen
  std::vector<std::string> warnings = {};  ///< a length beyond what the file allows
  std::vector<std::string> unread = {};    ///< keys that change something elsewhere, and nothing here
};

/// Whether the file is a `config.json` of Hugging Face's format or one in the dialect of simulators, by its keys.
[[nodiscard]] bool is_hf_config(const YamlNode& root);

/// The network of a `config.json` as Hugging Face's transformers write it, or of a file in the dialect of simulators
/// (docs/reference/formats/architecture.md has the keys). A sample has `sequence` tokens, else as many as the file
/// allows, at most `kUsualSequence`. The name is the last part of `_name_or_path` or the `model_name`, else that of the
/// file, or of the folder of a file `config.json`.
/// **Throws** InputError naming the place of the first defect.
[[nodiscard]] HfConfig read_hf_config(const std::string& path, std::optional<std::int64_t> sequence = {});

/// The same of a text. `path` is used in messages, and for the name where `location` does not say where the file lies.
[[nodiscard]] HfConfig parse_hf_config(std::string_view text, const std::string& path,
                                       std::optional<std::int64_t> sequence = {}, const std::string& location = {});

}  // namespace stagecraft
