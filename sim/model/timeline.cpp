#include "sim/model/timeline.hpp"

#include "sim/model/schedule.hpp"

namespace stagecraft {

TimelineEntry timeline_entry(const Span& span, const Op& op) {
  return {span.id, op.kind,    span.aborted, op.microbatch, op.stage, op.from,
          op.to,   span.start, span.end,     op.bytes,      op.leg,   op.chunk};
}

SpanSink collect_into(Timeline& timeline) {
  return [&timeline](const Span& span, const Op& op, std::span<const MemoryDelta>) {
    timeline.push_back(timeline_entry(span, op));
  };
}

const char* to_string(ActionKind kind) {
  switch (kind) {
    case ActionKind::Forward: return "forward";
    case ActionKind::Backward: return "backward";
    case ActionKind::BackwardInput: return "backward-input";
    case ActionKind::BackwardWeight: return "backward-weight";
    case ActionKind::SendActivation: return "send-activation";
    case ActionKind::ReceiveActivation: return "receive-activation";
    case ActionKind::SendGradient: return "send-gradient";
    case ActionKind::ReceiveGradient: return "receive-gradient";
  }
  return "?";
}

}  // namespace stagecraft
