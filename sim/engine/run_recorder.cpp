#include "sim/engine/run_recorder.hpp"

#include <cstddef>
#include <optional>
#include <utility>

namespace stagecraft {

void RunRecorder::add(const OpGraph& window) {
  if (what_ != RecordPart::All) return;
  for (std::size_t i = 0; i < window.ops.size(); ++i) {
    const OpId op(window.first_id.value() + i);
    for (const OpId earlier : window.before_start(i)) record_.dependencies.push_back({op, earlier});
  }
}

void RunRecorder::add(const Span& span, const Op& op, std::span<const MemoryDelta> deltas) {
  if (what_ == RecordPart::None) return;
  record_.timeline.push_back(timeline_entry(span, op));
  if (what_ == RecordPart::Spans) return;
  if (op.kind == OpKind::Abandon) {
    memory_.clear(span.start);
    last_on_lane_.clear();
  }
  if (!op.lane.is_none()) {
    const auto [last, is_first] = last_on_lane_.try_emplace(op.lane, span.id);
    if (last->second != span.id) record_.turns.push_back({span.id, last->second});
    last->second = span.id;
  }
  if (!deltas.empty()) memory_.add(span, deltas);
}

OpSource announced_to(std::function<void(const OpGraph&)> hear, OpSource source) {
  auto next = [hear = std::move(hear), inner = std::move(source.next)](const Observation& observation) {
    std::optional<OpGraph> window = inner(observation);
    if (window) hear(*window);
    return window;
  };
  return {std::move(next), source.one_pass};
}

}  // namespace stagecraft
