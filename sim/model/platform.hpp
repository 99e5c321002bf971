#pragma once

#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/leg.hpp"
#include "sim/model/platform_spec.hpp"
#include "sim/model/precision.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {

struct Device {
  std::string name;
  DeviceKindId kind;
  NodeId node;       ///< none if an explicit form names no nodes
  HostId host;       ///< none if nothing can be swapped there
  LinkId to_host;    ///< device to host memory; none if swaps use the node's PCIe tree
  LinkId from_host;  ///< host memory to device; the same link when it is half duplex
  /// What its computations take, over what they take on a device of its kind: more than 1 on a device that a running
  /// training has found to be slow.
  double slowdown = 1.0;
  std::optional<Bytes> memory = std::nullopt;  ///< in place of its kind's, if others have taken a part of it
  std::uint32_t nic = 0;                       ///< the number in its node of the NIC that it uses
  friend bool operator==(const Device&, const Device&) = default;
};

struct Host {
  std::string name;
  Bytes memory;
  friend bool operator==(const Host&, const Host&) = default;
};

/// One physical link in one direction, or in both if it is half duplex. Transfers over it share its bandwidth.
struct Link {
  std::string name;
  BytesPerSecond bandwidth;
  Seconds latency;
  Sharing sharing = Sharing::Fair;
  /// The largest bandwidth that the links nearer to the devices can bring to it or take from it; infinite if they do
  /// not bound it. A link no narrower than this is never the bottleneck.
  BytesPerSecond load_limit{std::numeric_limits<double>::infinity()};
  friend bool operator==(const Link&, const Link&) = default;
};

/// The links a transfer crosses, in order, and the sum of their latencies.
struct Route {
  std::vector<LinkId> links;
  Seconds latency;
  friend bool operator==(const Route&, const Route&) = default;
};

/// Physical links of one kind that lie one after the other in `Platform::links`, each as its forward and its backward
/// direction, or as one `Link` when it is half duplex. Forward is up, away from the devices, or to the larger number.
struct LinkRow {
  LinkId first;
  bool is_half = false;
  [[nodiscard]] LinkId forward(std::uint32_t i) const { return LinkId(first.value() + (is_half ? i : 2 * i)); }
  [[nodiscard]] LinkId backward(std::uint32_t i) const { return LinkId(first.value() + (is_half ? i : 2 * i + 1)); }
  friend bool operator==(const LinkRow&, const LinkRow&) = default;
};

/// `node2`: what links of the node form are called after.
[[nodiscard]] std::string name_of(NodeId node);

struct Node {
  NodeKindId kind;
  DeviceId first_device;
  HostId host;
  LinkRow interconnect;  ///< by device, or by pair in the order of sim/model/interconnect.cpp
  LinkRow uplinks;       ///< of PCIe switches
  LinkRow sockets;       ///< by pair of sockets
  LinkRow nics;
  friend bool operator==(const Node&, const Node&) = default;
};

/// The links between nodes. Rows that the network's type does not have are empty.
struct NetworkLinks {
  LinkRow ports;  ///< by node
  /// `FullNetwork`: by pair of nodes; torus: by dimension and node; dragonfly: local; rails: uplinks, by rail.
  LinkRow wires;
  LinkRow globals;              ///< dragonfly: by pair of groups
  std::vector<LinkRow> levels;  ///< fat tree: by switch and uplink
  friend bool operator==(const NetworkLinks&, const NetworkLinks&) = default;
};

/// A platform with every device, host and link resolved. Made by `build_platform`, then never changed.
struct MembersOfGroups;

struct Platform {
  PlatformSpec spec;
  IndexVector<DeviceId, Device> devices;
  IndexVector<HostId, Host> hosts;
  IndexVector<LinkId, Link> links;
  IndexVector<NodeId, Node> nodes;                                      ///< node form
  NetworkLinks network;                                                 ///< node form
  std::map<std::pair<DeviceId, DeviceId>, std::vector<LinkId>> routes;  ///< explicit form, both directions
  std::string precision = kPlainPrecision;                              ///< in which the speeds of `spec` hold
  /// Where its devices stand for groups of another platform's, and it is known how these exchange parameters.
  std::shared_ptr<const MembersOfGroups> members = {};
  friend bool operator==(const Platform&, const Platform&) = default;

