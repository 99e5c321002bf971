#include "sim/schedule/lowering/saves.hpp"

#include <algorithm>
#include <limits>

namespace stagecraft {
namespace {

constexpr std::int32_t kNext = std::numeric_limits<std::int32_t>::min();  ///< before all that a ready lane may choose

}  // namespace

Saves::Saves(LoweringState& state, const Synchronise& synchronise, const Checkpoints& checkpoints)
    : state_(state), synchronise_(synchronise), checkpoints_(checkpoints) {
  if (checkpoints_.time <= Seconds(0)) checkpoints_.distance.reset();
  if (checkpoints_.distance) saved_.assign(state.lanes.size(), state.first() / *checkpoints_.distance);
}

/// The microbatch of the run before which all backwards of the device have been appended.
std::int64_t Saves::done_on(DeviceId device) const {
  std::int64_t done = state_.shape.plan().microbatches;
  for (ReplicaId id : state_.replicas().on(device)) {
    if (state_.shape[id].count == 0) continue;
    done = std::min(done, std::int64_t{state_.replicas().microbatch(id, synchronise_.backwards(id))});
  }
  return state_.first() + done;
}

void Saves::note_backward(const EndedBackward& ended) {
  if (!checkpoints_.distance) return;
  const std::size_t device = state_.shape.device_index(state_.replicas()[ended.replica].device);
  const std::int64_t done = done_on(state_.lanes.device(device)) / *checkpoints_.distance;
  if (done == saved_[device]) return;
  append(device, done * *checkpoints_.distance, checkpoints_.time * static_cast<double>(done - saved_[device]),
         {ended.op});
  saved_[device] = done;
}

void Saves::end_iteration() {
  if (!checkpoints_.distance) return;
  const std::int64_t begin = state_.number(0);
  const std::int64_t end = begin + state_.shape.plan().microbatches;
  if (begin / *checkpoints_.distance == end / *checkpoints_.distance) return;
  for (std::size_t device = 0; device < state_.lanes.size(); ++device) {
    std::vector<OpId> last;
    for (ReplicaId id : state_.replicas().on(state_.lanes.device(device))) {
      const std::vector<OpId> own = synchronise_.last_of(id);
      last.insert(last.end(), own.begin(), own.end());
    }
    append(device, end, checkpoints_.time, last);
  }
}

void Saves::append(std::size_t device, std::int64_t microbatches, Seconds time, const std::vector<OpId>& after) {
  Op op;
  op.kind = OpKind::Save;
  op.microbatch = static_cast<std::uint32_t>(microbatches - 1);
  op.from = op.to = state_.shape.platform().place(state_.lanes.device(device));
  op.seconds = time;
  state_.lanes.append(device, op, kNext, Seconds(0));
  state_.writer.depend_on(after);
}

}  // namespace stagecraft
