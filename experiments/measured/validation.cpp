#include "experiments/measured/validation.hpp"

#include "experiments/measured/step_times.hpp"
#include "sim/base/activity.hpp"
#include "sim/base/counted.hpp"

#include <algorithm>
#include <cmath>

namespace stagecraft {
namespace {

constexpr double kSingular = 1e-9;  ///< relative determinant of equations that do not tell both unknowns
constexpr double kPasses = 3.0;     ///< a backward has twice the operations of its forward

/// The plain formula with the whole peak.
double plain_time(const MeasuredStep& step, const LayerGraph& graph, const Plan& plan, double peak) {
  const double passes = kPasses + (step.training.recompute == RecomputedPart::Blocks ? 1.0 : 0.0);
  const double forward = (graph.work.forward - graph.work.masked).value();
  const double flops = passes * forward * static_cast<double>(step.global_batch);
  const auto devices = static_cast<double>(step.pipeline * step.data * step.degrees.devices());
  const double microbatches = static_cast<double>(plan.microbatches) / static_cast<double>(step.data);
  const double chunks = static_cast<double>(plan.stages.size()) / static_cast<double>(step.pipeline);
  return flops / (devices * peak) * (1.0 + static_cast<double>(step.pipeline - 1) / (chunks * microbatches));
}

/// Scales the plain times so that the mean of their logarithms is that of the measured ones. Returns the share.
double fit_plain(std::vector<PredictedStep>& steps) {
  double sum = 0;
  for (const PredictedStep& each : steps) sum += std::log(each.plain / each.step.time);
  const double share = std::exp(sum / static_cast<double>(steps.size()));
  for (PredictedStep& each : steps) each.plain = each.plain / share;
  return share;
}

Bytes highest_peak(const Report& report) {
  Bytes highest(0);
  for (const DeviceReport& device : report.devices) highest = std::max(highest, device.memory.peak);
  return highest;
}

bool is_too_large(const Report& report) {
  return std::ranges::any_of(report.devices,
                             [](const DeviceReport& device) { return device.memory.peak > device.memory.capacity; });
}

/// By step whose peak memory was measured, in bytes.
struct MemoryPeaks {
  std::vector<double> predicted;
  std::vector<double> measured;
};

MemoryPeaks memory_peaks(const Validation& validation) {
  MemoryPeaks peaks;
  for (const PredictedStep& each : validation.steps) {
    if (!each.peak_memory) continue;
    peaks.predicted.push_back(static_cast<double>(each.peak_memory->value()));
    peaks.measured.push_back(static_cast<double>(each.step.peak_memory->value()));
  }
  return peaks;
}

/// What was run, without its name and what was measured.
MeasuredStep run_alone(MeasuredStep step) {
  step.name.clear();
  step.place = {};
  step.time = Seconds(0);
  step.peak_memory.reset();
  return step;
}

/// The number of each step's run.
std::vector<std::size_t> runs_of(const std::vector<MeasuredStep>& steps) {
  std::vector<MeasuredStep> known;
  std::vector<std::size_t> runs;
  for (const MeasuredStep& step : steps) {
    const MeasuredStep run = run_alone(step);
    const auto found = std::ranges::find(known, run);
    runs.push_back(static_cast<std::size_t>(found - known.begin()));
    if (found == known.end()) known.push_back(run);
  }
  return runs;
}

template <class Value>
StepErrors errors_of(const std::vector<PredictedStep>& steps, const Value& predicted) {
  std::vector<double> values;
  std::vector<double> measured;
  for (const PredictedStep& each : steps) {
    values.push_back(predicted(each).value());
    measured.push_back(each.step.time.value());
  }
  return step_errors(values, measured);
}

}  // namespace

Validation validate(const MeasuredSite& site, const Platform& platform, const DeviceDescription& device) {
  const Activity activity("predicting " + counted(site.steps.size(), "step") + " of " + site.table);
  Validation validation{site, platform.spec.name, device, platform.kind(DeviceId(0)).memory, {}, 0, 0, {}};
  const StepTimes times(site.steps, platform, device);
  validation.remarks = times.remarks();
  const std::vector<std::size_t> runs = runs_of(site.steps);
  const double peak = rate_in(device, device.precision).value();
  for (std::size_t s = 0; s < site.steps.size(); ++s) {
    const MeasuredStep& step = site.steps[s];
    PredictedStep& made = validation.steps.emplace_back();
    made.step = step;
    made.run = runs[s];
    made.plain = Seconds(plain_time(step, times.graph(s), times.plan(s), peak));
    if (step.peak_memory) {
      const Report report = times.report(s);
      made.time = report.iterations.back();
      made.peak_memory = highest_peak(report);
      if (is_too_large(report)) ++validation.too_large;
    } else {
      made.time = times.time(s);
    }
  }
  validation.plain_share = fit_plain(validation.steps);
  return validation;
}

StepErrors time_errors(const Validation& validation) {
  return errors_of(validation.steps, [](const PredictedStep& each) { return each.time; });
}

StepErrors plain_errors(const Validation& validation) {
  return errors_of(validation.steps, [](const PredictedStep& each) { return each.plain; });
}

double memory_ratio(const PredictedStep& step) {
  return static_cast<double>(step.peak_memory->value()) / static_cast<double>(step.step.peak_memory->value());
}

std::optional<StepErrors> memory_errors(const Validation& validation) {
  const MemoryPeaks peaks = memory_peaks(validation);
  if (peaks.predicted.empty()) return std::nullopt;
  return step_errors(peaks.predicted, peaks.measured);
}

std::optional<MemoryFit> memory_fit(const Validation& validation) {
  MemoryPeaks peaks = memory_peaks(validation);
  const std::size_t count = peaks.predicted.size();
  if (count < 4) return std::nullopt;
  double uu = 0;  // of the equations factor · u + offset · v = 1 with u = predicted / measured, v = 1 / measured
  double uv = 0;
  double vv = 0;
  double u1 = 0;
  double v1 = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double u = peaks.predicted[i] / peaks.measured[i];
    const double v = 1.0 / peaks.measured[i];
    uu += u * u;
    uv += u * v;
    vv += v * v;
    u1 += u;
    v1 += v;
  }
  const double determinant = uu * vv - uv * uv;
  if (determinant <= kSingular * uu * vv) return std::nullopt;
  const double factor = (u1 * vv - v1 * uv) / determinant;
  const double offset = (v1 * uu - u1 * uv) / determinant;
  for (double& peak : peaks.predicted) peak = factor * peak + offset;
  const auto memory = static_cast<double>(validation.device_memory.value());
  const double reserve = factor > 0 ? std::clamp(memory - (memory - offset) / factor, 0.0, memory) : 0.0;
  return MemoryFit{factor, Bytes(std::llround(offset)), step_errors(peaks.predicted, peaks.measured),
                   Bytes(std::llround(reserve))};
}

MeasuredNoise measured_noise(const Validation& validation) {
  std::vector<std::vector<double>> runs(validation.steps.size());
  for (const PredictedStep& each : validation.steps) runs[each.run].push_back(each.step.time.value());
  std::vector<double> longest;
  std::vector<double> shortest;
  for (const std::vector<double>& times : runs) {
    if (times.size() < 2) continue;
    longest.push_back(std::ranges::max(times));
    shortest.push_back(std::ranges::min(times));
  }
  if (longest.empty()) return {};
  const StepErrors spread = step_errors(longest, shortest);
  return {longest.size(), spread.median, spread.worst};
}

}  // namespace stagecraft
