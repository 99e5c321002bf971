#include "sim/schedule/lowering/live_switch.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::uint8_t kAhead = 1;  ///< suspended while boundary traffic uses a link of the route

}  // namespace

void LiveSwitch::begin(std::int64_t first, LiveMoves moves) {
  STAGECRAFT_CHECK(!active_, "one switch is under way at a time");
  active_ = true;
  is_marked_ = false;
  first_ = first;
  rounds_ = state_.shape.plan().rounds_per_update;
  for (LiveMove& move : moves.moves) moves_.emplace_back(std::move(move));
  backwards_ = std::move(moves.backwards);
  for (Moving& moving : moves_) {
    reserve_if_due(moving);
    const std::int64_t made = backwards_[moving.move.from] / rounds_;
    STAGECRAFT_CHECK(made <= moving.move.first_version && backwards_[moving.move.from] < moving.move.first_backward,
                     "a move starts before anything of it is needed");
    if (made < moving.move.first_version) continue;
    STAGECRAFT_CHECK(!moving.reserved.is_none(), "a receiver has room before the first copy");
    copy_version(moving, made);
  }
}

OpId LiveSwitch::append_setup(DeviceId device) {
  Op op;
  op.kind = OpKind::Setup;
  op.from = op.to = state_.shape.platform().place(device);
  return state_.writer.append(op);
}

/// Takes the memory that devices will keep in addition, once giver and receiver have run enough backwards. Each device
/// first ends what it has been given to run: microbatches of a plan before the present one may be in flight there.
void LiveSwitch::reserve_if_due(Moving& moving) {
  if (!moving.reserved.is_none()) return;
  if (std::min(backwards_[moving.move.from], backwards_[moving.move.to]) < moving.move.reserved_after) return;
  const auto append_when_free = [&](DeviceId device) {
    const OpId last = state_.lanes.last(state_.shape.device_index(device));
    const OpId setup = append_setup(device);
    if (!last.is_none()) state_.writer.depend_on(last);
    return setup;
  };
  for (const auto& [device, kept] : moving.move.grows) {
    append_when_free(device);
    stagecraft::take(state_.writer, state_.shape.platform().place(device), kept);
  }
  const DeviceId to = state_.replicas()[moving.move.to].device;
  moving.reserved = append_when_free(to);
  state_.writer.take(state_.shape.platform().place(to), MemoryCategory::Weights, moving.move.beside);
}

/// Appends a copy from the giver to the receiver; the caller adds what else it waits for.
OpId LiveSwitch::append_copy(const Moving& moving, Migrated what, Bytes bytes) {
  Op op;
  op.kind = OpKind::Migration;
  op.chunk = static_cast<std::uint16_t>(what);
  op.microbatch = state_.number(static_cast<std::int64_t>(first_));
  op.stage = state_.run_stage(state_.replicas()[moving.move.to].stage, static_cast<std::uint32_t>(first_));
  op.from = state_.shape[moving.move.from].place;
  op.to = state_.shape[moving.move.to].place;
  op.bytes = bytes;
  const OpId id = state_.writer.append(op);
  state_.writer.depend_on(moving.reserved);
  return id;
}

/// The copies ahead of a move go one after the other, and give way to the tensors of training.
void LiveSwitch::send_ahead(const Moving& moving) {
  LaneId& lane = lanes_[{moving.move.from, moving.move.to}];
  if (lane.is_none()) lane = state_.writer.open_lanes(1, Discipline::Strict);
  state_.writer.last().lane = lane;
  state_.writer.last().transfer_class = kAhead;
}

/// With the backward of the last microbatch whose stash was handed over, all versions before the last one are used up.
void LiveSwitch::drop_versions_beside(const Moving& moving, std::uint32_t microbatch) {
  if (std::int64_t{microbatch} + 1 != first_ || moving.move.beside == Bytes(0)) return;
  const OpId done = state_.lanes.last(state_.shape.device_index(moving.move.to));
  append_setup(state_.replicas()[moving.move.to].device);
  state_.writer.depend_on(done);
  state_.writer.free(state_.shape[moving.move.to].place, MemoryCategory::Weights, moving.move.beside);
}

/// Copies the weights that the giver's last update has made.
void LiveSwitch::copy_version(Moving& moving, std::int64_t version) {
  const LiveMove& move = moving.move;
  const OpId made = state_.lanes.last(state_.shape.device_index(move.from));
  moving.versions[version] = append_copy(moving, Migrated::Weights, move.weights);
  if (!made.is_none()) state_.writer.depend_on(made);
  if (version < move.first_urgent) send_ahead(moving);
}

/// Copies the optimizer's state after the last weights. Then the giver frees what it has kept.
void LiveSwitch::commit(Moving& moving) {
  moving.committed = append_copy(moving, Migrated::Optimizer, moving.move.optimizer);
  state_.writer.depend_on(moving.versions.at(moving.move.last_version));
  for (const auto& [device, kept] : moving.move.shrinks) {
    append_setup(device);
    state_.writer.depend_on(moving.committed);
    stagecraft::free(state_.writer, state_.shape.platform().place(device), kept);
  }
}

/// The weights that the receiver's forward uses: with all updates that it would have without the switch, as far as its
/// stage has run the backwards.
std::int64_t LiveSwitch::version_for(const Moving& moving, std::uint32_t microbatch) const {
  return std::min(backwards_[moving.move.to], std::int64_t{microbatch} - moving.move.lag) / rounds_;
}

bool LiveSwitch::can_run_forward(ReplicaId replica, std::uint32_t microbatch) const {
  if (!active_ || microbatch < first_) return true;
  return std::ranges::all_of(moves_, [&](const Moving& moving) {
    if (moving.move.to != replica || moving.is_over) return true;
    const std::int64_t version = version_for(moving, microbatch);
    return version > moving.move.last_version ? !moving.committed.is_none() : moving.versions.contains(version);
  });
}

