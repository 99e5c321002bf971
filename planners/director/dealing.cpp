#include "planners/director/dealing.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace stagecraft::director {
namespace {

/// Stages [first, last) in one node.
struct Segment {
  std::size_t first = 0;
  std::size_t last = 0;
  std::size_t devices = 0;
};

std::vector<Segment> segments_of(const std::vector<NodeStage>& stages) {
  std::vector<Segment> segments;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    if (stages[s].place == NodeStage::Place::Spread) continue;
    if (stages[s].place == NodeStage::Place::Begins) segments.push_back({s, s, 0});
    segments.back().last = s + 1;
    segments.back().devices += stages[s].replicas;
  }
  std::ranges::stable_sort(segments, std::ranges::greater(), &Segment::devices);
  return segments;
}

std::vector<DeviceId> take(std::vector<DeviceId>& left, std::size_t count) {
  const auto end = left.begin() + static_cast<std::ptrdiff_t>(count);
  std::vector<DeviceId> taken(left.begin(), end);
  left.erase(left.begin(), end);
  return taken;
}

}  // namespace

std::vector<DeviceId> in_turn(const std::vector<std::vector<DeviceId>>& nodes) {
  std::vector<DeviceId> devices;
  const std::size_t most = std::ranges::max_element(nodes, {}, &std::vector<DeviceId>::size)->size();
  for (std::size_t row = 0; row < most; ++row) {
    for (const std::vector<DeviceId>& node : nodes) {
      if (row < node.size()) devices.push_back(node[row]);
    }
  }
  return devices;
}

std::vector<Piece> dealt(const std::vector<std::vector<DeviceId>>& nodes, const std::vector<NodeStage>& stages) {
  std::vector<Piece> pieces;
  for (const NodeStage& stage : stages) pieces.push_back({stage.begin, stage.end, {}, stage.divides});
  std::vector<std::vector<DeviceId>> left = nodes;
  for (const Segment& segment : segments_of(stages)) {
    std::vector<DeviceId>* tightest = nullptr;
    for (std::vector<DeviceId>& node : left) {
      if (node.size() < segment.devices || (tightest != nullptr && node.size() >= tightest->size())) continue;
      tightest = &node;
    }
    if (tightest == nullptr) continue;
    for (std::size_t s = segment.first; s < segment.last; ++s) pieces[s].devices = take(*tightest, stages[s].replicas);
  }
  std::vector<DeviceId> rest;
  for (const std::vector<DeviceId>& node : left) rest.insert(rest.end(), node.begin(), node.end());
  for (std::size_t s = 0; s < stages.size(); ++s) {
    if (pieces[s].devices.empty()) pieces[s].devices = take(rest, stages[s].replicas);
    std::ranges::sort(pieces[s].devices);
  }
  return pieces;
}

}  // namespace stagecraft::director
