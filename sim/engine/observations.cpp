#include "sim/engine/observations.hpp"

#include "sim/base/error.hpp"

namespace stagecraft {

void Observations::end(const Op& op, Seconds seconds) {
  if (!is_compute(op.kind) || op.stage.is_none()) return;
  STAGECRAFT_CHECK(present_.stages.contains(op.stage), "a window has announced the stage");
  StageObservation& stage = present_.stages[op.stage];
  if (op.kind == OpKind::Forward) {
    ++stage.forwards;
    stage.forward_time += seconds;
  } else if (op.kind == OpKind::Backward || op.kind == OpKind::BackwardInput) {
    ++stage.backwards;
    stage.backward_time += seconds;
  } else if (op.kind == OpKind::BackwardWeight) {
    stage.backward_time += seconds;
  }
}

Observation Observations::take(Seconds now) {
  Observation seen = present_;
  seen.now = now;
  present_.stages.assign(present_.stages.size(), {});
  return seen;
}

}  // namespace stagecraft
