#include "sim/schedule/lowering/channels.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {

Channels::Channels(LoweringState& state, const std::vector<ChannelOrder>& orders) {
  const std::vector<PerDirection> order_of = find_orders(state, orders);
  channel_of_order_.assign(orders.size(), kNone);
  boundaries_.resize(order_of.size());
  for (std::size_t i = 0; i < order_of.size(); ++i) assign(state, orders, i, order_of[i]);
}

/// Finds, for each boundary and direction, the order that lists it, if any. Also translates the boundary numbers of
/// each order into boundaries of the plan (`boundaries_of_order_`).
std::vector<Channels::PerDirection> Channels::find_orders(const LoweringState& state,
                                                          const std::vector<ChannelOrder>& orders) {
  const std::vector<Boundary>& all = state.shape.boundaries();
  std::map<std::pair<StageId, StageId>, std::size_t> number_of;
  for (std::size_t i = 0; i < all.size(); ++i) number_of[{all[i].from, all[i].to}] = i;
  std::vector<PerDirection> order_of(all.size(), {kNone, kNone});
  boundaries_of_order_.resize(orders.size());
  for (std::size_t i = 0; i < orders.size(); ++i) {
    for (const ChannelEnds& ends : orders[i].boundaries) {
      const auto found = number_of.find({ends.from, ends.to});
      boundaries_of_order_[i].push_back(found == number_of.end() ? kNone : found->second);
      if (found == number_of.end()) continue;
      if (orders[i].direction != Direction::Backward) order_of[found->second][0] = i;
      if (orders[i].direction != Direction::Forward) order_of[found->second][1] = i;
    }
  }
  return order_of;
}

/// Gives a boundary its channels. Boundaries and directions listed in the same order share one channel. A boundary that
/// no order lists has none on the platform's network; on the analytic network it gets one for both directions.
void Channels::assign(LoweringState& state, const std::vector<ChannelOrder>& orders, std::size_t boundary,
                      const PerDirection& order_of) {
  const RunShape& shape = state.shape;
  Crossing& crossing = boundaries_[boundary];
  crossing.flows = shape.flows_over(boundary);
  for (std::size_t direction = 0; direction < 2; ++direction) {
    const std::size_t order = order_of[direction];
    if (order == kNone) {
      if (!shape.is_analytic()) continue;
      const bool is_shared = direction == 1 && order_of[0] == kNone;
      crossing.channel[direction] = is_shared ? crossing.channel[0] : open(state, nullptr, 1);
      continue;
    }
    if (channel_of_order_[order] == kNone) {
      channel_of_order_[order] = open(state, &orders[order], pairs_over(state, boundaries_of_order_[order]));
      channels_.back().boundaries = std::move(boundaries_of_order_[order]);
    }
    crossing.channel[direction] = channel_of_order_[order];
  }
}

/// Adds a channel with the discipline of its order and returns its position. Without an order, the channel takes its
/// transfers as they become ready.
std::size_t Channels::open(LoweringState& state, const ChannelOrder* order, std::uint32_t lanes) {
  Channel& channel = channels_.emplace_back();
  if (order != nullptr) channel.discipline = order->discipline;
  if (order == nullptr || state.shape.is_analytic() || order->exclusive) {
    channel.lane = state.writer.open_lanes(lanes, channel.discipline);
  }
  return channels_.size() - 1;
}

/// The number of lanes that a channel needs, one for each pair of replicas that exchange parts of one microbatch. With
/// a parts on one side and b on the other, the pair of parts (i, j) has the number i + j. From one pair whose parts
/// overlap to the next, i or j grows, so the numbers differ and lie below a + b - 1. Members of groups have lanes of
/// their own.
std::uint32_t Channels::pairs_over(const LoweringState& state, const std::vector<std::size_t>& boundaries) {
  if (state.shape.is_analytic()) return 1;
  const Replicas& replicas = state.replicas();
  const auto parts = [&](StageId stage) { return replicas[replicas.of(stage).front()].share.of; };
  std::int64_t pairs = 1;
  for (std::size_t boundary : boundaries) {
    if (boundary == kNone) continue;
    const Boundary& ends = state.shape.boundaries()[boundary];
    pairs = std::max(pairs, parts(ends.from) + parts(ends.to) - 1);
  }
  return static_cast<std::uint32_t>(pairs) * static_cast<std::uint32_t>(replicas.group_size());
}

