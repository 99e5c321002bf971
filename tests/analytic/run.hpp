#pragma once

#include "sim/analytic/evaluate.hpp"
#include "sim/analytic/heap_clock.hpp"
#include "sim/engine/summary.hpp"
#include "tests/engine/hand_made.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>

namespace stagecraft::hand_made {

struct Run {
  Timeline timeline;
  Report report;
  std::string picture;
};

/// Runs `source`, whose operations are those of `draft`, in the way that `evaluate` chooses.
inline Run run(const Draft& draft, OpSource source, const Events& events = {}) {
  Run result;
  Summary summary(draft.platform, draft.measurement, evaluates_in_start_order(draft.platform, source, events));
  RunSink sink = summed_up_by(summary);
  sink.span = [&](const Span& span, const Op& op, std::span<const MemoryDelta> deltas) {
    result.timeline.push_back(timeline_entry(span, op));
    summary.add(span, op, deltas);
  };
  evaluate(draft.platform, announced_to(summary, std::move(source)), events, sink);
  result.report = summary.finish();
  result.picture = picture(result.timeline, draft.names);
  return result;
}

/// Ends the draft with a barrier if it has none.
inline Draft closed(Draft draft) {
  const bool has_barrier =
      std::ranges::any_of(draft.graph.ops, [](const Op& op) { return op.kind == OpKind::Barrier; });
  if (!has_barrier) draft.barrier();
  return draft;
}

/// By events, in one window.
inline Run by_events(const Draft& open, const Events& events = {}) {
  const Draft draft = closed(open);
  return run(draft, single_window(draft.graph), events);
}

/// By events and in one pass, which must agree in every span and in the report.
inline Run both_ways(const Draft& open) {
  const Draft draft = closed(open);
  const Run events = run(draft, single_window(draft.graph));
  const Run pass = run(draft, single_window(draft.graph, true));
  CHECK(events.picture == pass.picture);
  CHECK(events.report == pass.report);
  return pass;
}

/// By events in windows of every size: all must show the same. **Requires** transfers right after what they depend on.
inline void check_windows(const Draft& open, const Events& events = {}) {
  const Draft draft = closed(open);
  const Run whole = run(draft, single_window(draft.graph), events);
  for (std::size_t size = 1; size < draft.graph.ops.size(); ++size) {
    CAPTURE(size);
    const Run cut_up = run(draft, cut(draft.graph, size), events);
    CHECK(cut_up.picture == whole.picture);
    CHECK(cut_up.report == whole.report);
  }
}

}  // namespace stagecraft::hand_made
