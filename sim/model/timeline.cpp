#include "sim/model/timeline.hpp"

#include "sim/model/schedule.hpp"

#include <numeric>
#include <tuple>

namespace stagecraft {

TimelineEntry timeline_entry(const Span& span, const Op& op) {
  return {span.id, op.kind, span.aborted, op.chunk,   op.microbatch, op.stage,
          op.from, op.to,   op.leg,       span.start, span.end,      op.bytes};
}

std::vector<std::uint32_t> in_order_of_starts(const Timeline& timeline) {
  std::vector<std::uint32_t> order(timeline.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [&](std::uint32_t i) { return std::tuple(timeline[i].start, timeline[i].id, i); });
  return order;
}

SpanSink collect_into(Timeline& timeline) {
  return [&timeline](const Span& span, const Op& op, std::span<const MemoryDelta>) {
    timeline.push_back(timeline_entry(span, op));
  };
}

const char* to_string(Transfers transfers) {
  switch (transfers) {
    case Transfers::Eager: return "eager";
    case Transfers::Rendezvous: return "rendezvous";
    case Transfers::Explicit: return "explicit";
    case Transfers::Stream: return "stream";
    case Transfers::Blocking: return "blocking";
  }
  return "";
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
