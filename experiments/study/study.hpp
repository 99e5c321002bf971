#pragma once

#include "experiments/study/table_choice.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/detail.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// Keys and values of a configuration in the order in which they are shown, such as `planner: pipedream`,
/// `options.pipedream.straight: true`, `platform.network.bandwidth: 10 Gbps`. Each key once.
using Keys = Detail::Record;

/// What takes one of several values; a value may set several keys that vary together.
using Axis = std::vector<Keys>;

/// Of one cell.
struct StudyLimits {
  Seconds time = Seconds(3600);  ///< by the clock on the wall
  std::optional<Bytes> memory;
  std::int64_t retries = 1;  ///< after a crash or when the time is up; alone on the machine
  friend bool operator==(const StudyLimits&, const StudyLimits&) = default;
};

/// A study as its file gives it (contract, section 11).
struct Study {
  std::string name;
  std::string file;  ///< that paths are relative to
  Keys base;
  std::vector<Axis> axes;  ///< the matrix in the order of the file, then the zips
  std::vector<Keys> exclude;
  std::vector<Keys> include;
  std::vector<std::uint64_t> seeds{1};
  std::optional<Keys> baseline;
  std::vector<std::string> columns;  ///< further figures for the report's tables: of a row, or `details.NAME`
  std::vector<TableChoice> tables;   ///< of the report, in place of one for each group
  StudyLimits limits;
  Keys fixed;  ///< set from outside; comes before what base, axes and `include` say
  friend bool operator==(const Study&, const Study&) = default;
};

/// One combination of a study: a planner, what it plans for, and how the plan is carried out.
struct Cell {
  Keys keys;               ///< options of other planners left out
  std::uint64_t seed = 1;  ///< as the study lists it
  friend bool operator==(const Cell&, const Cell&) = default;
};

/// What a study expands to.
struct Expansion {
  std::vector<Cell> cells;
  std::size_t repeated = 0;           ///< combinations that were left out because an equal one comes before
  std::vector<std::string> warnings;  ///< of patterns that match nothing, which are most often mistyped
};

/// The value of a key; none if it is not there.
[[nodiscard]] const Detail* find_key(const Keys& keys, std::string_view name);

/// The same of a word; empty if it is not there or no word.
[[nodiscard]] std::string word_of(const Keys& keys, std::string_view name);

/// Sets a key, replacing its value where it is there already.
void set_key(Keys& keys, const std::string& name, const Detail& value);

/// Whether all keys of `pattern` are there with the same values.
[[nodiscard]] bool matches(const Keys& keys, const Keys& pattern);

/// Every key and value in the order of the keys' names, without the label: equal for equal cells.
[[nodiscard]] Keys canonical(const Keys& keys);

/// The beginning of the keys that are options of a planner: `options.PLANNER.`.
[[nodiscard]] std::string option_prefix(const std::string& planner);

/// Every cell: the combinations of the axes over the base, the first axis varying slowest, less those excluded; then
/// those included; each with every seed. What comes again is left out.
/// **Throws** InputError for more than 100,000 cells or two million values in all of them together (judged before any
/// is made), for none, for one without model, platform or planner or with both `microbatches` and `global_batch`, and
/// for equal cells that have two labels.
[[nodiscard]] Expansion expand(const Study& study);

}  // namespace stagecraft
