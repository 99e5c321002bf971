#pragma once

#include "experiments/study/study.hpp"
#include "experiments/study_report/cell_counts.hpp"
#include "sim/model/detail.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace stagecraft {

// Texts in a study's report.

/// The value as the study writes it; `-` for null.
[[nodiscard]] std::string value_text(const Detail& value);

/// `key value, key value`, with `-` for null.
[[nodiscard]] std::string keys_text(const Keys& keys);

/// `out of memory`.
[[nodiscard]] std::string status_text(CellStatus status);

/// `22 ok, 2 infeasible`.
[[nodiscard]] std::string counts_text(const CellCounts& counts);

[[nodiscard]] std::string ratio_text(double ratio);

[[nodiscard]] std::string bytes_text(std::int64_t bytes);

/// `details.dp_period_s` as `dp period`.
[[nodiscard]] std::string column_heading(std::string name);

/// The value of a figure with its unit.
[[nodiscard]] std::string figure_text(const std::string& column, const Detail& value);

/// The last part of a key, or the whole key if another one of `keys` ends with the same part.
[[nodiscard]] std::string short_key(const std::string& key, const std::vector<std::string>& keys);

}  // namespace stagecraft
