#pragma once

#include "experiments/study/study.hpp"

#include <string>
#include <string_view>

namespace stagecraft {

/// The study a file of the schema `stagecraft/study/1` describes (docs/reference/formats/study.md). Keys are flat: a
/// planner's entries become `options.PLANNER.KEY`, `nodes` becomes `platform.nodes.count`, and `training: {…}` becomes
/// `training.KEY`. Whether the files it names exist is not looked at.
/// **Throws** InputError naming the place of the first defect: unknown keys, planners, schedules and options among
/// them.
[[nodiscard]] Study parse_study(std::string_view text, const std::string& file_name);

/// Applies `KEY=VALUE` as `--set` gives it: a key of all cells, `limits.KEY`, `seeds.count` or `seeds.base`.
/// **Throws** InputError that names the option.
void apply_setting(Study& study, const std::string& text);

/// One key and value as `--filter` gives it: `KEY=VALUE`, the value as in a study file.
/// **Throws** InputError that names the option.
[[nodiscard]] Keys parse_filter(const std::string& text);

}  // namespace stagecraft
