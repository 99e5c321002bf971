#include "sim/engine/summary.hpp"

#include "sim/engine/run_recorder.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

namespace stagecraft {

Summary::Summary(const Platform& platform, const Measurement& measurement, bool in_start_order)
    : platform_(platform),
      measurement_(measurement),
      in_start_order_(in_start_order),
      sums_(measurement.synchronous),
      devices_(platform.devices.size()),
      memory_(platform),
      windows_(measurement.window, measurement.microbatch_size) {}

void Summary::announce(const OpGraph& window) {
  devices_.announce(window, periods_.iteration_begin(), sums_);
  for (const ReplanQuestion& question : window.questions) {
    if (question.first && question.cause == ReplanQuestion::Cause::Failure) go_back(question);
    so_far_.course.questions.push_back(question);
    if (question.first) {
      windows_.change_plan(
          {*question.first, question.stall_begin, question.stall_middle, question.stall_end, question.microbatch_size});
    }
  }
}

/// The run goes on with a microbatch that it may have begun before. A plan that was to follow and that no microbatch
/// has reached never does.
void Summary::go_back(const ReplanQuestion& failure) {
  std::vector<ReplanQuestion*> changes;
  for (ReplanQuestion& question : so_far_.course.questions) {
    if (question.first) changes.push_back(&question);
  }
  std::vector<Replan>& replans = so_far_.course.replans;
  for (; !changes.empty(); changes.pop_back()) {
    ReplanQuestion& last = *changes.back();
    const bool is_marked = changes.size() <= replans.size();
    if (is_marked && (last.cause == ReplanQuestion::Cause::Failure || *last.first < failure.microbatch)) break;
    if (is_marked) replans.pop_back();
    last.first = std::nullopt;
    last.reason += "; a device failed before";
  }
  windows_.withdraw_changes(replans.size());
  if (measurement_.synchronous) {
    periods_.go_back(static_cast<std::size_t>(*failure.first / measurement_.microbatches));
  }
}

RunSink summed_up_by(Summary& summary) {
  return {[&summary](const Span& span, const Op& op, std::span<const MemoryDelta> deltas) {
            summary.add(span, op, deltas);
          },
          [&summary](const Strike& strike, const Event& event) { summary.add(strike, event); }};
}

OpSource announced_to(Summary& summary, OpSource source) {
  return announced_to([&summary](const OpGraph& window) { summary.announce(window); }, std::move(source));
}

void Summary::add(const Span& span, const Op& op, std::span<const MemoryDelta> deltas) {
  if (!span.aborted && span.id != last_counted_) {  // an operation on several devices is reported once for each
    ++so_far_.operations;
    last_counted_ = span.id;
  }
  so_far_.end = std::max(so_far_.end, span.end);
  if (op.kind == OpKind::Abandon) abandon(span.start);
  if (!deltas.empty()) memory_.add(span, deltas);
  if (in_start_order_) sums_.bound_end(span.start);
  if (is_compute(op.kind)) {
    devices_.add_computation(span, op, sums_);
    bound_end(span, op);
    if (op.closes && !span.aborted) windows_.add(std::int64_t{op.microbatch}, span.end);
  } else if (is_transfer(op.kind)) {
    add_transfer(span, op);
  } else if (op.kind == OpKind::Abandon || (op.kind == OpKind::Setup && op.microbatch > 0)) {
    so_far_.course.replans.push_back({.microbatch = op.microbatch, .at = span.start, .first_stage = op.stage});
  } else if (span.aborted) {
    return;
  } else if (op.kind == OpKind::CollectiveBegin || op.kind == OpKind::CollectiveEnd) {
    devices_.add_collective_mark(span, op);
  } else if (op.kind == OpKind::Barrier) {
    add_barrier(span.end, op.microbatch);
  }
}

void Summary::abandon(Seconds at) {
  memory_.clear(at);
  devices_.abandon();
}

void Summary::add(const Strike& strike, const Event& event) {
  so_far_.course.strikes.push_back(strike);
  if (const auto* limit = std::get_if<MemoryLimit>(&event.change)) {
    memory_.set_capacity(platform_.place(limit->device), platform_.usable_of(limit->device, limit->memory), strike.at);
  }
}

/// The measured window ends with microbatch `last`. A microbatch whole strides before it runs on the same replicas and
/// ends earlier, so the window cannot end before this span does.
void Summary::bound_end(const Span& span, const Op& op) {
  if (in_start_order_ || !op.closes || span.aborted) return;
  const std::int64_t distance = measurement_.last - std::int64_t{op.microbatch};
  if (distance >= 0 && distance % measurement_.stride == 0) {
    sums_.bound_end(std::max(sums_.end_bound(), span.end));
  }
}

void Summary::add_transfer(const Span& span, const Op& op) {
  if (is_ring_flow(op.kind)) devices_.add_exchange(span, op);
  if (span.aborted) return;
  if (op.kind == OpKind::Migration) {
    so_far_.course.migrations.push_back(
        {op.stage, op.from, op.to, op.bytes, span.start, span.end, static_cast<Migrated>(op.chunk)});
  }
  if (crosses_links(op)) links_.add(span, op, sums_);
}

void Summary::add_barrier(Seconds at, std::int64_t microbatch) {
  if (!measurement_.synchronous) {
    if (microbatch <= last_mark_) return;  // it has been run again
    last_mark_ = microbatch;
  }
  if (measurement_.has_two_windows() && microbatch == measurement_.middle) {
    periods_.pass_middle(at);
    return;
  }
  if (measurement_.synchronous) {
    devices_.end_iteration(at, sums_);
    periods_.end_iteration(at);
  }
  sums_.pass_barrier(at);
}

}  // namespace stagecraft
