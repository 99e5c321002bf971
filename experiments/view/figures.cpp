#include "experiments/view/figures.hpp"

#include "experiments/run/planning.hpp"
#include "experiments/run/simulation.hpp"
#include "experiments/run/stall.hpp"
#include "experiments/view/basis_words.hpp"
#include "experiments/view/configuration.hpp"
#include "experiments/view/plan_view.hpp"
#include "experiments/view/update_words.hpp"
#include "sim/base/error.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/replicas.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace stagecraft {
namespace {

Detail or_null(const std::optional<Seconds>& value) { return value ? Detail(value->value()) : Detail(); }
Detail or_null(const std::optional<Bytes>& value) { return value ? Detail(value->value()) : Detail(); }
Detail or_null(const std::optional<double>& value) { return value ? Detail(*value) : Detail(); }
Detail or_null(const std::optional<std::int64_t>& value) { return value ? Detail(*value) : Detail(); }

Detail largest_peak(const Figures& figures) {
  const auto largest =
      std::ranges::max_element(figures.peak_memory, {}, [](const auto& entry) { return entry.second; });
  return largest == figures.peak_memory.end() ? Detail() : Detail(largest->second.value());
}

Detail fullest_device(const SimulatedPlan& run) {
  const auto& devices = run.simulation.report.devices;
  const auto fullest =
      std::ranges::max_element(devices, {}, [](const DeviceReport& device) { return device.memory.peak; });
  return fullest == devices.end() ? Detail() : Detail(run.platform.devices[fullest->device].name);
}

Detail device_peaks(const SimulatedPlan& run) {
  Detail::Record peaks;
  for (const DeviceReport& device : run.simulation.report.devices) {
    peaks.emplace_back(run.platform.devices[device.device].name, device.memory.peak.value());
  }
  return peaks;
}

/// What the run never used of the memory of its devices.
Bytes idle_memory(const Report& report) {
  Bytes idle;
  for (const DeviceReport& device : report.devices) idle += device.memory.idle();
  return idle;
}

double idle_memory_ratio(const Report& report) {
  Bytes capacity;
  for (const DeviceReport& device : report.devices) capacity += device.memory.capacity;
  if (capacity == Bytes(0)) return 0.0;
  return static_cast<double>(idle_memory(report).value()) / static_cast<double>(capacity.value());
}

double largest_idle_memory_ratio(const Report& report) {
  double largest = 0.0;
  for (const DeviceReport& device : report.devices) largest = std::max(largest, device.memory.idle_share());
  return largest;
}

/// By stage of the plan: the share on the fullest of its devices.
Detail stage_idle_memory_ratios(const SimulatedPlan& run) {
  Detail::Record ratios;
  for (StageId stage : indices<StageId>(run.plan.stages.size())) {
    double least = 1.0;
    for (const DeviceReport& device : run.simulation.report.devices) {
      if (std::ranges::count(device.stages, stage) > 0) least = std::min(least, device.memory.idle_share());
    }
    ratios.emplace_back(std::to_string(stage.value()), least);
  }
  return ratios;
}

/// The place that lacks the most memory; null if everything fits.
const MemoryOverflow* worst_overflow(const Report& report) {
  const auto worst = std::ranges::max_element(report.overflows, {}, &MemoryOverflow::excess);
  return worst == report.overflows.end() ? nullptr : &*worst;
}

Detail overflow(const SimulatedPlan& run) {
  const MemoryOverflow* worst = worst_overflow(run.simulation.report);
  return worst == nullptr ? Detail() : Detail(worst->excess.value());
}

Detail overflow_device(const SimulatedPlan& run) {
  const MemoryOverflow* worst = worst_overflow(run.simulation.report);
  return worst == nullptr ? Detail() : Detail(run.platform.place_name(worst->place));
}

Detail bottleneck(const SimulatedPlan& run) {
  const auto& found = run.simulation.report.bottleneck;
  return found ? Detail(bottleneck_name(*found, run.platform)) : Detail();
}

Bytes migrated_bytes(const Report& report) {
  Bytes bytes;
  for (const Migration& migration : report.course.migrations) bytes += migration.bytes;
  return bytes;
}

/// Of all microbatches, from the start of the run to the end of its last operation.
Detail run_throughput(const SimulatedPlan& run) {
  const Report& report = run.simulation.report;
  const Seconds end = report.end;
  const std::int64_t of_microbatch = run.plan.microbatch_size * run.plan.degrees.samples();
  const std::int64_t samples =
      report.course.windows.empty() ? run.simulation.microbatches() * of_microbatch : samples_of(report.course.windows);
  return end > Seconds(0) ? Detail(static_cast<double>(samples) / end.value()) : Detail();
}

Detail smallest_memory(const Planning& planning) {
  const auto* answer = std::get_if<Infeasible>(&planning.result);
  return answer == nullptr ? Detail() : or_null(answer->smallest_memory);
}

Detail details(const Planning& planning) {
  const Planned* planned = planning.planned();
  return planned == nullptr ? Detail() : Detail(planned->details);
}

using Id = FigureId;
using Kind = FigureKind;
using OfRun = const SimulatedPlan&;

/// The figures of times and updates, which come first.
std::vector<FigureInfo> figures_of_time() {
  return {
      {Id::IterationTime, "iteration_time_s", Kind::Time,
       [](OfRun run) -> Detail { return or_null(run.simulation.report.figures().iteration_time); }},
      {Id::Load, "load_s", Kind::Time, [](OfRun run) -> Detail { return or_null(run.simulation.load.busiest); }},
      {Id::Period, "period_s", Kind::Time, [](OfRun run) -> Detail { return or_null(run.simulation.report.period); }},
      {Id::LeastPeriod, "least_period_s", Kind::Time,
       [](OfRun run) -> Detail { return or_null(run.simulation.load.least_period); }},
      {Id::Bound, "bound_s", Kind::Time,
       [](OfRun run) -> Detail {
         const auto& bound = run.simulation.bound;
         return bound ? Detail(bound->time.value()) : Detail();
       }},
      {Id::OverBound, "over_bound", Kind::Number,
       [](OfRun run) -> Detail { return or_null(run.simulation.over_bound()); }},
      {Id::BoundBy, "bound_by", Kind::Word,
       [](OfRun run) -> Detail {
         const auto& bound = run.simulation.bound;
         return bound ? Detail(bound_cause_text(bound->cause, run.platform)) : Detail();
       }},
      {Id::Converged, "converged", Kind::Flag,
       [](OfRun run) -> Detail {
         const Report& report = run.simulation.report;
         return report.period ? Detail(std::int64_t{report.converged() ? 1 : 0}) : Detail();
       }},
      {Id::Drift, "drift", Kind::Ratio, [](OfRun run) -> Detail { return or_null(run.simulation.report.drift); }},
      {Id::RunLength, "resolved_run_length", Kind::Count,
       [](OfRun run) -> Detail {
         return run.simulation.report.period ? Detail(run.simulation.length.microbatches) : Detail();
       }},
      {Id::SamplesPerUpdate, "resolved_samples_per_update", Kind::Count,
       [](OfRun run) -> Detail { return largest(run.simulation.updates).samples; }},
      {Id::Staleness, "staleness", Kind::Count,
       [](OfRun run) -> Detail { return largest(run.simulation.updates).staleness; }},
      {Id::GradientBucket, "resolved_gradient_bucket_bytes", Kind::Size,
       [](OfRun run) -> Detail { return or_null(exchanged_buckets(run.plan)); }},
  };
}

/// The figures of speed, memory and predictions, which follow.
std::vector<FigureInfo> figures_of_quality() {
  return {
      {Id::Throughput, "throughput_samples_per_s", Kind::Rate,
       [](OfRun run) -> Detail { return run.simulation.report.throughput; }},
      {Id::TokensPerSecond, "tokens_per_second", Kind::Number,
       [](OfRun run) -> Detail { return or_null(run.simulation.rates.tokens_per_second); }},
      {Id::TflopsPerDevice, "tflops_per_device", Kind::Number,
       [](OfRun run) -> Detail { return or_null(run.simulation.rates.tflops_per_device); }},
      {Id::Mfu, "mfu", Kind::Ratio, [](OfRun run) -> Detail { return or_null(run.simulation.rates.mfu); }},
      {Id::CostPerIteration, "cost_per_iteration", Kind::Number,
       [](OfRun run) -> Detail { return or_null(run.simulation.cost.of_iteration); }},
      {Id::CostPerBillionTokens, "cost_per_billion_tokens", Kind::Number,
       [](OfRun run) -> Detail { return or_null(run.simulation.cost.of_billion_tokens); }},
      {Id::CostPerMillionSamples, "cost_per_million_samples", Kind::Number,
       [](OfRun run) -> Detail { return or_null(run.simulation.cost.of_million_samples); }},
      {Id::BubbleRatio, "bubble_ratio", Kind::Ratio,
       [](OfRun run) -> Detail { return run.simulation.report.bubble_ratio; }},
      {Id::SpanBubbleRatio, "span_bubble_ratio", Kind::Ratio,
       [](OfRun run) -> Detail { return run.simulation.report.span_bubble_ratio; }},
      {Id::IdealBubbleRatio, "ideal_bubble_ratio", Kind::Ratio,
       [](OfRun run) -> Detail { return run.simulation.report.ideal_bubble_ratio; }},
      {Id::RecomputeTime, "recompute_time_s", Kind::Time,
       [](OfRun run) -> Detail { return run.simulation.report.recompute_time.value(); }},
      {Id::ExposedCommunication, "exposed_communication_s", Kind::Time,
       [](OfRun run) -> Detail { return run.simulation.report.exposed_communication.value(); }},
      {Id::PeakMemory, "peak_memory_bytes", Kind::Size,
       [](OfRun run) -> Detail { return largest_peak(run.simulation.report.figures()); }},
      {Id::PeakMemoryDevice, "peak_memory_device", Kind::Word, fullest_device},
      {Id::IdleMemory, "idle_memory_bytes", Kind::Size,
       [](OfRun run) -> Detail { return idle_memory(run.simulation.report).value(); }},
      {Id::IdleMemoryRatio, "idle_memory_ratio", Kind::Ratio,
       [](OfRun run) -> Detail { return idle_memory_ratio(run.simulation.report); }},
      {Id::LargestIdleMemoryRatio, "idle_memory_largest_ratio", Kind::Ratio,
       [](OfRun run) -> Detail { return largest_idle_memory_ratio(run.simulation.report); }},
      {Id::PredictionError, "prediction_error", Kind::Number,
       [](OfRun run) -> Detail { return or_null(run.simulation.prediction_error(run.plan.predicted)); }},
      {Id::PredictedIterationTime, "predicted_iteration_time_s", Kind::Time,
       [](OfRun run) -> Detail { return or_null(run.plan.predicted.iteration_time); }},
      {Id::PredictedPeriod, "predicted_period_s", Kind::Time,
       [](OfRun run) -> Detail { return or_null(run.plan.predicted.period); }},
      {Id::PredictedPeakMemory, "predicted_peak_memory_bytes", Kind::Size,
       [](OfRun run) -> Detail { return largest_peak(run.plan.predicted); }},
      {Id::EvaluatedIterationTime, "evaluated_iteration_time_s", Kind::Time,
       [](OfRun run) -> Detail { return or_null(run.simulation.evaluated.iteration_time); }},
      {Id::EvaluatedPeriod, "evaluated_period_s", Kind::Time,
       [](OfRun run) -> Detail { return or_null(run.simulation.evaluated.period); }},
      {Id::EvaluatedPeakMemory, "evaluated_peak_memory_bytes", Kind::Size,
       [](OfRun run) -> Detail { return largest_peak(run.simulation.evaluated); }},
      {Id::Overflow, "overflow_bytes", Kind::Size, overflow},
      {Id::OverflowDevice, "overflow_device", Kind::Word, overflow_device},
  };
}

/// The figures that tell what was planned and run, which come last.
std::vector<FigureInfo> figures_of_plan() {
  return {
      {Id::Stages, "stages", Kind::Count, [](OfRun run) -> Detail { return std::ssize(run.plan.stages); }},
      {Id::DevicesUsed, "devices_used", Kind::Count,
       [](OfRun run) -> Detail { return static_cast<std::int64_t>(used_devices(Replicas(run.plan))); }},
      {Id::DevicesUnused, "devices_unused", Kind::Count,
       [](OfRun run) -> Detail {
         return std::ssize(run.platform.devices) - static_cast<std::int64_t>(used_devices(Replicas(run.plan)));
       }},
      {Id::Configuration, "configuration", Kind::Word,
       [](OfRun run) -> Detail { return configuration_text(run.plan); }},
      {Id::RecomputedLayers, "recomputed_layers", Kind::Count,
       [](OfRun run) -> Detail { return layers_with<Recompute>(run.plan); }},
      {Id::SwappedLayers, "swapped_layers", Kind::Count,
       [](OfRun run) -> Detail { return layers_with<Swap>(run.plan); }},
      {Id::Bottleneck, "bottleneck", Kind::Word, bottleneck},
      {Id::ResolvedSchedule, "resolved_schedule", Kind::Word,
       [](OfRun run) -> Detail { return schedule_text(run.plan.schedule); }},
      {Id::ResolvedMicrobatches, "resolved_microbatches", Kind::Count,
       [](OfRun run) -> Detail { return run.plan.microbatches; }},
      {Id::ResolvedMicrobatchSize, "resolved_microbatch_size", Kind::Count,
       [](OfRun run) -> Detail { return run.plan.microbatch_size; }},
      {Id::SimulatedOps, "simulated_ops", Kind::Count,
       [](OfRun run) -> Detail { return static_cast<std::int64_t>(run.simulation.report.operations); }},
      {Id::Replans, "replans", Kind::Count,
       [](OfRun run) -> Detail { return std::ssize(run.simulation.report.course.replans); }},
      {Id::MigratedBytes, "migrated_bytes", Kind::Size,
       [](OfRun run) -> Detail { return migrated_bytes(run.simulation.report).value(); }},
      {Id::Stall, "stall_s", Kind::Time,
       [](OfRun run) -> Detail { return or_null(stall_of_all(run.simulation.report)); }},
      {Id::RunThroughput, "run_throughput_samples_per_s", Kind::Rate, run_throughput},
      {Id::SmallestMemory, "smallest_memory_bytes", Kind::Size, smallest_memory},
      {Id::LargestMicrobatchSize, "largest_microbatch_size", Kind::Count,
       [](const Planning& planning) -> Detail { return or_null(planning.largest_microbatch_size); }},
      {Id::DevicePeakMemory, "device_peak_memory_bytes", Kind::Record, device_peaks},
      {Id::StageIdleMemoryRatio, "idle_memory_by_stage", Kind::Record, stage_idle_memory_ratios},
      {Id::RestsOn, "rests_on", Kind::Record, [](OfRun run) -> Detail { return basis_record(run.simulation.basis); }},
      {Id::Details, "details", Kind::Record, details},
  };
}

/// All figures, in the order of `FigureId`. To add one, add it above, to `FigureId` and to
/// docs/reference/study-results.md.
std::vector<FigureInfo> make_figures() {
  std::vector<FigureInfo> figures = figures_of_time();
  for (const auto& further : {figures_of_quality(), figures_of_plan()}) {
    figures.insert(figures.end(), further.begin(), further.end());
  }
  return figures;
}

}  // namespace

