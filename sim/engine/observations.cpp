#include "sim/engine/observations.hpp"

#include "sim/base/error.hpp"

namespace stagecraft {

void Observations::end(const Op& op, Seconds seconds) {
  if (!is_compute(op.kind) || op.stage.is_none()) return;
  STAGECRAFT_CHECK(present_.stages.contains(op.stage), "a window has announced the stage");
  StageObservation& stage = present_.stages[op.stage];
  switch (op.kind) {
    case OpKind::Forward:
      ++stage.forwards;
      stage.forward_time += seconds;
      break;
    case OpKind::Backward:
    case OpKind::BackwardInput:
    case OpKind::BackwardWeight:
    case OpKind::Recompute:
      if (op.closes) ++stage.backwards;
      stage.backward_time += seconds;
      break;
    case OpKind::ForwardBackward:
      ++stage.forwards;
      ++stage.backwards;
      ++stage.pairs;
      stage.pair_time += seconds;
      break;
    default: break;
  }
}

Observation Observations::take(Seconds now) {
  Observation seen = present_;
  seen.now = now;
  present_.stages.assign(present_.stages.size(), {});
  return seen;
}

}  // namespace stagecraft
