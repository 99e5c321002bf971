#include "sim/engine/span_log.hpp"

#include <utility>

namespace stagecraft {

SpanLog::SpanLog(const Platform& platform, OperationStore& operations, Resources& resources, RunSink sink)
    : platform_(platform), operations_(operations), resources_(resources), sink_(std::move(sink)) {}

void SpanLog::abort(std::size_t position, Seconds at) {
  Started& started = started_[position];
  started.aborted = true;
  started.span = operations_.span_of(started.op, at, true);
}

void SpanLog::strike(std::uint32_t position, const Event& event, Seconds at) {
  if (sink_.strike) struck_.push_back({{position, at}, &event, reported_ + started_.size()});
}

void SpanLog::report_strikes() {
  while (!struck_.empty() && struck_.front().starts == reported_) {
    sink_.strike(struck_.front().strike, *struck_.front().event);
    struck_.pop_front();
  }
}

void SpanLog::flush() {
  report_strikes();
  while (!started_.empty()) {
    const Started& front = started_.front();
    if (!front.aborted && operations_[front.op].state != Operation::State::Done) break;
    report(front);
    if (!front.aborted) operations_[front.op].reported = true;
    started_.pop_front();
    ++reported_;
    report_strikes();
  }
  operations_.forget_reported();
}

/// An operation on several devices is reported once for each of them; its memory changes are reported only once.
void SpanLog::report(const Started& started) {
  const Operation& what = operations_[started.op];
  const Span span = started.aborted ? started.span : operations_.span_of(started.op, what.end, false);
  sink_.span(span, what.op, operations_.deltas_of(started.op));
  if (what.op.extra_lanes == 0) return;
  for (DeviceId device : resources_.further_devices(started.op, what.op)) {
    Op there = what.op;
    there.from = there.to = platform_.place(device);
    sink_.span(span, there, {});
  }
  if (!started.aborted) resources_.forget_lanes(started.op);
}

}  // namespace stagecraft
