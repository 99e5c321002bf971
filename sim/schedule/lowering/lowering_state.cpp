#include "sim/schedule/lowering/lowering_state.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {
namespace {

BoardWidths widths_of(const WorkerShape& worker) {
  std::size_t swapped = 0;
  for (const StageProgram& program : worker.work.programs.different())
    swapped = std::max(swapped, program.swapped.size());
  return {worker.forward_inputs, worker.backward_inputs, static_cast<std::uint32_t>(swapped)};
}

}  // namespace

LoweringState::LoweringState(const RunShape& run_shape, WindowWriter& window_writer, std::int64_t first,
                             const Schedule& orders)
    : shape(run_shape),
      writer(window_writer),
      lanes(window_writer, run_shape.replicas()),
      first_(first),
      awaits_input_(run_shape.replicas().devices().size()) {
  for (ReplicaId id : replicas().all()) {
    boards.push_back(MicrobatchBoard(widths_of(shape[id])));
    if (replicas().group_size() > 1) writer.set_group(replicas().members(id));
  }
  for (const DeviceOrder& order : orders.devices) {
    lanes.set_discipline(shape.device_index(order.device), order.discipline);
  }
  lanes.open();
  const bool holds_back =
      lists_transfers(orders.transfers) || !std::ranges::all_of(orders.channels, &ChannelOrder::exclusive);
  if (holds_back || lanes.any_ready()) connections = Discipline::Ready;
  eras_.push_back({&shape, nullptr, {}, announce_stages()});
}

/// Returns the number of the first one.
StageId LoweringState::announce_stages() {
  StageId first;
  for (const Stage& stage : shape.plan().stages) {
    const StageId announced = writer.announce({devices_of(stage)});
    if (first.is_none()) first = announced;
  }
  return first;
}

void LoweringState::add_shape(std::unique_ptr<const RunShape> next, const ShapeBegin& begin) {
  for (ReplicaId id : replicas().all()) boards[id].widen(widths_of((*next)[id]));
  const StageId first_stage = begin.announces ? announce_stages() : eras_.back().first_stage;
  const RunShape* shape_added = next.get();
  eras_.push_back({shape_added, std::move(next), begin, first_stage});
  await_nothing();
}

void LoweringState::keep_last_shape() {
  if (eras_.size() == 1) return;
  Era last = std::move(eras_.back());
  last.begin = {};
  eras_.clear();
  eras_.push_back(std::move(last));
  await_nothing();
}

void LoweringState::begin_next_iteration() {
  ++iteration_;
  for (ReplicaId id : replicas().all()) boards[id].restart(iteration_ * shape[id].count);
}

Op LoweringState::computation(ReplicaId replica, OpKind kind, std::uint32_t microbatch) const {
  Op op;
  op.kind = kind;
  op.stage = run_stage(replicas()[replica].stage, microbatch);
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
