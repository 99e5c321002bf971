#pragma once

#include "experiments/study/study.hpp"
#include "experiments/study_report/cell_counts.hpp"
#include "sim/model/detail.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace stagecraft {

// Words of a study's report, for people.

/// `-` for null, else as the study writes it.
[[nodiscard]] std::string value_text(const Detail& value);

/// `key value, key value`; what is null is `-`.
[[nodiscard]] std::string keys_text(const Keys& keys);

/// `out of memory`.
[[nodiscard]] std::string status_text(CellStatus status);

/// `1 group`, `2 groups`.
[[nodiscard]] std::string plural(std::size_t count, const std::string& noun);

/// `22 ok, 2 infeasible`.
[[nodiscard]] std::string counts_text(const CellCounts& counts);

[[nodiscard]] std::string ratio_text(double ratio);

[[nodiscard]] std::string bytes_text(std::int64_t bytes);

/// `details.dp_period_s` as `dp period`.
[[nodiscard]] std::string column_heading(std::string name);

/// A figure by the unit that its name ends with.
[[nodiscard]] std::string figure_text(const std::string& column, const Detail& value);

/// The last word of a key, unless another key ends with it too.
[[nodiscard]] std::string short_key(const std::string& key, const std::vector<std::string>& keys);

}  // namespace stagecraft
