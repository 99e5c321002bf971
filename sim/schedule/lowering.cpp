#include "sim/schedule/lowering.hpp"

#include "sim/base/error.hpp"
#include "sim/schedule/ranks.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

namespace stagecraft {
namespace {

/// Actions that stay in sight on each device, so that a prefetch finds the next backward.
constexpr std::size_t kLookAhead = 8;
constexpr std::int64_t kSegment = 64;           ///< microbatches, at least
constexpr std::int64_t kSegmentOfReplica = 16;  ///< microbatches that each of many replicas gets

}  // namespace

std::optional<OpGraph> Lowering::next() {
  if (finished_) return std::nullopt;
  window_ = OpGraph{};
  window_.first_id = next_first_;
  window_.retired = oldest_needed();
  if (!std::exchange(started_, true)) append_setup();
  while (window_.ops.size() < window_size()) {
    if (wants_segment()) take_actions(next_segment());
    if (run_round()) continue;
    if (has_actions_left()) {
      if (segment_begin_ >= plan_.microbatches) report_deadlock();
      take_actions(next_segment());
    } else if (!end_iteration()) {
      finished_ = true;
      break;
    }
  }
  close_lanes();
  next_first_ = OpId(window_.first_id.value() + window_.ops.size());
  return std::move(window_);
}

Schedule Lowering::next_segment() {
  if (options_.literal) {
    segment_begin_ = plan_.microbatches;
    return *options_.literal;
  }
  std::int64_t length = kSegment;
  for (const Stage& stage : plan_.stages) length = std::max(length, kSegmentOfReplica * alternating_replicas(stage));
  const Segment segment{segment_begin_, std::min(segment_begin_ + length, plan_.microbatches)};
  segment_begin_ = segment.end;
  return schedule_.build(plan_, segment);
}

/// Appends each device's next actions to what it has left.
void Lowering::take_actions(const Schedule& schedule) {
  for (const DeviceOrder& order : schedule.devices) {
    const auto found = std::ranges::lower_bound(devices_, order.device, {}, &DeviceState::device);
    STAGECRAFT_CHECK(found != devices_.end() && found->device == order.device, "a schedule orders the plan's devices");
    DeviceState& device = *found;
    for (const Action& action : order.actions) {
      const bool ends = action.kind == ActionKind::Backward || action.kind == ActionKind::BackwardWeight;
      Worker& worker = workers_[worker_on(device, action.stage)];
      if (ends) ++worker.due;
      if (action.after != kNoMicrobatch) worker.awaited.try_emplace(board_index(worker, action.after));
    }
    device.discipline = order.discipline;
    if (order.discipline == Discipline::Ready) one_pass_ = false;
    const auto done = device.actions.begin() + static_cast<std::ptrdiff_t>(device.cursor);
    device.actions.erase(device.actions.begin(), done);
    device.actions.insert(device.actions.end(), order.actions.begin(), order.actions.end());
    device.emitted.erase(device.emitted.begin(), device.emitted.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                                              device.cursor, device.emitted.size())));
    device.emitted.resize(device.actions.size());
    device.cursor = 0;
  }
  take_transfers(schedule.channels);
}

/// Appends each channel's next transfers to what it has left.
void Lowering::take_transfers(const std::vector<ChannelOrder>& orders) {
  STAGECRAFT_CHECK(orders.size() == channel_of_order_.size(), "every segment orders the same channels");
  for (std::size_t i = 0; i < orders.size(); ++i) {
    if (channel_of_order_[i] == kNone) continue;
    Channel& channel = channels_[channel_of_order_[i]];
    channel.turns.erase(channel.turns.begin(), channel.turns.begin() + static_cast<std::ptrdiff_t>(channel.cursor));
    channel.cursor = 0;
    for (const ChannelAction& action : orders[i].actions) {
      const TransferKey key{channel.boundaries[action.boundary], action.microbatch, action.gradient};
      if (key.boundary == kNone) continue;
      if (action.not_before > Seconds(0) || action.priority != 0) channel.listed[key] = action;
      if (channel.has_turns()) channel.turns.push_back(key);
    }
    append_in_turn(channel);
  }
}

