#include "sim/schedule/lowering/lowering_state.hpp"

#include <algorithm>

namespace stagecraft {

LoweringState::LoweringState(const RunShape& run_shape, WindowWriter& window_writer, std::int64_t first,
                             const Schedule& orders)
    : shape(run_shape), writer(window_writer), lanes(window_writer, run_shape.replicas().devices()), first_(first) {
  for (ReplicaId id : replicas().all()) {
    const WorkerShape& worker = shape[id];
    boards.push_back(MicrobatchBoard(
        {worker.forward_inputs, worker.backward_inputs, static_cast<std::uint32_t>(worker.program.swapped.size())}));
  }
  for (const DeviceOrder& order : orders.devices) {
    lanes.set_discipline(shape.device_index(order.device), order.discipline);
  }
  lanes.open();
  for (const Stage& stage : shape.plan().stages) {
    const StageId announced = writer.announce({devices_of(stage)});
    if (first_stage_.is_none()) first_stage_ = announced;
  }
}

void LoweringState::begin_next_iteration() {
  ++iteration_;
  for (ReplicaId id : replicas().all()) boards[id].restart(iteration_ * shape[id].count);
}

Op LoweringState::computation(ReplicaId replica, OpKind kind, std::uint32_t microbatch) const {
  Op op;
  op.kind = kind;
  op.stage = run_stage(replicas()[replica].stage);
  op.chunk = static_cast<std::uint16_t>(replicas()[replica].chunk);
  op.microbatch = number(microbatch);
  op.from = op.to = shape[replica].place;
  return op;
}

OpId LoweringState::oldest() const {
  OpId oldest = lanes.oldest();
  for (const MicrobatchBoard& board : boards) oldest = std::min(oldest, board.oldest());
  return oldest;
}

}  // namespace stagecraft
