#pragma once

#include "sim/engine/exclusive_links.hpp"
#include "sim/engine/resource.hpp"
#include "sim/model/op_graph.hpp"
#include "sim/model/platform.hpp"

#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

namespace stagecraft {

/// The resources that operations hold while they run: their lanes, and the exclusive links of transfers. Also counts
/// the device lanes without an unstarted operation, so that the executor knows when to ask for the next window.
class Resources {
 public:
  /// `platform` must outlive the resources.
  explicit Resources(const Platform& platform) : links_(platform) {}

  void add_lane(const Lane& lane, bool is_down);
  /// No later window adds to the lane.
  void close(LaneId lane);
  /// An operation joins its lanes' queues. Returns whether it is simple: one lane or none, and no exclusive link.
  bool join(std::uint64_t op, const Op& what, std::span<const LaneId> extra_lanes) {
    if (!what.lane.is_none()) join_lane(what.lane, op);
    if (!extra_lanes.empty()) join_further(op, extra_lanes);
    const bool needs_links = links_.exist() && links_.find(op, what);
    return extra_lanes.empty() && !needs_links;
  }

  [[nodiscard]] Resource& lane(LaneId lane) { return lanes_[lane.value()]; }
  [[nodiscard]] bool is_connection(LaneId lane) const { return !lane.is_none() && lanes_[lane.value()].connection; }
  /// All that the operation holds while it runs, the lane first; valid until the next call.
  [[nodiscard]] std::span<Resource* const> of(std::uint64_t op, const Op& what);
  /// The devices that a computation occupies besides its first one.
  [[nodiscard]] std::span<const DeviceId> further_devices(std::uint64_t op, const Op& what) const {
    if (what.extra_lanes == 0) return {};
    return further_.at(op).devices;
  }

  /// An operation starts and takes the resource; on a strict lane the one at its front.
  void take(Resource& resource) {
    resource.busy = true;
    if (resource.discipline == Discipline::Strict) resource.queue.pop_front();
    if (resource.unstarted > 0 && --resource.unstarted == 0 && resource.is_open()) ++starved_;
  }
  /// An operation was aborted; on a strict lane it is the next one again.
  void put_back(Resource& resource, std::uint64_t op);
  /// The device fails or recovers. Returns its lanes.
  std::span<Resource* const> set_down(DeviceId device, bool down);

  /// The operation has ended and holds nothing any more.
  void forget_links(std::uint64_t op) {
    if (links_.exist()) links_.forget(op);
  }
  /// The operation has been reported, so its further lanes and devices are not needed any more.
  void forget_lanes(std::uint64_t op) { further_.erase(op); }

  /// Every operation is given up.
  void abandon();

  /// Whether transfers compete for links.
  [[nodiscard]] bool has_exclusive_links() const { return links_.exist(); }
  /// Whether some device may be idle only because its next operation is in a window that is not loaded yet.
  [[nodiscard]] bool need_window() const { return starved_ > 0 || open_ == 0; }

 private:
  struct Further {
    std::vector<LaneId> lanes;
    std::vector<DeviceId> devices;  ///< of those lanes that are a device's
  };
  void join_lane(LaneId lane, std::uint64_t op) {
    Resource& joined = lanes_[lane.value()];
    if (joined.discipline == Discipline::Strict) joined.queue.push_back(op);
    if (joined.unstarted++ == 0 && joined.is_open()) --starved_;
  }
  void join_further(std::uint64_t op, std::span<const LaneId> extra_lanes);

  std::deque<Resource> lanes_;                          ///< by LaneId
  std::unordered_map<std::uint64_t, Further> further_;  ///< of the operations with several lanes
  ExclusiveLinks links_;
  std::uint64_t open_ = 0;     ///< device lanes that later windows may add to
  std::uint64_t starved_ = 0;  ///< of these, those without an unstarted operation
  std::vector<Resource*> found_;
};

}  // namespace stagecraft
