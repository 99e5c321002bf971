#pragma once

#include "experiments/study/manifest.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace stagecraft {

/// **Throws** InputError if all cells have the same problem before a planner starts: a file that cannot be read, a
/// value of a file that none of them has, or a value that no planner can use. Cells of which only some have a problem,
/// or each its own, get their rows.
///
/// The cells are looked at in a child process that the limits of a cell hold for. If it crashes or takes long, nothing
/// is refused.
/// **Requires** that this process has only one thread, because it forks.
/// **Cost** that of reading the files of one cell, unless all of them have a problem.
void refuse_common_problem(const Manifest& manifest, const std::vector<std::size_t>& cells);

/// Why values of keys `model.…` and `platform.…` make invalid all cells that have them: a message for each such value,
/// in the order of the cells. Looks as `refuse_common_problem` does, and likewise says nothing if that takes long.
/// **Requires** that this process has only one thread, because it forks.
/// **Cost** that of reading the files of one cell for each value.
[[nodiscard]] std::vector<std::string> problems_of_values(const Manifest& manifest,
                                                          const std::vector<std::size_t>& cells);

/// What files named `config.json` leave out, and the lengths that are chosen for them: a sentence with the model's name
/// for each remark, once, in the order of the cells. Looks as `refuse_common_problem` does.
/// **Requires** that this process has only one thread, because it forks.
/// **Cost** that of reading each model with each of its values.
[[nodiscard]] std::vector<std::string> remarks_on_models(const Manifest& manifest,
                                                         const std::vector<std::size_t>& cells);

}  // namespace stagecraft
