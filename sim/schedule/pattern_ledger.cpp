#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/memory_ledger.hpp"
#include "sim/schedule/pattern.hpp"
#include "sim/schedule/stage_program.hpp"

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

std::vector<std::pair<DeviceId, Bytes>> pattern_peaks(const LayerGraph& graph, const ScheduleProgram& program) {
  const KeptPlan& kept = *program.kept;
  const std::vector<PatternOperation> operations = in_start_order(*program.pattern);
  std::map<DeviceId, std::map<std::uint32_t, StageLoad>> stages_on;
  std::map<DeviceId, Bytes> peaks;
  for (StageId id : indices<StageId>(kept.plan.stages.size())) {
    const ReplicaId replica = kept.replicas.of(id).front();
    const DeviceId device = kept.replicas[replica].device;
    peaks[device] += static_memory(graph, kept, program.weight_versions, replica).total();
    stages_on[device][id.value()] = {(*kept.work)[replica].programs.first(), 0};
  }
  for (auto& [device, stages] : stages_on) peaks[device] += moving_peak(operations, stages);
  return {peaks.begin(), peaks.end()};
}

}  // namespace stagecraft
