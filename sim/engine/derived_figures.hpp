#pragma once

#include "sim/model/measurement.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/report.hpp"

#include <cstdint>
#include <optional>

namespace stagecraft {

/// By how much the period of the second window exceeds that of the first, as a part of it; none without two windows.
[[nodiscard]] std::optional<double> drift_of(const MeasuredTime& measured, const Measurement& measurement);

/// Fills in what follows from the times and bytes of a report: period and drift, throughput, bubble ratios, the use of
/// the links and the bottleneck. `samples`: those of the measured part.
void derive_figures(Report& report, const Platform& platform, const Measurement& measurement, std::int64_t samples);

}  // namespace stagecraft
