#pragma once

#include "sim/model/detail.hpp"
#include "sim/model/figures.hpp"
#include "sim/model/platform.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace stagecraft {

/// A value as a JSON text without a final newline, records in their own order; `indent` -1 puts it on one line.
/// A number that is not finite becomes null.
[[nodiscard]] std::string to_json(const Detail& value, int indent = 2);

/// The value of a JSON text; none for a text that is not JSON or is nested deeper than 100.
[[nodiscard]] std::optional<Detail> from_json(std::string_view text);

/// Figures as in docs/reference/report.md: `iteration_time_s`, `period_s`, `peak_memory_bytes` by device.
[[nodiscard]] Detail::Record figures_record(const Figures& figures, const Platform& platform);

}  // namespace stagecraft
