#pragma once

#include "experiments/measured/measured_site.hpp"
#include "experiments/measured/step_errors.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"
#include "sim/workload/device.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// A measured step, and what is computed of it.
struct PredictedStep {
  MeasuredStep step;
  std::size_t run = 0;               ///< alike of steps that differ in their name and in what was measured alone
  Seconds time;                      ///< evaluated without contention
  Seconds plain;                     ///< by the plain formula
  std::optional<Bytes> peak_memory;  ///< of the fullest device; none where it was not measured
};

/// Predicted over measured peak memory. **Requires** both.
[[nodiscard]] double memory_ratio(const PredictedStep& step);

/// Runs that were measured several times: how far the longest time is above the shortest, as ratios.
struct MeasuredNoise {
  std::size_t runs = 0;
  double median = 0;
  double worst = 0;
};

/// The steps of a site, predicted.
struct Validation {
  MeasuredSite site;
  std::string platform;  ///< its name
  DeviceDescription device;
  Bytes device_memory;  ///< as the platform has it, with what is reserved
  std::vector<PredictedStep> steps;
  double plain_share = 0;     ///< of the peak rate, in the plain formula
  std::size_t too_large = 0;  ///< steps whose peak memory was measured and is predicted not to fit
  std::vector<std::string> remarks;
};

/// Predicts the steps of a site. The plain formula is operations / (devices · peak · share) · (1 + (p − 1) / (v · m)),
/// of a pipeline of p devices with v chunks and m microbatches; operations are three times those that a forward
/// computes, and four times with full recomputation. The share is the same for all steps: the geometric mean of those
/// with which each would be met, so the formula knows the steps that it is compared with.
/// **Requires** steps, and a platform all of whose devices are `device`. **Throws** as `StepTimes`.
[[nodiscard]] Validation validate(const MeasuredSite& site, const Platform& platform, const DeviceDescription& device);

[[nodiscard]] StepErrors time_errors(const Validation& validation);
[[nodiscard]] StepErrors plain_errors(const Validation& validation);
/// Of the peak memory; none if it was measured of no step.
[[nodiscard]] std::optional<StepErrors> memory_errors(const Validation& validation);

/// What a monitor such as nvidia-smi shows beside what is allocated: factor · predicted + offset, by least squares of
/// relative errors. The factor stands for fragmentation, the offset for contexts and communicators.
struct MemoryFit {
  double factor = 1;
  Bytes offset;
  StepErrors errors;  ///< with both
  Bytes reserve;      ///< of a device's memory, so that plans leave what both add; 0 where they add nothing
};
/// **Requires** that peak memory was measured of some steps. None where they do not tell both constants: of fewer than
/// four, and where all predictions are alike.
[[nodiscard]] std::optional<MemoryFit> memory_fit(const Validation& validation);

[[nodiscard]] MeasuredNoise measured_noise(const Validation& validation);

}  // namespace stagecraft
