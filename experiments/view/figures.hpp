#pragma once

#include "sim/model/detail.hpp"
#include "sim/model/figures.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/report.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace stagecraft {

struct BoundCause;
struct Plan;
struct Planning;
struct Simulation;

/// The figures of results, in the order of the columns of results.csv.
enum class FigureId : std::size_t {
  IterationTime,
  Load,
  Period,
  LeastPeriod,
  Bound,
  OverBound,
  BoundBy,
  Converged,
  Drift,
  RunLength,
  SamplesPerUpdate,
  Staleness,
  GradientBucket,
  Throughput,
  TokensPerSecond,
  TflopsPerDevice,
  Mfu,
  CostPerIteration,
  CostPerBillionTokens,
  CostPerMillionSamples,
  BubbleRatio,
  SpanBubbleRatio,
  IdealBubbleRatio,
  RecomputeTime,
  ExposedCommunication,
  PeakMemory,
  PeakMemoryDevice,
  IdleMemory,
  IdleMemoryRatio,
  LargestIdleMemoryRatio,
  PredictionError,
  PredictedIterationTime,
  PredictedPeriod,
  PredictedPeakMemory,
  EvaluatedIterationTime,
  EvaluatedPeriod,
  EvaluatedPeakMemory,
  Overflow,
  OverflowDevice,
  Stages,
  DevicesUsed,
  DevicesUnused,
  Configuration,
  RecomputedLayers,
  SwappedLayers,
  Bottleneck,
  ResolvedSchedule,
  ResolvedMicrobatches,
  ResolvedMicrobatchSize,
  SimulatedOps,
  Replans,
  MigratedBytes,
  Stall,
  RunThroughput,
  SmallestMemory,
  LargestMicrobatchSize,
  DevicePeakMemory,
  StageIdleMemoryRatio,
  RestsOn,
  Details,
};

/// The kind of a figure decides how it is stored and how it is shown.
enum class FigureKind {
  Time,   ///< seconds
  Rate,   ///< samples per second
  Ratio,  ///< shown as a percentage
  Number,
  Size,  ///< bytes
  Count,
  Flag,  ///< true or false; 1 or 0 where results are stored
  Word,
  Record,
};

/// A plan and its simulation.
struct SimulatedPlan {
  const Simulation& simulation;
  const Plan& plan;
  const Platform& platform;
};

/// A figure. Its name, kind and formula are defined here and nowhere else.
struct FigureInfo {
  using OfRun = Detail (*)(const SimulatedPlan&);
  using OfAnswer = Detail (*)(const Planning&);

  FigureId id;
  std::string_view name;  ///< the column, and the key in JSON (docs/reference/study-results.md)
  FigureKind kind;
  std::variant<OfRun, OfAnswer> value;  ///< its formula; the result is null where the figure does not apply
};

/// By `FigureId`.
[[nodiscard]] const std::vector<FigureInfo>& all_figures();
[[nodiscard]] const FigureInfo& figure_info(FigureId id);
[[nodiscard]] inline std::string_view name_of(FigureId id) { return figure_info(id).name; }
/// Null if there is none of that name.
[[nodiscard]] const FigureInfo* find_figure(std::string_view name);

/// A figure of a run under its name, null where it does not apply. **Requires** a figure of runs.
[[nodiscard]] Detail::Record::value_type figure_entry(FigureId id, const SimulatedPlan& run);

/// All figures that apply to a planner's answer and, if the answer is a plan, to its run. Figures that are null are
/// left out.
[[nodiscard]] Detail::Record figure_record(const Planning& planning, const std::optional<SimulatedPlan>& run);

/// What decides a bound, in words: `the work of gpu3`, `the bytes over node0.nic.up`.
[[nodiscard]] std::string bound_cause_text(const BoundCause& cause, const Platform& platform);

/// `stage 2`, or the link's name.
[[nodiscard]] std::string bottleneck_name(const Bottleneck& bottleneck, const Platform& platform);

}  // namespace stagecraft
