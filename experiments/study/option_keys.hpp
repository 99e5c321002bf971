#pragma once

#include "experiments/study/study.hpp"
#include "sim/io/yaml_node.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// The names of this program's planners.
[[nodiscard]] std::vector<std::string> planner_names();

/// Reads an option of a planner of which a cell's key `PLANNER.KEY` is made. An external planner has any option.
/// **Throws** InputError that names the place of an unknown option, or of a value that it cannot have.
void read_planner_option(const std::string& planner, const std::string& option, const YamlNode& node, Keys& into);

/// The same for the whole key (`is_option_key`). **Throws** as `check_option_key` too.
void read_option_key(const std::string& key, const YamlNode& node, Keys& into);

/// Refuses a key `PLANNER.KEY` (`is_option_key`) of no planner, without a key, or with the prefix that such keys once
/// had. **Throws** InputError at `node`.
void check_option_key(const std::string& key, const YamlNode& node);

/// Whether a name that `is_option_key` takes begins with a planner.
[[nodiscard]] bool names_planner(std::string_view key);

/// The value of an option as text, as one would write it on the command line.
[[nodiscard]] std::string option_text(const Detail& value);

}  // namespace stagecraft
