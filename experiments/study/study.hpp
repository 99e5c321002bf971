#pragma once

#include "experiments/study/table_choice.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/detail.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// Keys and values of a configuration in the order in which they are shown, such as `planner: pipedream`,
/// `pipedream.straight: true`, `platform.network.bandwidth: 10 Gbps`. Each key once.
using Keys = Detail::Record;

/// Keys besides its options that each planner of a study may have for itself.
inline constexpr std::array<std::string_view, 6> kOwnKeys = {"schedule",           "microbatches", "microbatch_size",
                                                             "samples_per_update", "run_length",   "memory"};

/// An axis of the study: a list of values, of which each cell has one. A value may set several keys that vary together.
using Axis = std::vector<Keys>;

/// The limits of one cell.
struct StudyLimits {
  Seconds time = Seconds(3600);  ///< wall-clock time
  std::optional<Bytes> memory;
  std::int64_t retries = 1;  ///< after a crash or a timeout; retries run one at a time
  friend bool operator==(const StudyLimits&, const StudyLimits&) = default;
};

/// A study as its file describes it (docs/reference/formats/study.md).
struct Study {
  std::string name;
  std::string file;  ///< path of the study file; other paths are relative to its folder
  Keys base;
  std::vector<Axis> axes;  ///< the matrix in the order of the file, then the zips
  std::vector<Keys> exclude;
  std::vector<Keys> include;
  std::vector<std::uint64_t> seeds{1};
  std::optional<Keys> baseline;
  std::vector<std::string> columns;  ///< further figures for the report's tables: columns of results, or `details.NAME`
  std::vector<TableChoice> tables;   ///< tables of the report, in place of one for each group
  StudyLimits limits;
  Keys fixed;  ///< set on the command line; replaces the values of base, axes and `include`
  friend bool operator==(const Study&, const Study&) = default;
};

/// One combination of a study: a planner, its inputs, and how the plan is simulated.
struct Cell {
  Keys keys;               ///< without the options of other planners
  std::uint64_t seed = 1;  ///< as the study lists it
  friend bool operator==(const Cell&, const Cell&) = default;
};

/// The cells of a study.
struct Expansion {
  std::vector<Cell> cells;
  std::size_t repeated = 0;           ///< combinations that were left out because they equal an earlier one
  std::vector<std::string> warnings;  ///< about patterns that match nothing, most often because of a typing error
};

/// The value of a key; null if there is no such key.
[[nodiscard]] const Detail* find_key(const Keys& keys, std::string_view name);

/// The value of a key if it is a text; empty if there is no such key or its value is no text.
[[nodiscard]] std::string word_of(const Keys& keys, std::string_view name);

/// Sets a key, or replaces its value.
void set_key(Keys& keys, const std::string& name, const Detail& value);

/// Whether `keys` has all keys of `pattern`, with the same values.
[[nodiscard]] bool matches(const Keys& keys, const Keys& pattern);

/// All keys but the label, sorted by name. Equal cells have equal canonical keys.
[[nodiscard]] Keys canonical(const Keys& keys);

/// The prefix of the keys that are options of a planner: `PLANNER.`.
[[nodiscard]] std::string option_prefix(const std::string& planner);

/// The groups of keys of which no planner is the owner: `platform` for `platform.PATH` and so on.
inline constexpr std::array<std::string_view, 5> kKeyGroups = {"training", "vary", "platform", "model", "tag"};

/// Whether a key of a cell is an option of a planner: `PLANNER.KEY`.
[[nodiscard]] bool is_option_key(std::string_view key);

/// All cells of a study: first the combinations of the axes over the base, the first axis varying slowest, without the
/// excluded ones; then the included ones; each of them with every seed. Repetitions are left out.
/// **Throws** InputError for more than 100,000 cells or more than two million values in all cells together (both
/// checked before any cell is made), for a study without cells, for a cell without model, platform or planner or with
/// both `microbatches` and `global_batch`, and for equal cells that have two labels.
[[nodiscard]] Expansion expand(const Study& study);

}  // namespace stagecraft