bool Lowering::wants_segment() const {
  if (segment_begin_ >= plan_.microbatches) return false;
  return std::ranges::any_of(
      devices_, [](const DeviceState& device) { return device.actions.size() - device.cursor < kLookAhead; });
}

bool Lowering::has_actions_left() const {
  return segment_begin_ < plan_.microbatches ||
         std::ranges::any_of(devices_, [](const DeviceState& d) { return d.cursor < d.actions.size(); });
}

/// Whether the device has had its last operation, and nothing to come waits for its operations alone: there are no
/// updates at the end of an iteration, and either its replicas have no microbatch in any, or neither actions nor
/// iterations are left and the all-reduce is out, which waits for replicas without a microbatch until the very end.
bool Lowering::is_over(const DeviceState& device) const {
  const bool is_last = segment_begin_ >= plan_.microbatches && iteration_ + 1 >= options_.iterations;
  return device.cursor == device.actions.size() && std::ranges::all_of(device.workers, [&](std::size_t index) {
           const Worker& worker = workers_[index];
           const Group& group = groups_[group_of_[worker.stage.value()]];
           const bool is_reduced = !schedule_.synchronous || group.arrived == group.workers.size();
           return worker.update == Seconds(0) && (worker.count == 0 || (is_last && is_reduced));
         });
}

void Lowering::close_lanes() {
  for (DeviceState& device : devices_) {
    if (device.closed || !is_over(device)) continue;
    device.closed = true;
    window_.closed_lanes.push_back(device.lane);
  }
}

/// Each device appends at most one action; whether any did.
bool Lowering::run_round() {
  bool progressed = false;
  for (DeviceState& device : devices_) progressed |= step(device);
  return progressed;
}

bool Lowering::step(DeviceState& device) {
  if (device.cursor >= device.actions.size()) return false;
  if (device.discipline == Discipline::Strict) {
    const bool pair = device.cursor + 1 < device.actions.size() && device.actions[device.cursor + 1].joined;
    if (!emit(device, device.cursor)) return false;
    device.cursor += pair ? 2 : 1;
    return true;
  }
  for (std::size_t i = device.cursor; i < device.actions.size(); ++i) {
    if (device.emitted[i] != 0 || device.actions[i].joined) continue;
    if (!emit(device, i)) continue;
    device.emitted[i] = 1;
    if (i + 1 < device.actions.size() && device.actions[i + 1].joined) device.emitted[i + 1] = 1;
    while (device.cursor < device.actions.size() && device.emitted[device.cursor] != 0) ++device.cursor;
    return true;
  }
  return false;
}

/// Where order depends on time, everything that may compete has to be known: a whole iteration is one window.
std::size_t Lowering::window_size() const {
  if (options_.window_operations > 0) return options_.window_operations;
  const bool by_priority =
      std::ranges::any_of(devices_, [](const DeviceState& device) { return device.discipline == Discipline::Ready; });
  if (by_priority && has_actions_left()) return static_cast<std::size_t>(-1);
  return std::max<std::size_t>(65536, 4 * devices_.size());
}

OpId Lowering::oldest_needed() const {
  OpId oldest = window_.first_id;
  const auto consider = [&](OpId op) { oldest = std::min(oldest, op); };
  for (const DeviceState& device : devices_) {
    consider(device.last);
    consider(device.barrier);
  }
  for (const Worker& worker : workers_) {
    consider(worker.board.oldest());
    consider(worker.last_backward);
    consider(worker.prefetch_after);
    for (OpId op : worker.synchronised) consider(op);
    for (const auto& [index, op] : worker.awaited) consider(op);
  }
  for (const Group& group : groups_) {
    for (const auto& [round, ops] : group.rounds) std::ranges::for_each(ops, consider);
  }
  for (const auto& [microbatch, ops] : measured_backwards_) std::ranges::for_each(ops, consider);
  for (const Passage& passage : passages_) {
    for (const auto& [key, ops] : passage.partial) std::ranges::for_each(ops, consider);
  }
  for (const Channel& channel : channels_) {
    for (const auto& [key, deliveries] : channel.waiting) {
      for (const Delivery& delivery : deliveries) std::ranges::for_each(delivery.dependencies, consider);
    }
  }
  for (const auto& [key, posted] : posted_) {
    consider(posted.send);
    consider(posted.receive);
    for (const Delivery& delivery : posted.deliveries) std::ranges::for_each(delivery.dependencies, consider);
  }
  for (const auto& [key, deliveries] : offers_) {
    for (const Delivery& delivery : deliveries) std::ranges::for_each(delivery.dependencies, consider);
  }
  return oldest;
}

