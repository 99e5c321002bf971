#pragma once

#include "sim/model/options.hpp"
#include "tests/docs/refresh.hpp"
#include "tests/docs/study_figures.hpp"

#include <string>
#include <vector>

namespace stagecraft::test {

/// The kinds of marks:
///
///     <!-- table: options of planner NAME -->     on a line of its own, as is its end; also `of schedule NAME`
///     <!-- table: errors of validation NAME -->   likewise; also `left out of` (tests/docs/validation_tables.hpp)
///     <!-- list: KIND -->                         names as `stagecraft list KIND`, by name; `KIND; link=a/NAME.md`
///     links
///     <!-- figure: study=NAME; …; show=FIGURE --> one figure of a study's report (tests/docs/study_figures.hpp)
///     <!-- figure: validation=NAME; … -->         one of predicted steps (tests/docs/validation_tables.hpp)
///     <!-- figure: all-reduce=PLATFORM; … -->     a bus bandwidth (tests/docs/all_reduce_figures.hpp)
///
/// **Throws** InputError for a mark that is none of these or names what does not exist.
[[nodiscard]] std::string filled(const Mark& mark, StudyResults& results);

/// `| option | values | default | meaning |`, with a row for each option.
[[nodiscard]] std::string option_table(const std::vector<OptionInfo>& options);

}  // namespace stagecraft::test
