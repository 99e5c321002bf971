#pragma once

#include "tests/lint/source_tree.hpp"

#include <set>
#include <string>
#include <vector>

namespace stagecraft::lint {

/// An `#include` line.
struct Include {
  int line = 0;
  std::string name;
  bool quoted = false;
};
[[nodiscard]] std::vector<Include> includes_of(const SourceFile& file);

/// Rooms include only what stands to their left (docs/explanation/architecture.md), by full path from the root; a
/// planner includes nothing of another planner, and the folders of `planners/shared` only what is below them;
/// third-party headers stay in the files that the table names.
/// **Requires** `known`: the paths of all files, so that a quoted include of anything else is refused. `x.hpp.in` is
/// known as `x.hpp`.
[[nodiscard]] std::vector<Violation> check_walls(const SourceFile& file, const std::set<std::string>& known);

}  // namespace stagecraft::lint