void Lowering::report_deadlock() const {
  std::string waiting;
  int listed = 0;
  for (const DeviceState& device : devices_) {
    if (device.cursor >= device.actions.size()) continue;
    const Action& action = device.actions[device.cursor];
    if (++listed > 4) {
      waiting += ", …";
      break;
    }
    waiting += (listed == 1 ? "" : ", ") + platform_.devices[device.device].name + " at the " + to_string(action.kind) +
               " of microbatch " + std::to_string(action.microbatch) + " of stage " +
               std::to_string(action.stage.value());
  }
  throw InputError("the schedule deadlocks: " + waiting, {},
                   "each waits for something that comes later in another device's or channel's order");
}

Measurement Lowering::measurement() const {
  Measurement result;
  result.synchronous = schedule_.synchronous;
  result.microbatch_size = plan_.microbatch_size;
  result.microbatches = plan_.microbatches;
  if (schedule_.synchronous) return result;
  result.microbatches = measured_.last - measured_.first;
  result.last = measured_.last;
  result.stride = measured_.stride;
  return result;
}

std::int64_t least_microbatches(const Plan& plan) {
  const ScheduleInfo* schedule = find_schedule(plan.schedule.name);
  STAGECRAFT_CHECK(schedule != nullptr, "the schedule is known");
  if (schedule->synchronous) return 1;
  Plan endless = plan;  // as many in flight as there can ever be
  endless.microbatches = std::int64_t{1} << 30;
  std::int64_t in_flight_peak = 1;
  std::int64_t stride = 1;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    in_flight_peak = std::max(in_flight_peak, in_flight(endless, StageId(s)));
    stride = std::lcm(stride, alternating_replicas(plan.stages[s]));
  }
  const std::int64_t discarded = (std::max<std::int64_t>(2 * in_flight_peak, 10) + stride - 1) / stride * stride;
  return 2 * discarded + stride + 1;
}

MeasuredPart measured_part(const Plan& plan) {
  const std::int64_t least = least_microbatches(plan);
  MeasuredPart part;
  for (const Stage& stage : plan.stages) part.stride = std::lcm(part.stride, alternating_replicas(stage));
  if (plan.microbatches < least) {
    throw InputError(
        "an asynchronous run of " + std::to_string(plan.microbatches) + " microbatches is too short to find its period",
        {}, "this plan needs at least " + std::to_string(least) + " microbatches");
  }
  const std::int64_t discarded = (least - 1 - part.stride) / 2;
  part.first = discarded;
  const std::int64_t length = plan.microbatches - 1 - 2 * discarded;
  part.last = part.first + length / part.stride * part.stride;
  return part;
}

LoweredRun lower(const LayerGraph& graph, const Platform& platform, const Plan& plan, const LowerOptions& options) {
  STAGECRAFT_CHECK(find_schedule(plan.schedule.name) != nullptr, "the schedule is known");
  const auto lowering = std::make_shared<Lowering>(graph, platform, prepared(graph, platform, plan), options);
  LoweredRun run;
  run.measurement = lowering->measurement();
  run.use = lowering->use();
  run.source.one_pass = lowering->one_pass();
  run.source.next = [lowering](const Observation&) { return lowering->next(); };
  return run;
}

}  // namespace stagecraft
