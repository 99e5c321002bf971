#pragma once

#include <cstddef>
#include <optional>

namespace stagecraft {

struct Platform;
struct Report;
struct WorkRates;

/// What a run costs at the prices of its devices (docs/reference/report.md#cost), as far as it is known. All costs are
/// in the currency of the prices.
struct RunCost {
  std::optional<double> of_iteration;        ///< none without a flush
  std::optional<double> of_billion_tokens;   ///< 1e9
  std::optional<double> of_million_samples;  ///< 1e6
  std::size_t devices = 0;                   ///< whose prices count; 0 where no cost is known
  std::size_t of_devices = 0;                ///< of the platform
  friend bool operator==(const RunCost&, const RunCost&) = default;
};

/// Of the measured part of a run: its time, its throughput, and the devices that it counts, each of which needs a
/// price. `rates` are those of this run.
/// **Cost** O(devices of the report).
[[nodiscard]] RunCost run_cost(const Platform& platform, const Report& report, const WorkRates& rates);

}  // namespace stagecraft