void Channels::take(LoweringState& state, const std::vector<ChannelOrder>& orders) {
  STAGECRAFT_CHECK(orders.size() == channel_of_order_.size(), "every segment orders the same channels");
  for (std::size_t i = 0; i < orders.size(); ++i) {
    if (channel_of_order_[i] == kNone) continue;
    Channel& channel = channels_[channel_of_order_[i]];
    channel.order.erase(channel.order.begin(), channel.order.begin() + static_cast<std::ptrdiff_t>(channel.cursor));
    channel.cursor = 0;
    for (const ChannelAction& action : orders[i].actions) {
      const TransferKey key{channel.boundaries[action.boundary], action.microbatch, action.gradient};
      if (key.boundary == kNone || key.microbatch >= end_) continue;
      if (action.not_before > Seconds(0) || action.priority != 0) channel.listed[key] = action;
      if (channel.keeps_order()) channel.order.push_back(key);
    }
    append_in_order(state, channel);
  }
}

void Channels::stop_at(std::int64_t end) {
  end_ = end;
  for (Channel& channel : channels_) {
    const auto done = channel.order.begin() + static_cast<std::ptrdiff_t>(channel.cursor);
    channel.order.erase(
        std::remove_if(done, channel.order.end(), [&](const TransferKey& key) { return key.microbatch >= end; }),
        channel.order.end());
  }
}

void Channels::deliver(LoweringState& state, TransferKey key, PendingTransfer transfer) {
  const std::size_t number = boundaries_[key.boundary].channel[key.gradient ? 1 : 0];
  if (number == kNone) {
    append_transfer(state, transfer, key.gradient);
    return;
  }
  Channel& channel = channels_[number];
  if (!channel.lane.is_none()) {
    transfer.op.lane = LaneId(channel.lane.value() + transfer.pair);
    transfer.keeps_lane = channel.discipline == Discipline::Ready;
  }
  const auto listed = channel.listed.find(key);
  if (listed != channel.listed.end()) {
    transfer.op.priority = listed->second.priority;
    transfer.op.not_before = listed->second.not_before;
    // With several flows the later ones still need the entry, so it stays.
    if (boundaries_[key.boundary].flows == 1) channel.listed.erase(listed);
  }
  if (!channel.keeps_order()) {
    append_transfer(state, transfer, key.gradient);
    return;
  }
  channel.waiting[key].push_back(std::move(transfer));
  append_in_order(state, channel);
}

/// Appends the transfers of a strict channel, in its order, up to the first one of which some flow is still missing.
void Channels::append_in_order(LoweringState& state, Channel& channel) {
  for (; channel.cursor < channel.order.size(); ++channel.cursor) {
    const TransferKey key = channel.order[channel.cursor];
    const auto waiting = channel.waiting.find(key);
    if (waiting == channel.waiting.end() || waiting->second.size() < boundaries_[key.boundary].flows) return;
    for (const PendingTransfer& transfer : waiting->second) append_transfer(state, transfer, key.gradient);
    channel.waiting.erase(waiting);
  }
}

bool Channels::any_ready() const {
  return std::ranges::any_of(channels_, [](const Channel& channel) {
    return !channel.lane.is_none() && channel.discipline == Discipline::Ready;
  });
}

OpId Channels::oldest() const {
  OpId oldest = OpId::none();
  for (const Channel& channel : channels_) {
    for (const auto& [key, transfers] : channel.waiting) oldest = std::min(oldest, oldest_of(transfers));
  }
  return oldest;
}

}  // namespace stagecraft
