#include "sim/base/error.hpp"
#include "sim/engine/executor.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {

// A device's next operation may stand in a window that is not loaded yet. So as soon as the last known operation of
// some device has started, the next window is loaded: nothing that could start earlier than that operation's end is
// missed. A device for which no window has anything left does not count. Without devices that do nothing tells what may
// be missed, and all is loaded.
void Executor::pull_while_starved() {
  while (!exhausted_ && (starved_lanes_ > 0 || open_lanes_ == 0)) {
    observation_.now = clock_.now();
    std::optional<OpGraph> graph = source_.next(observation_);
    observation_.stages.assign(observation_.stages.size(), {});
    if (graph) {
      load(*graph);
    } else {
      exhausted_ = true;
    }
  }
}

void Executor::load(const OpGraph& graph) {
  STAGECRAFT_CHECK(graph.first_id.value() == slots_.end(), "windows are numbered without gaps");
  for (const Lane& lane : graph.new_lanes) {
    Resource& resource = lanes_.emplace_back();
    resource.discipline = lane.discipline;
    resource.device = lane.device;
    if (!lane.device.is_none()) {
      resource.down = failures_[lane.device.value()] > 0;
      ++open_lanes_;
      ++starved_lanes_;
    }
    if (lane.discipline == Discipline::Ready) contested_run_ = true;
  }
  slots_.reserve(graph.ops.size());
  edges_.reserve(graph.dependencies.size());
  deltas_.reserve(graph.deltas.size());
  std::size_t extra = 0;
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    load_op(graph, i);
    const std::uint64_t op = graph.first_id.value() + i;
    for (std::uint8_t k = 0; k < graph.ops[i].extra_lanes; ++k, ++extra) {
      contested_run_ = true;
      extra_lanes_[op].push_back(graph.extra_lanes[extra]);
      join_lane(graph.extra_lanes[extra], op);
    }
  }
  for (LaneId lane : graph.closed_lanes) close(lanes_[lane.value()]);
}

void Executor::close(Resource& lane) {
  if (!lane.is_open()) return;
  --open_lanes_;
  if (lane.unstarted == 0) --starved_lanes_;
  lane.closed = true;
}

void Executor::load_op(const OpGraph& graph, std::size_t index) {
  const std::uint64_t op = slots_.end();
  Slot& slot = slots_.extend();
  slot = Slot{};
  slot.op = graph.ops[index];
  for (OpId earlier : graph.dependencies_of(index)) {
    STAGECRAFT_CHECK(earlier.value() < op, "an operation depends on earlier ones only");
    if (earlier.value() < slots_.begin()) continue;
    Slot& dependency = slots_[earlier.value()];
    if (dependency.state == State::Done) {
      note_cause(slot, dependency, earlier.value());
      continue;
    }
    dependency.successors = edges_.push_back({op, dependency.successors});
    ++slot.missing;
  }
  slot.edges = slot.missing;
  for (const MemoryDelta& delta : graph.deltas_of(index)) deltas_.push_back(delta);
  slot.delta_end = deltas_.end();
  slot.simple = slot.op.extra_lanes == 0;
  if (has_exclusive_links_ && find_exclusive_links(op)) slot.simple = false;
  ++unfinished_;
  if (!slot.op.lane.is_none()) join_lane(slot.op.lane, op);
  if (slot.missing == 0) ready_.push_back(op);
}

/// Of dependencies that end at one instant the youngest counts, whichever is reported first.
void Executor::note_cause(Slot& successor, const Slot& ended, std::uint64_t op) {
  if (ended.end < successor.cause_end || (ended.end == successor.cause_end && op < successor.cause_op)) return;
  successor.cause = ended.op.kind;
  successor.cause_op = op;
  successor.cause_start = ended.start;
  successor.cause_end = ended.end;
}

void Executor::join_lane(LaneId lane, std::uint64_t op) {
  Resource& resource = lanes_[lane.value()];
  if (resource.discipline == Discipline::Strict) resource.queue.push_back(op);
  if (resource.unstarted++ == 0 && resource.is_open()) --starved_lanes_;
}

/// Whether the operation needs any.
bool Executor::find_exclusive_links(std::uint64_t op) {
  const Op& what = slots_[op].op;
  if (!crosses_links(what)) return false;
  STAGECRAFT_CHECK(find_route(platform_, what.from, what.to, route_), "a transfer's places are connected");
  std::vector<LinkId> links;
  for (LinkId link : route_.links) {
    const bool listed = std::ranges::find(links, link) != links.end();
    if (platform_.links[link].sharing == Sharing::Exclusive && !listed) links.push_back(link);
  }
  if (links.empty()) return false;
  exclusive_.emplace(op, std::move(links));
  return true;
}

}  // namespace stagecraft