const std::vector<FigureInfo>& all_figures() {
  static const std::vector<FigureInfo> figures = make_figures();
  return figures;
}

const FigureInfo& figure_info(FigureId id) {
  const FigureInfo& figure = all_figures().at(static_cast<std::size_t>(id));
  STAGECRAFT_CHECK(figure.id == id, "figures stand in the order of their ids");
  return figure;
}

const FigureInfo* find_figure(std::string_view name) {
  const auto found = std::ranges::find(all_figures(), name, &FigureInfo::name);
  return found == all_figures().end() ? nullptr : &*found;
}

Detail::Record::value_type figure_entry(FigureId id, const SimulatedPlan& run) {
  const FigureInfo& figure = figure_info(id);
  return {std::string(figure.name), std::get<FigureInfo::OfRun>(figure.value)(run)};
}

Detail::Record figure_record(const Planning& planning, const std::optional<SimulatedPlan>& run) {
  Detail::Record record;
  for (const FigureInfo& figure : all_figures()) {
    Detail value;
    if (const auto* of_answer = std::get_if<FigureInfo::OfAnswer>(&figure.value)) {
      value = (*of_answer)(planning);
    } else if (run) {
      value = std::get<FigureInfo::OfRun>(figure.value)(*run);
    }
    if (value != Detail()) record.emplace_back(figure.name, std::move(value));
  }
  return record;
}

