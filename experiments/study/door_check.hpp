#pragma once

#include "experiments/study/manifest.hpp"

#include <cstddef>
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

}  // namespace stagecraft
