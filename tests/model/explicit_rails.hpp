#pragma once

#include "tests/model/topologies.hpp"

#include <cstdint>
#include <string>
#include <utility>

namespace stagecraft::test {

/// Nodes of devices behind a switch of 200 GB/s, with a NIC of 25 GB/s for each device on the leaf switch of its number
/// and an uplink of 25 GB/s to a spine, in the explicit form. The node of device i is i / devices.
struct ExplicitRails {
  std::uint32_t nodes = 2;
  std::uint32_t devices = 4;
  std::uint32_t shared_by = 1;  ///< neighbouring devices that share a NIC, and so a rail
  bool are_named = true;        ///< the nodes
  CollectiveSpec::Algorithm algorithm = CollectiveSpec::Algorithm::Ring;
};

inline Platform explicit_rails(const ExplicitRails& shape) {
  ExplicitForm form;
  for (const std::string kind : {"nv", "nic", "rail"}) {
    const std::uint32_t rails = shape.devices / shape.shared_by;
    const std::uint32_t count = kind == "nv" ? shape.nodes : kind == "nic" ? shape.nodes * rails : rails;
    for (std::uint32_t i = 0; i < count; ++i) form.switches.push_back(kind + std::to_string(i));
  }
  const SwitchId spine = form.switches.push_back("spine");
  const std::uint32_t rails = shape.devices / shape.shared_by;
  const auto link = [&](ExplicitEnd a, ExplicitEnd b, double bandwidth) {
    form.links.push_back({"", std::pair(a, b), link_of(bandwidth)});
  };
  for (std::uint32_t node = 0; node < shape.nodes; ++node) {
    if (shape.are_named) form.nodes.push_back("node " + std::to_string(node));
    for (std::uint32_t i = 0; i < shape.devices; ++i) {
      const NodeId name = shape.are_named ? NodeId(node) : NodeId::none();
      const DeviceId device =
          form.devices.push_back({"gpu" + std::to_string(form.devices.size()), DeviceKindId(0), {}, name});
      link(device, SwitchId(node), 200e9);
      link(device, SwitchId(shape.nodes + node * rails + i / shape.shared_by), 200e9);
    }
    for (std::uint32_t rail = 0; rail < rails; ++rail) {
      link(SwitchId(shape.nodes + node * rails + rail), SwitchId(shape.nodes * (1 + rails) + rail), 25e9);
    }
  }
  for (std::uint32_t rail = 0; rail < rails; ++rail) link(SwitchId(shape.nodes * (1 + rails) + rail), spine, 25e9);
  PlatformSpec spec = built({}).spec;
  spec.form = std::move(form);
  spec.collectives.algorithm = shape.algorithm;
  return build_platform(std::move(spec));
}

}  // namespace stagecraft::test
