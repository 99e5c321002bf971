#pragma once

#include <cstddef>
#include <optional>

namespace stagecraft {

struct LayerGraph;
struct Platform;
struct Report;

/// What a run makes of its model's work (docs/reference/report.md#tokens-operations-and-mfu), as far as it is known.
struct WorkRates {
  std::optional<double> tokens_per_second;
  std::optional<double> tflops_per_device;  ///< 1e12 operations of the model per second, on average over devices
  std::optional<double> mfu;                ///< model FLOPs utilisation; 1: all devices at their peaks
  std::size_t devices = 0;                  ///< that these two figures count; 0 where neither is known
  std::size_t of_devices = 0;               ///< of the platform
  friend bool operator==(const WorkRates&, const WorkRates&) = default;
};

/// Of the measured part of a run: its throughput, and the devices that it counts. A device's peak is that of the
/// catalogue in the precision in which the model has its times.
/// **Source** A. Chowdhery et al., "PaLM: Scaling Language Modeling with Pathways", 2022, arXiv:2204.02311, appendix B.
[[nodiscard]] WorkRates work_rates(const LayerGraph& graph, const Platform& platform, const Report& report);

}  // namespace stagecraft
