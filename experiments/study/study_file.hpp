#pragma once

#include "experiments/study/study.hpp"

#include <string>
#include <string_view>

namespace stagecraft {

/// The study that a file of the schema `stagecraft/study/1` describes (docs/reference/formats/study.md). Keys are flat:
/// a planner's entries become `options.PLANNER.KEY`, `nodes` becomes `platform.nodes.count`, and `training: {…}`
/// becomes `training.KEY`. Does not check whether the files that it names exist.
/// **Throws** InputError that names the place of the first error, which may be an unknown key, planner, schedule or
/// option.
[[nodiscard]] Study parse_study(std::string_view text, const std::string& file_name);

/// Applies `KEY=VALUE` as `--set` gives it: a key of all cells, `limits.KEY`, `seeds.count` or `seeds.base`.
/// **Throws** InputError that names the option.
void apply_setting(Study& study, const std::string& text);

/// Reads `KEY=VALUE` as `--filter` gives it; the value is written as in a study file.
/// **Throws** InputError that names the option.
[[nodiscard]] Keys parse_filter(const std::string& text);

}  // namespace stagecraft
