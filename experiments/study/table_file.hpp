#pragma once

#include "experiments/study/table_choice.hpp"
#include "sim/io/yaml_node.hpp"

#include <functional>
#include <string>
#include <vector>

namespace stagecraft {

/// Reads a pattern: keys of a cell.
using ReadPattern = std::function<Detail::Record(const YamlNode& node)>;

/// The `tables` of a study file. **Throws** InputError naming the place of the first defect.
[[nodiscard]] std::vector<TableChoice> read_tables(const YamlNode& node, bool has_baseline,
                                                   const ReadPattern& read_pattern);

/// Reads the name of a figure that a table of the report may show: one of `figure_columns` that is not a record,
/// `load_ratio`, or `details.NAME`. **Throws** InputError for another name.
[[nodiscard]] std::string read_figure(const YamlNode& node);

}  // namespace stagecraft
