#include "experiments/run/run_cost.hpp"

#include "experiments/run/work_rates.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/report.hpp"

namespace stagecraft {
namespace {

constexpr double kSecondsOfHour = 3600.0;
constexpr double kBillion = 1e9;
constexpr double kMillion = 1e6;

/// Of all devices that the measured part counts, together; none if the price of one is not known.
std::optional<double> price_of_second(const Platform& platform, const Report& report) {
  double of_hour = 0.0;
  for (const DeviceReport& device : report.devices) {
    if (!device.is_measured()) continue;
    const std::optional<double>& price = platform.kind(device.device).price;
    if (!price) return std::nullopt;
    of_hour += *price;
  }
  return of_hour / kSecondsOfHour;
}

}  // namespace

RunCost run_cost(const Platform& platform, const Report& report, const WorkRates& rates) {
  RunCost cost;
  const std::optional<double> of_second = price_of_second(platform, report);
  if (!of_second || report.throughput <= 0.0 || report.measured_devices() == 0) return cost;
  if (const auto time = report.figures().iteration_time) cost.of_iteration = *of_second * time->value();
  if (rates.tokens_per_second) cost.of_billion_tokens = *of_second / *rates.tokens_per_second * kBillion;
  cost.of_million_samples = *of_second / report.throughput * kMillion;
  cost.devices = report.measured_devices();
  cost.of_devices = platform.devices.size();
  return cost;
}

}  // namespace stagecraft