  [[nodiscard]] std::size_t place_count() const { return devices.size() + hosts.size(); }
  [[nodiscard]] PlaceId place(DeviceId device) const { return PlaceId(device.value()); }
  [[nodiscard]] PlaceId place(HostId host) const { return PlaceId(devices.size() + host.value()); }
  [[nodiscard]] bool is_device(PlaceId place) const { return place.value() < devices.size(); }
  [[nodiscard]] DeviceId device(PlaceId place) const { return DeviceId(place.value()); }
  [[nodiscard]] HostId host(PlaceId place) const { return HostId(place.value() - devices.size()); }
  [[nodiscard]] const std::string& place_name(PlaceId p) const {
    return is_device(p) ? devices[device(p)].name : hosts[host(p)].name;
  }
  [[nodiscard]] const DeviceKind& kind(DeviceId device) const { return spec.device_kinds[devices[device].kind]; }
  [[nodiscard]] Bytes memory(DeviceId device) const { return devices[device].memory.value_or(kind(device).memory); }
  /// The bytes that a plan may use on a device: its memory less what is reserved.
  [[nodiscard]] Bytes capacity(DeviceId device) const { return usable_of(device, memory(device)); }
  /// The same, if the device has that memory.
  [[nodiscard]] Bytes usable_of(DeviceId device, Bytes memory) const {
    return std::max(Bytes(0), memory - kind(device).reserved);
  }
};

/// Links that `build_platform` would make; a reader refuses a file that asks for too many.
[[nodiscard]] std::uint64_t count_links(const NodeForm& form);

/// **Requires** a spec whose references and counts are valid (the reader checks them).
/// **Cost** O(devices + links).
[[nodiscard]] Platform build_platform(PlatformSpec spec);

/// The names of its nodes: `node0 …`, or those that devices give in the explicit form; none if they give none. An
/// events file calls devices after them.
[[nodiscard]] IndexVector<NodeId, std::string> node_names(const Platform& platform);

/// Finds the route from one place to another; false if the two are not connected. `into` is overwritten; reusing it
/// avoids allocations. A device and its own host are connected by the host link or the node's PCIe tree. If from == to,
/// the route is empty.
/// **Cost** O(links on the route), O(log pairs) in the explicit form.
[[nodiscard]] bool find_route(const Platform& platform, PlaceId from, PlaceId to, Route& into);
/// The same for a leg of a way from one device to another through host memory. The links of `BetweenHosts` are those of
/// the direct route without the ones inside the nodes, and none if both devices have the same host; in the explicit
/// form they are those of the direct route. **Requires** two devices with hosts, unless the leg is `Whole`.
[[nodiscard]] bool find_route(const Platform& platform, PlaceId from, PlaceId to, Leg leg, Route& into);

/// The places between which a leg moves bytes: the two ends of the way, or their hosts. **Requires** as `find_route`.
[[nodiscard]] std::pair<PlaceId, PlaceId> ends_of(const Platform& platform, PlaceId from, PlaceId to, Leg leg);

/// A level of PipeDream's hierarchy: `count` members of the level below, joined at `bandwidth`.
struct Level {
  std::uint32_t count = 1;
  BytesPerSecond bandwidth;
  std::optional<BytesPerSecond> boundary = std::nullopt;  ///< of boundary tensors, if they do not get `bandwidth`
  [[nodiscard]] BytesPerSecond boundary_bandwidth() const { return boundary.value_or(bandwidth); }
  friend bool operator==(const Level&, const Level&) = default;
};

/// Innermost first; a level with one member is left out (docs/reference/formats/platform.md). An explicit or
/// heterogeneous platform is one level at the smallest pair bandwidth. Empty for a single device.
/// **Throws** InputError if the devices are not all connected.
[[nodiscard]] std::vector<Level> levels(const Platform& platform);

/// What each forward and each backward takes on the device beside its layers' times: that of its kind, times its
/// slowdown.
[[nodiscard]] inline Seconds pass_overhead(const Platform& platform, DeviceId device) {
  return platform.kind(device).pass_overhead * platform.devices[device].slowdown;
}

/// The factor from a profile's times to those on the device: its slowdown, times speed(profile's device) / speed(its
/// kind) unless that is the same kind; none if the platform does not give both speeds.
[[nodiscard]] std::optional<double> time_factor(const Platform& platform, const std::string& profile_device,
                                                DeviceId device);

/// The same. **Throws** InputError asking for `--speed` where it is not known.
[[nodiscard]] double require_time_factor(const Platform& platform, const std::string& profile_device, DeviceId device);

/// The words of a platform file: `switch`, `cube-mesh`, `fat-tree`, …; a torus of one dimension is a `ring`.
[[nodiscard]] const char* type_name(const Interconnect& interconnect);
[[nodiscard]] const char* type_name(const Network& network);

}  // namespace stagecraft
