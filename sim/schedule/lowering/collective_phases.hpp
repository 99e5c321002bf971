#pragma once

#include "sim/schedule/lowering/window_writer.hpp"

#include <vector>

namespace stagecraft {

/// Flows of a collective that run at the same time, and that all end before the next phase begins.
struct CollectivePhase {
  Seconds latency;        ///< that passes before: of all steps but one, which the flows bring themselves
  std::vector<Op> flows;  ///< what they carry from where to where, without their names
};

/// The operations of a collective by their names: kind, stage, number, microbatch.
struct CollectiveOps {
  Op begin;  ///< of each phase
  Op flow;
  Op end;  ///< of the last phase
};

/// Appends the phases one after the other, the first after the operations `after`. Returns the end.
OpId append_phases(WindowWriter& writer, const std::vector<CollectivePhase>& phases, const CollectiveOps& ops,
                   std::vector<OpId> after);

}  // namespace stagecraft
