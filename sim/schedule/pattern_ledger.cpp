#include "sim/model/plan.hpp"
#include "sim/schedule/boundaries.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/memory_ledger.hpp"
#include "sim/schedule/pattern.hpp"
#include "sim/schedule/replica_programs.hpp"
#include "sim/schedule/stage_program.hpp"
#include "sim/schedule/tied_stages.hpp"

#include <algorithm>
#include <map>

namespace stagecraft {
namespace {

/// A stage's work, and its microbatches in flight at the current point of a period.
struct StageLoad {
  StageProgram work;
  std::int64_t in_flight = 0;
};

/// The most memory that stashes and workspace take on a device within one period of the steady state. At the start of
/// the period, the number of microbatches in flight at a stage is the shift of its backward less that of its forward.
Bytes moving_peak(const std::vector<PatternOperation>& operations, std::map<std::uint32_t, StageLoad>& stages) {
  for (const PatternOperation& operation : operations) {
    if (operation.is_cut || !stages.contains(operation.index)) continue;
    stages[operation.index].in_flight += operation.backward ? operation.shift : -operation.shift;
  }
  Bytes peak;
  for (const PatternOperation& operation : operations) {
    if (operation.is_cut || !stages.contains(operation.index)) continue;
    StageLoad& own = stages[operation.index];
    if (!operation.backward) ++own.in_flight;
    Bytes held = operation.backward ? own.work.backward_workspace() : own.work.workspace;
    for (const auto& [index, stage] : stages) held += stage.work.kept * stage.in_flight;
    peak = std::max(peak, held);
    if (operation.backward) --own.in_flight;
  }
  return peak;
}

}  // namespace

std::vector<std::pair<DeviceId, Bytes>> pattern_peaks(const LayerGraph& graph, const Platform& platform,
                                                      const Plan& plan, const ScheduleProgram& program) {
  const std::vector<Boundary> all = boundaries(graph, plan);
  const std::vector<PatternOperation> operations = in_start_order(*program.pattern);
  std::map<DeviceId, std::map<std::uint32_t, StageLoad>> stages_on;
  std::map<DeviceId, Bytes> peaks;
  for (StageId id : indices<StageId>(plan.stages.size())) {
    const Stage& stage = plan.stages[id.value()];
    const DeviceId device = stage.replicas.front().lead();
    StageProgram work = ReplicaPrograms(graph, platform, stage).memory_of(device, Share{});
    work.parameters -=
        held_elsewhere(graph, *program.kept, program.weight_versions, program.kept->replicas.of(id).front());
    const Bytes boundary = boundary_bytes(plan, all, id, device);
    peaks[device] += static_memory(plan.training, work, program.weight_versions[id.value()], boundary, {}).total();
    stages_on[device][id.value()] = {work, 0};
  }
  for (auto& [device, stages] : stages_on) peaks[device] += moving_peak(operations, stages);
  return {peaks.begin(), peaks.end()};
}

}  // namespace stagecraft
