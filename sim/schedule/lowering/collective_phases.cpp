#include "sim/schedule/lowering/collective_phases.hpp"

namespace stagecraft {
namespace {

OpId append_after(WindowWriter& writer, const Op& op, const std::vector<OpId>& after) {
  const OpId id = writer.append(op);
  writer.depend_on(after);
  return id;
}

Op named(Op flow, const Op& name) {
  flow.kind = name.kind;
  flow.stage = name.stage;
  flow.chunk = name.chunk;
  flow.microbatch = name.microbatch;
  return flow;
}

}  // namespace

OpId append_phases(WindowWriter& writer, const std::vector<CollectivePhase>& phases, const CollectiveOps& ops,
                   std::vector<OpId> after) {
  for (const CollectivePhase& phase : phases) {
    Op mark = ops.begin;
    mark.seconds = phase.latency;
    const OpId begin = append_after(writer, mark, after);
    after.clear();
    for (const Op& flow : phase.flows) {
      after.push_back(writer.append(named(flow, ops.flow)));
      writer.depend_on(begin);
    }
  }
  return append_after(writer, ops.end, after);
}

}  // namespace stagecraft
