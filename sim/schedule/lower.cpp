#include "sim/schedule/lower.hpp"

#include "sim/schedule/lowering/run.hpp"

#include <memory>

namespace stagecraft {

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