std::string bound_cause_text(const BoundCause& cause, const Platform& platform) {
  const auto stage = [](StageId id) { return std::to_string(id.value()); };
  switch (cause.kind) {
    case BoundCause::Kind::Device: return "the work of " + platform.devices[cause.device].name;
    case BoundCause::Kind::Link: return "the bytes over " + platform.links[cause.link].name;
    case BoundCause::Kind::Connection:
      return "the tensors from " + platform.devices[cause.device].name + " to " + platform.devices[cause.to].name;
    case BoundCause::Kind::InFlight: return "the microbatches in flight at stage " + stage(cause.stage);
    case BoundCause::Kind::Chain: return "operations that wait for each other";
    case BoundCause::Kind::Channel: break;
  }
  if (cause.stage == cause.other) return "the swaps of stage " + stage(cause.stage);
  return "the channel between stages " + stage(cause.stage) + " and " + stage(cause.other);
}

std::string bottleneck_name(const Bottleneck& bottleneck, const Platform& platform) {
  using Kind = Bottleneck::Kind;
  switch (bottleneck.kind) {
    case Kind::Stage: return "stage " + std::to_string(bottleneck.stage.value());
    case Kind::Link: return platform.links[bottleneck.link].name;
    case Kind::Ramps: return "ramps";
    case Kind::Waits: return "waits";
    case Kind::Transfers: return "transfers";
    case Kind::AllReduce: return "all-reduce";
    case Kind::Exchange: return "exchange";
    case Kind::AllReduceWait: break;
  }
  return "all-reduce wait";
}

}  // namespace stagecraft
