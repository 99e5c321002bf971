#include "sim/analytic/occupancy.hpp"

#include <algorithm>

namespace stagecraft {
namespace {

constexpr std::size_t kUnknown = ~std::size_t{0};

}  // namespace

std::span<const Occupied> Occupancy::of(std::size_t at) {
  parts_.clear();
  const SampledOp& sampled = run_.ops()[at];
  if (crosses_links(sampled.op)) occupy_links(sampled);
  if (!sampled.op.lane.is_none()) occupy_lane(sampled, sampled.op.lane);
  for (const LaneId lane : run_.extra_lanes_of(at)) occupy_lane(sampled, lane);
  return parts_;
}

/// The resource's number; a new one gets the cause that `cause` makes.
std::size_t Occupancy::number(Numbers& numbers, std::uint32_t id, const auto& cause) {
  if (id >= numbers.size()) numbers.resize(id + std::size_t{1}, kUnknown);
  if (numbers[id] == kUnknown) {
    numbers[id] = causes_.size();
    causes_.push_back(cause());
  }
  return numbers[id];
}

BoundCause Occupancy::cause_of(const Op& op, const Lane& lane) const {
  BoundCause cause;
  cause.kind = BoundCause::Kind::Device;
  cause.device = lane.device;
  if (!lane.device.is_none()) return cause;
  if (lane.connection) {
    cause.kind = BoundCause::Kind::Connection;
    cause.device = run_.platform().device(op.from);
    cause.to = run_.platform().device(op.to);
    return cause;
  }
  cause.kind = BoundCause::Kind::Channel;
  cause.stage = cause.other = op.stage;
  if (op.kind == OpKind::Activation || op.kind == OpKind::Gradient) {
    const StageId to = run_.replicas()[run_.replica_at(op.to, op)].stage;
    cause.stage = std::min(op.stage, to);
    cause.other = std::max(op.stage, to);
  }
  return cause;
}

void Occupancy::occupy_lane(const SampledOp& sampled, LaneId id) {
  const Lane& lane = run_.lane(id);
  const std::size_t resource = number(of_lane_, id.value(), [&] { return cause_of(sampled.op, lane); });
  const Seconds occupied = lane.connection ? cost_(sampled.op, kNever) : sampled.time;
  parts_.push_back({resource, sampled.time - occupied, occupied});
}

void Occupancy::occupy_links(const SampledOp& sampled) {
  const Op& op = sampled.op;
  if (!find_route(run_.platform(), op.from, op.to, op.leg, route_)) return;
  for (const LinkId id : route_.links) {
    const Link& link = run_.platform().links[id];
    const bool is_exclusive = link.sharing == Sharing::Exclusive;
    if (!is_exclusive && !shares_links_) continue;
    const std::size_t resource = number(of_link_, id.value(), [&] {
      BoundCause cause;
      cause.kind = BoundCause::Kind::Link;
      cause.link = id;
      return cause;
    });
    if (is_exclusive) {
      parts_.push_back({resource, Seconds(0), sampled.time});
    } else {
      parts_.push_back({resource, route_.latency, op.bytes / link.bandwidth});
    }
  }
}

}  // namespace stagecraft
