#pragma once

#include "sim/model/detail.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace stagecraft::test {

/// The lines of a study's report, as `stagecraft report --json` has them: the keys of all cells and of the line's
/// group, and then its `name` and figures.
using StudyLines = std::vector<Detail::Record>;

/// Where the tests of the shipped studies leave their results, and what was read of them.
struct StudyResults {
  std::filesystem::path folder;
  std::map<std::string, StudyLines> read = {};
};

/// Whether the study of a figure has been run. Long ones are by `./check --full` and `./check --update` alone.
/// **Throws** InputError if there is no such study.
[[nodiscard]] bool has_results(const std::string& argument, const StudyResults& results);

/// One figure of a study: `study=NAME; KEY=VALUE; …; show=FIGURE` and, if wanted, its form:
///
///     over:KEY=VALUE    the figure as a ratio to that of another line: that with these keys, and the others
///     over=4.2    the figure as a ratio to this number
///     digits=2    so many digits behind the point, in place of the form that reports give a figure of its kind
///     unit=ms     with `digits`: in this unit, which follows the digits (s, ms, us, GiB, MiB, %)
///
/// **Throws** InputError if the keys choose no line or several, and for an unknown figure, naming what there is.
[[nodiscard]] std::string figure_text(const std::string& argument, StudyResults& results);

}  // namespace stagecraft::test
