#include "sim/analytic/occupancy.hpp"

#include <algorithm>

namespace stagecraft {

Occupancy::Occupancy(const Platform& platform, const Replicas& replicas, bool shares_links)
    : platform_(platform), replicas_(replicas), shares_links_(shares_links), cost_(platform) {}

void Occupancy::add_lanes(const std::vector<Lane>& lanes) { lanes_.insert(lanes_.end(), lanes.begin(), lanes.end()); }

std::span<const Occupied> Occupancy::of(const Op& op, std::span<const LaneId> extra) {
  parts_.clear();
  const Seconds time = time_of(op);
  if (!op.lane.is_none()) occupy_lane(op, op.lane, time);
  for (LaneId lane : extra) occupy_lane(op, lane, time);
  if (crosses_links(op)) occupy_links(op, time);
  return parts_;
}

BoundCause Occupancy::cause_of(const Op& op, const Lane& lane) const {
  BoundCause cause;
  cause.kind = BoundCause::Kind::Device;
  cause.device = lane.device;
  if (!lane.device.is_none()) return cause;
  cause.kind = BoundCause::Kind::Channel;
  cause.stage = cause.other = op.stage;
  if (op.kind == OpKind::Activation || op.kind == OpKind::Gradient) {
    const StageId to = replicas_[replicas_.on(platform_.device(op.to))[op.chunk]].stage;
    cause.stage = std::min(op.stage, to);
    cause.other = std::max(op.stage, to);
  }
  return cause;
}

void Occupancy::occupy_lane(const Op& op, LaneId id, Seconds time) {
  const auto [found, is_new] = of_lane_.try_emplace(id.value(), causes_.size());
  if (is_new) causes_.push_back(cause_of(op, lanes_[id.value()]));
  parts_.push_back({found->second, Seconds(0), time});
}

void Occupancy::occupy_links(const Op& op, Seconds time) {
  if (!find_route(platform_, op.from, op.to, op.leg, route_)) return;
  for (LinkId id : route_.links) {
    const Link& link = platform_.links[id];
    const bool is_exclusive = link.sharing == Sharing::Exclusive;
    if (!is_exclusive && !shares_links_) continue;
    const auto [found, is_new] = of_link_.try_emplace(id.value(), causes_.size());
    if (is_new) {
      BoundCause cause;
      cause.kind = BoundCause::Kind::Link;
      cause.link = id;
      causes_.push_back(cause);
    }
    parts_.push_back(
        {found->second, is_exclusive ? Seconds(0) : route_.latency, is_exclusive ? time : op.bytes / link.bandwidth});
  }
}

}  // namespace stagecraft
