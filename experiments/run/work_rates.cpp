#include "experiments/run/work_rates.hpp"

#include "sim/model/layer_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/report.hpp"
#include "sim/workload/catalogue.hpp"
#include "sim/workload/computed_profiles.hpp"

#include <memory>
#include <optional>
#include <string>

namespace stagecraft {
namespace {

constexpr double kPassesOfForward = 3.0;  ///< a backward has twice the operations of its forward
constexpr double kTera = 1e12;

/// The kind as the model's times on it are computed, or else of the catalogue.
std::optional<DeviceDescription> device_of_kind(const LayerGraph& graph, const std::string& kind) {
  const auto computed = std::dynamic_pointer_cast<const ComputedProfiles>(graph.own_times);
  return computed && computed->has(kind) ? std::optional(computed->device(kind)) : find_device(kind);
}

/// The peak of a kind in the precision of the model's times on it; none if a catalogue does not know it.
std::optional<FlopsPerSecond> peak_of(const LayerGraph& graph, const std::string& kind) {
  const bool is_own = kind != graph.device_kind && graph.own_times && graph.own_times->has(kind);
  const std::string& name = is_own ? graph.own_times->profile(kind, graph.microbatch_size).precision : graph.precision;
  const std::optional<Precision> precision = precision_of(name);
  const std::optional<DeviceDescription> device = device_of_kind(graph, kind);
  if (!precision || !device) return std::nullopt;
  const FlopsPerSecond rate = rate_in(*device, *precision);
  return rate > FlopsPerSecond(0) ? std::optional(rate) : std::nullopt;
}

/// Of the devices that the measured part counts; none if that of one is not known.
std::optional<FlopsPerSecond> sum_of_peaks(const LayerGraph& graph, const Platform& platform, const Report& report) {
  FlopsPerSecond sum;
  for (const DeviceReport& device : report.devices) {
    if (!device.is_measured()) continue;
    const std::optional<FlopsPerSecond> peak = peak_of(graph, platform.kind(device.device).name);
    if (!peak) return std::nullopt;
    sum += *peak;
  }
  return sum;
}

}  // namespace

WorkRates work_rates(const LayerGraph& graph, const Platform& platform, const Report& report) {
  WorkRates rates;
  const SampleWork& work = graph.work;
  const auto devices = static_cast<double>(report.measured_devices());
  if (report.throughput <= 0.0 || devices <= 0.0) return rates;
  if (work.tokens > 0) rates.tokens_per_second = report.throughput * static_cast<double>(work.tokens);
  if (work.forward <= Flops(0)) return rates;
  const double flops = report.throughput * kPassesOfForward * work.forward.value();
  rates.tflops_per_device = flops / devices / kTera;
  rates.devices = report.measured_devices();
  rates.of_devices = platform.devices.size();
  if (const auto peaks = sum_of_peaks(graph, platform, report)) rates.mfu = flops / peaks->value();
  return rates;
}

}  // namespace stagecraft
