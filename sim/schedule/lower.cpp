#include "sim/schedule/lower.hpp"

#include "sim/schedule/lowering/run.hpp"

#include <memory>

namespace stagecraft {

const char* to_string(Migrating migrating) {
  switch (migrating) {
    case Migrating::Live: return "live";
    case Migrating::StopCopy: return "stop-copy";
    case Migrating::Restart: return "restart";
  }
  return "?";
}

LoweredRun lower(const LayerGraph& graph, const Platform& platform, const ScheduleProgram& program,
                 const LowerOptions& options) {
  const auto run = std::make_shared<Run>(graph, platform, program, options);
  LoweredRun lowered;
  lowered.measurement = run->measurement();
  lowered.source.one_pass = run->is_one_pass();
  lowered.source.next = [run](const Observation& observation) { return run->next(observation); };
  return lowered;
}

}  // namespace stagecraft
