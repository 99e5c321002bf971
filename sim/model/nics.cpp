#include "sim/model/nics.hpp"

#include "sim/model/interconnect.hpp"

#include <algorithm>
#include <variant>

namespace stagecraft {

std::uint32_t nic_count(const NodeKind& kind) {
  if (!kind.nic) return 0;
  return kind.nic->per_device ? kind.device_count / kind.nic->shared_by : 1;
}

std::uint32_t nic_of(const NodeKind& kind, std::uint32_t device) {
  return kind.nic->per_device ? device / kind.nic->shared_by : 0;
}

std::uint32_t rail_count(const NodeForm& form) {
  std::uint32_t most = 0;
  for (const NodeGroup& group : form.groups) most = std::max(most, nic_count(form.node_kinds[group.kind]));
  return most;
}

BytesPerSecond nics_bandwidth(const NodeKind& kind) {
  return kind.nic ? nic_count(kind) * kind.nic->link.bandwidth : BytesPerSecond(0);
}

WayToNic way_to_nic(const NodeKind& kind) {
  if (!kind.interconnect || !kind.nic) return WayToNic::None;
  const NicSpec& nic = *kind.nic;
  if (nic.per_device && nic.shared_by == 1) return WayToNic::None;
  if (std::holds_alternative<SwitchedNode>(kind.interconnect->shape)) {
    return nic.link.bandwidth > kind.interconnect->link.bandwidth ? WayToNic::OwnLink : WayToNic::None;
  }
  const auto* tree = std::get_if<PcieNode>(&kind.interconnect->shape);
  if (tree == nullptr) return WayToNic::None;
  const bool spans_switches =
      tree->devices_per_switch % nic.shared_by != 0 && switch_count(*tree, kind.device_count) > 1;
  return nic.per_device && !spans_switches ? WayToNic::OwnLink : WayToNic::Tree;
}

BytesPerSecond reach_of_nics(const NodeKind& kind) {
  const BytesPerSecond cards = nics_bandwidth(kind);
  const WayToNic way = way_to_nic(kind);
  if (way == WayToNic::None) return cards;
  const LinkSpec& link = kind.interconnect->link;
  if (way == WayToNic::OwnLink) return std::min(cards, kind.device_count * link.bandwidth);
  const auto& tree = std::get<PcieNode>(kind.interconnect->shape);
  BytesPerSecond uplinks(0);
  for (std::uint32_t s = 0; s < switch_count(tree, kind.device_count); ++s) {
    uplinks += std::min(tree.uplink.bandwidth, devices_under(tree, kind.device_count, s) * link.bandwidth);
  }
  return std::min(cards, uplinks);
}

}  // namespace stagecraft