void LiveSwitch::depend_forward(ReplicaId replica, std::uint32_t microbatch) {
  if (!active_ || microbatch < first_) return;
  for (Moving& moving : moves_) {
    if (moving.move.to != replica || moving.is_over) continue;
    const std::int64_t version = version_for(moving, microbatch);
    moving.is_over = version > moving.move.last_version;
    state_.writer.depend_on(moving.is_over ? moving.committed : moving.versions.at(version));
  }
}

void LiveSwitch::note_forward(ReplicaId replica, std::uint32_t microbatch, OpId forward) {
  if (!active_) return;
  if (microbatch >= first_ && !std::exchange(is_marked_, true)) mark();
  for (Moving& moving : moves_) {
    const LiveMove& move = moving.move;
    if (move.from != replica || microbatch < move.first_backward || microbatch >= first_) continue;
    const std::int64_t version = backwards_[replica] / rounds_;
    STAGECRAFT_CHECK(moving.versions.contains(version), "the weights of a forward are copied before its stash");
    moving.used[microbatch] = version;
    moving.stashes[microbatch] = append_copy(moving, Migrated::Stash, move.stash_taken);
    state_.writer.depend_on(forward);
    state_.writer.take(state_.shape[move.to].place, MemoryCategory::Stash, move.stash_taken);
    state_.writer.free(state_.shape[replica].place, MemoryCategory::Stash, move.stash_freed);
    state_.writer.last().microbatch = state_.number(microbatch);
    send_ahead(moving);
  }
}

/// Marks the switch in the run's spans (`Course::replans`).
void LiveSwitch::mark() {
  Op op;
  op.kind = OpKind::Setup;
  op.microbatch = state_.number(static_cast<std::int64_t>(first_));
  op.stage = state_.run_stage(StageId(0), static_cast<std::uint32_t>(first_));
  state_.writer.append(op);
}

/// Whether the update after the receiver's backward needs the optimizer's state of the layers.
bool LiveSwitch::awaits_optimizer(const Moving& moving, std::uint32_t microbatch) const {
  const std::int64_t backwards = std::int64_t{microbatch} + 1;
  const bool updates = backwards % rounds_ == 0 && backwards / rounds_ > moving.move.last_version;
  return updates && state_.worker(moving.move.to, microbatch, true).update > Seconds(0);
}

bool LiveSwitch::can_run_backward(ReplicaId replica, std::uint32_t microbatch) const {
  if (!active_) return true;
  return std::ranges::all_of(moves_, [&](const Moving& moving) {
    const bool is_asked = moving.move.from == replica && copies_version(moving, backwards_[replica] + 1);
    if (is_asked && moving.reserved.is_none()) return false;
    return moving.move.to != replica || !moving.committed.is_none() || !awaits_optimizer(moving, microbatch);
  });
}

/// Whether the weights are copied that the giver has after so many backwards.
bool LiveSwitch::copies_version(const Moving& moving, std::int64_t backwards) const {
  return backwards % rounds_ == 0 && backwards / rounds_ >= moving.move.first_version &&
         backwards <= moving.move.first_backward;
}

void LiveSwitch::depend_backward(ReplicaId replica, std::uint32_t microbatch) {
  if (!active_ || microbatch >= first_) return;
  for (Moving& moving : moves_) {
    if (moving.move.to != replica || microbatch < moving.move.first_backward) continue;
    state_.writer.depend_on(moving.stashes.at(microbatch));
    state_.writer.depend_on(moving.versions.at(moving.used.at(microbatch)));
    moving.stashes.erase(microbatch);
  }
}

void LiveSwitch::note_backward(ReplicaId replica, std::uint32_t microbatch) {
  if (!active_) return;
  for (const Moving& moving : moves_) {  // first of all, while the update is the last operation
    if (moving.move.to == replica && awaits_optimizer(moving, microbatch)) state_.writer.depend_on(moving.committed);
  }
  const std::int64_t backwards = ++backwards_[replica];
  for (Moving& moving : moves_) {
    const LiveMove& move = moving.move;
    if (move.from == replica || move.to == replica) reserve_if_due(moving);
    if (move.to == replica) drop_versions_beside(moving, microbatch);
    if (move.from != replica || backwards > move.first_backward) continue;
    STAGECRAFT_CHECK(backwards == std::int64_t{microbatch} + 1, "updates are in the order of the microbatches");
    if (copies_version(moving, backwards)) copy_version(moving, backwards / rounds_);
    if (backwards == move.first_backward) commit(moving);
  }
  end_if_over();
}

std::pair<std::int64_t, std::int64_t> LiveSwitch::delayed() const {
  if (moves_.empty()) return {first_, first_};
  return {std::max<std::int64_t>(moves_.front().move.first_backward - 1, 0), moves_.back().move.first_backward};
}

void LiveSwitch::end_if_over() {
  const bool has_moved = std::ranges::all_of(moves_, [](const Moving& moving) { return moving.is_over; });
  if (!has_moved || !is_marked_) return;
  for (ReplicaId id : state_.replicas().all()) {
    if (backwards_[id] < state_.replicas().count(id, first_)) return;
  }
  active_ = false;
  moves_.clear();
}

OpId LiveSwitch::oldest() const {
  OpId oldest = OpId::none();
  for (const Moving& moving : moves_) {
    oldest = std::min({oldest, moving.reserved, moving.committed});
    for (const auto& [version, copy] : moving.versions) oldest = std::min(oldest, copy);
    for (const auto& [microbatch, copy] : moving.stashes) oldest = std::min(oldest, copy);
  }
  return oldest;
}

}  // namespace stagecraft
