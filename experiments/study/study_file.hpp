#pragma once

#include "experiments/study/study.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// The study that a file of the schema `stagecraft/study/1` describes (docs/reference/formats/study.md). Keys are flat:
/// a planner's entries become `PLANNER.KEY`, `nodes` becomes `platform.nodes.count`, and `training: {…}`
/// becomes `training.KEY`. Does not check whether the files that it names exist.
/// **Throws** InputError that names the place of the first error, which may be an unknown key, planner, schedule or
/// option.
[[nodiscard]] Study parse_study(std::string_view text, const std::string& file_name);

/// Applies texts of `--set`, `NAME=VALUE[,NAME=VALUE…]`: a key of all cells, `limits.KEY`, `seeds.count` or
/// `seeds.base`. A comma in a value of `replan` never ends it, because the planner's options may follow.
/// **Throws** InputError that names the option, also for a key that is set twice.
void apply_settings(Study& study, const std::vector<std::string>& texts);

/// **Throws** InputError if an option that `--set` gives to a planner reaches no cell.
void refuse_unused_settings(const Study& study, const Expansion& expansion);

/// Reads `KEY=VALUE` as `--filter` gives it; the value is written as in a study file.
/// **Throws** InputError that names the option.
[[nodiscard]] Keys parse_filter(const std::string& text);

}  // namespace stagecraft
