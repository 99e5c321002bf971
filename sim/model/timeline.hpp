#pragma once

#include "sim/model/events.hpp"
#include "sim/model/op_graph.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace stagecraft {

/// The largest difference between two dates that are meant to be one: sums of the same durations in another order, and
/// SimGrid's dates, which it reaches by adding up differences and treats as one within 1e-12 s.
[[nodiscard]] constexpr Seconds date_noise(Seconds date) { return Seconds(2e-12 * std::max(1.0, date.value())); }

/// When an operation ran, and what it waited for last.
struct Span {
  OpId id;
  Seconds start;
  Seconds end;
  Seconds cause_start;           ///< of the dependency that ended last (of several, the youngest): its start
  Seconds cause_end;             ///< and its end; 0 without any
  OpKind cause = OpKind::Setup;  ///< its kind; Setup without any
  bool aborted = false;          ///< a failure ended it at `end`; it runs again later
  friend bool operator==(const Span&, const Span&) = default;
};

/// Receives the spans of a run from an engine. For each place, the spans with memory deltas there arrive in the order
/// of their starts; so do the computations of each device.
using SpanSink = std::function<void(const Span&, const Op&, std::span<const MemoryDelta>)>;

/// Receives what an engine reports of a run: its spans and, unless it is empty, the events that happen. An event
/// arrives before the spans that start after it.
struct RunSink {
  SpanSink span;
  std::function<void(const Strike&, const Event&)> strike;

  RunSink(SpanSink spans, std::function<void(const Strike&, const Event&)> strikes)
      : span(std::move(spans)), strike(std::move(strikes)) {}
  /// Takes spans only.
  template <class Spans>
    requires std::is_constructible_v<SpanSink, Spans>
  RunSink(Spans&& spans) : span(std::forward<Spans>(spans)) {}  // NOLINT: a sink of spans is a sink of a run
};

/// A span with its operation, for traces and pictures. Runs have millions: the order of the fields leaves no gaps.
struct TimelineEntry {
  OpId id;
  OpKind kind = OpKind::Delay;
  bool aborted = false;
  std::uint16_t chunk = 0;  ///< as `Op::chunk`
  std::uint32_t microbatch = 0;
  StageId stage;
  PlaceId from;
  PlaceId to;
  Leg leg = Leg::Whole;  ///< of a transfer: the part of the way from `from` to `to`
  Seconds start;
  Seconds end;
  Bytes bytes;
  friend bool operator==(const TimelineEntry&, const TimelineEntry&) = default;
};

/// A whole run in the order in which the spans arrived. Exists only when a trace, a picture or a test asks for it.
using Timeline = std::vector<TimelineEntry>;

[[nodiscard]] TimelineEntry timeline_entry(const Span& span, const Op& op);

/// The positions of all entries, by their starts, then by age. **Cost** O(entries · log entries).
[[nodiscard]] std::vector<std::uint32_t> in_order_of_starts(const Timeline& timeline);

/// A change of the bytes that a place holds for one purpose.
struct MemoryChange {
  Seconds at;
  PlaceId place;
  MemoryCategory category = MemoryCategory::Stash;
  Bytes bytes;
  friend bool operator==(const MemoryChange&, const MemoryChange&) = default;
};

/// What every place of a run held, and when: those of each place in the order of their dates.
using MemoryCourse = std::vector<MemoryChange>;

/// An operation, and one that has to end before it starts.
struct Dependency {
  OpId op;
  OpId on;
  friend bool operator==(const Dependency&, const Dependency&) = default;
};

/// All that traces and pictures need of a run. Exists only when one of them asks for it.
struct RunRecord {
  Timeline timeline;
  MemoryCourse memory;
  std::vector<Dependency> dependencies;  ///< by operation
  std::vector<Dependency> turns;         ///< in no order: an operation, and the one before it on its lane
};

/// Watches a run: its spans, and its windows, each before its spans.
struct RunWatch {
  SpanSink span;
  std::function<void(const OpGraph&)> window;

  RunWatch() = default;
  RunWatch(SpanSink spans, std::function<void(const OpGraph&)> windows)
      : span(std::move(spans)), window(std::move(windows)) {}
  /// Takes spans only.
  template <class Spans>
    requires std::is_constructible_v<SpanSink, Spans>
  RunWatch(Spans&& spans) : span(std::forward<Spans>(spans)) {}  // NOLINT: a watch of spans is a watch of a run
};

/// A sink that appends to `timeline`, which must outlive it.
[[nodiscard]] SpanSink collect_into(Timeline& timeline);

}  // namespace stagecraft
