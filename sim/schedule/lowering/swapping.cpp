#include "sim/schedule/lowering/swapping.hpp"

#include <algorithm>

namespace stagecraft {

Swapping::Swapping(LoweringState& state, const Orders& orders, HostCopies& copies)
    : state_(state),
      orders_(orders),
      copies_(copies),
      prefetch_(state.replicas().size()),
      swaps_(state.replicas().size()) {
  add_shape(state_.shape);
}

void Swapping::add_shape(const RunShape& next) {
  for (ReplicaId id : state_.replicas().all()) {
    const auto keeps_all = [](const StageProgram& program) { return program.swapped.empty(); };
    if (std::ranges::all_of(next[id].work.programs.different(), keeps_all)) continue;
    copies_.open(id);
    swaps_[id] = 1;
    is_active_ = true;
  }
}

void Swapping::copy_out(ReplicaId replica, std::uint32_t microbatch) {
  const std::vector<SwappedStash>& parts = parts_of(replica, microbatch);
  if (parts.empty()) return;
  const std::int64_t index = state_.index(replica, microbatch);
  MicrobatchBoard& board = state_.boards[replica];
  const OpId forward = board.at(index).forward;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    if (parts[part].bytes == Bytes(0)) continue;
    board.swap_outs(index)[part] = copies_.append(replica, {OpKind::SwapOut, microbatch, parts[part].bytes}, {forward});
  }
  Prefetch& prefetch = prefetch_[replica];
  if (prefetch.index < 0) {  // the parts of the stage's first backward may come back as soon as they have been copied
    const std::size_t device = state_.shape.device_index(replica);
    const std::size_t next = orders_.next_backward(device, orders_.cursor(device), state_.replicas()[replica].stage);
    if (next < orders_.actions(device).size()) {
      prefetch.index = state_.index(replica, orders_.actions(device)[next].microbatch);
    }
  }
  if (prefetch.index == index) fetch(replica, microbatch, prefetch.after, true);
}

void Swapping::depend_on_backlog(ReplicaId replica, std::uint32_t microbatch) {
  const StageId stage = state_.replicas()[replica].stage;
  const auto& backlog = state_.shape_at(microbatch, false).plan().stages[stage.value()].swap_backlog;
  if (!backlog) return;
  MicrobatchBoard& board = state_.boards[replica];
  const std::int64_t last = state_.index(replica, microbatch) - 1 - *backlog;
  if (last < 0 || board.is_finished(last)) return;  // what came back has been copied out
  for (const OpId copy : board.swap_outs(last)) {
    if (!copy.is_none()) state_.writer.depend_on(copy);
  }
}

void Swapping::before_backward(ReplicaId replica, std::size_t position) {
  if (swaps_[replica] == 0) return;
  const std::size_t device = state_.shape.device_index(replica);
  const std::vector<Action>& actions = orders_.actions(device);
  Prefetch& prefetch = prefetch_[replica];
  const OpId last = state_.lanes.last(device);
  // This backward was perhaps in a later segment when its prefetch would have been allowed. Then its parts with
  // `prefetch` wait only for the last prefetch that was allowed. All other parts wait for the device's last operation.
  fetch(replica, actions[position].microbatch, prefetch.after, true);
  fetch(replica, actions[position].microbatch, last, false);
  const std::size_t next = orders_.next_backward(device, position + 1, state_.replicas()[replica].stage);
  if (next == actions.size()) return;
  const std::uint32_t microbatch = actions[next].microbatch;
  prefetch = {state_.index(replica, microbatch), last};
  fetch(replica, microbatch, last, true);
}

void Swapping::fetch(ReplicaId replica, std::uint32_t microbatch, OpId after, bool only_prefetched) {
  const std::vector<SwappedStash>& parts = parts_of(replica, microbatch);
  const std::int64_t index = state_.index(replica, microbatch);
  MicrobatchBoard& board = state_.boards[replica];
  static_cast<void>(board.at(index));  // makes the entry: this may be the first that is heard of the microbatch
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const OpId out = board.swap_outs(index)[part];
    const bool is_asked_for = !board.swap_ins(index)[part].is_none();
    if (out.is_none() || is_asked_for || (only_prefetched && !parts[part].prefetch)) continue;
    std::vector<OpId> awaited = {out};
    if (!after.is_none()) awaited.push_back(after);
    board.swap_ins(index)[part] = copies_.append(replica, {OpKind::SwapIn, microbatch, parts[part].bytes}, awaited);
  }
}

void Swapping::begin_next_iteration() { prefetch_.assign(prefetch_.size(), {}); }

OpId Swapping::oldest() const {
  OpId oldest = OpId::none();
  for (const Prefetch& prefetch : prefetch_) oldest = std::min(oldest, prefetch.after);
  return oldest;
}

}  // namespace stagecraft
