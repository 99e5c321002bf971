#pragma once

#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/origin.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace stagecraft {

enum class Duplex { Full, Half };
enum class Sharing { Fair, Exclusive };

/// How the tensor of a stage boundary gets from one device to another (docs/reference/formats/platform.md).
enum class Transport {
  Direct,  ///< from device to device
  Host,    ///< first a copy to host memory, then from host to host, then a copy to the device
};

struct LinkSpec {
  BytesPerSecond bandwidth;
  Seconds latency;
  Duplex duplex = Duplex::Full;
  Sharing sharing = Sharing::Fair;
  friend bool operator==(const LinkSpec&, const LinkSpec&) = default;
};
/// How many links such a link is: one in each direction, or one for both.
[[nodiscard]] inline std::uint64_t directions(const LinkSpec& link) { return link.duplex == Duplex::Half ? 1 : 2; }

struct DeviceKind {
  std::string name;
  Bytes memory;
  std::optional<double> speed;                      ///< relative to the platform's other kinds; absent: not known
  Bytes reserved;                                   ///< counts against `memory`
  std::optional<BytesPerSecond> update_bandwidth;   ///< of the optimizer step; absent: the step takes no time
  std::map<std::string, double> other_speeds = {};  ///< `speed` in other precisions than `kPlainPrecision`
  Seconds pass_overhead = {};        ///< that each forward and each backward of a stage takes beside its layers' times
  Seconds update_overhead = {};      ///< that each update on a device takes beside the bytes of its step
  std::optional<double> price = {};  ///< of a device and hour, in any currency; absent: not known
  /// Path, from the platform file's folder, of the device file by which networks are computed for this kind; empty: the
  /// catalogue.
  std::string device_file = {};
  friend bool operator==(const DeviceKind&, const DeviceKind&) = default;
};

struct HostSpec {
  Bytes memory;
  std::optional<LinkSpec> link;  ///< absent: swapped tensors take the node's PCIe tree
  std::uint32_t shared_by = 1;   ///< devices that share one physical host link
  friend bool operator==(const HostSpec&, const HostSpec&) = default;
};

/// Every device has a link to one switch, which is never the bottleneck.
struct SwitchedNode {
  friend bool operator==(const SwitchedNode&, const SwitchedNode&) = default;
};

/// Every pair of devices has a link of its own.
struct FullNode {
  friend bool operator==(const FullNode&, const FullNode&) = default;
};

/// Each device has a link to the next, and the last to the first. Routes go the shorter way round; if both are equal,
/// in the direction of increasing numbers.
struct RingNode {
  friend bool operator==(const RingNode&, const RingNode&) = default;
};

/// NVIDIA's hybrid cube mesh of eight devices. Devices 0 to 3 are all linked with each other, so are 4 to 7, and i with
/// i + 4. The routes of other pairs go over one device in between, first inside the sender's quad.
/// **Source** NVIDIA DGX-1 System Architecture white paper, WP-08437-001.
struct CubeMeshNode {
  std::vector<std::pair<std::uint32_t, std::uint32_t>>
      doubled;  ///< pairs that have two links, as one of twice the width
  friend bool operator==(const CubeMeshNode&, const CubeMeshNode&) = default;
};

/// Devices are attached to PCIe switches, switches to sockets, and all sockets are linked with each other. Host memory
/// and the node's NIC can be reached from every socket.
struct PcieNode {
  std::uint32_t devices_per_switch = 1;
  LinkSpec uplink;                        ///< of a switch to its socket
  std::uint32_t switches_per_socket = 0;  ///< 0: all of them
  LinkSpec socket_link;                   ///< of two sockets; unused with a single one
  friend bool operator==(const PcieNode&, const PcieNode&) = default;
};

/// The links between the devices of one node.
struct Interconnect {
  std::variant<SwitchedNode, FullNode, RingNode, CubeMeshNode, PcieNode> shape;
  LinkSpec link;  ///< of a device (`SwitchedNode`, `PcieNode`) or of a pair
  friend bool operator==(const Interconnect&, const Interconnect&) = default;
};

struct NicSpec {
  LinkSpec link;
  bool per_device = false;      ///< NICs of the devices instead of one for the node
  std::uint32_t shared_by = 1;  ///< `per_device`: neighbouring devices that share one NIC; divides the node's devices
  friend bool operator==(const NicSpec&, const NicSpec&) = default;
};

struct NodeKind {
  std::string name;
  DeviceKindId device_kind;
  std::uint32_t device_count = 1;
  std::optional<Interconnect> interconnect;  ///< absent: the node's devices are not connected inside it
  std::optional<HostSpec> host;              ///< absent: nothing can be swapped there
  std::optional<NicSpec> nic;                ///< absent: the node is not connected to others
  friend bool operator==(const NodeKind&, const NodeKind&) = default;
};

struct NodeGroup {
  NodeKindId kind;
  std::uint32_t count = 1;
  friend bool operator==(const NodeGroup&, const NodeGroup&) = default;
};

/// One switch, which is never the bottleneck.
struct SwitchedNetwork {
  std::optional<LinkSpec> port;  ///< of a node, behind its NICs; absent: as wide as these
  friend bool operator==(const SwitchedNetwork&, const SwitchedNetwork&) = default;
};

/// Every pair of nodes has a link of its own.
struct FullNetwork {
  LinkSpec link;
  friend bool operator==(const FullNetwork&, const FullNetwork&) = default;
};

/// Nodes in a grid whose rows are closed to rings; a torus of one size is a ring. The first dimension varies fastest
/// with the node's number. Routes go dimension by dimension, in each the shorter way round; if both are equal, in the
/// direction of increasing numbers.
struct TorusNetwork {
  std::vector<std::uint32_t> sizes;  ///< their product is the number of nodes
  LinkSpec link;                     ///< of two neighbours
  friend bool operator==(const TorusNetwork&, const TorusNetwork&) = default;
};

/// Switches of one level of a fat tree, each with `children` nodes or switches of the level below.
struct FatTreeLevel {
  std::uint32_t children = 1;
  double oversubscription = 1.0;  ///< bandwidth of all children over that of all uplinks
  std::uint32_t uplinks = 1;      ///< that share this bandwidth equally; a pair of devices always takes the same one
  Seconds latency;                ///< of an uplink
  friend bool operator==(const FatTreeLevel&, const FatTreeLevel&) = default;
};

/// Levels from the nodes up. The switches of the last are joined by a core that is never the bottleneck.
struct FatTreeNetwork {
  std::vector<FatTreeLevel> levels;
  std::optional<LinkSpec> port;  ///< of a node, behind its NICs; absent: as wide as these
  friend bool operator==(const FatTreeNetwork&, const FatTreeNetwork&) = default;
};

/// Routers in groups. Inside a group all routers are linked with each other. Each pair of groups has one global link;
/// the global links of a group are assigned to its routers in turn, in the order of the other groups. Routes are
/// minimal: local, global, local.
/// **Source** J. Kim, W. Dally, S. Scott, D. Abts, "Technology-Driven, Highly-Scalable Dragonfly Topology", ISCA 2008.
struct DragonflyNetwork {
  std::uint32_t routers_per_group = 1;
  std::uint32_t nodes_per_router = 1;
  LinkSpec local_link;
  LinkSpec global_link;
  friend bool operator==(const DragonflyNetwork&, const DragonflyNetwork&) = default;
};

/// The NICs of the same number of all nodes are a rail: they hang on one leaf switch. All leaf switches hang on a
/// spine, which is never the bottleneck. Routes between NICs of different numbers go over it.
struct RailsNetwork {
  LinkSpec uplink;  ///< of a leaf switch
  friend bool operator==(const RailsNetwork&, const RailsNetwork&) = default;
};

/// The network between the nodes' NICs.
using Network =
    std::variant<SwitchedNetwork, FullNetwork, TorusNetwork, FatTreeNetwork, DragonflyNetwork, RailsNetwork>;

/// A cluster of nodes: devices `gpu0 …` node-major, hosts `host0 …`.
struct NodeForm {
  IndexVector<NodeKindId, NodeKind> node_kinds;
  std::vector<NodeGroup> groups;
  Network network;
  friend bool operator==(const NodeForm&, const NodeForm&) = default;
};

struct ExplicitDevice {
  std::string name;
  DeviceKindId kind;
  std::optional<HostSpec> host;  ///< a host of the device's own
  NodeId node = NodeId::none();  ///< in `ExplicitForm::nodes`; all devices have one, or none has
  friend bool operator==(const ExplicitDevice&, const ExplicitDevice&) = default;
};

/// Where a link of the explicit form ends.
using ExplicitEnd = std::variant<DeviceId, SwitchId>;

/// A link between two devices or switches, or a named one that routes refer to.
struct ExplicitLink {
  std::string name;  ///< empty: named after its ends
  std::optional<std::pair<ExplicitEnd, ExplicitEnd>> between;
  LinkSpec link;
  friend bool operator==(const ExplicitLink&, const ExplicitLink&) = default;
};

struct ExplicitRoute {
  DeviceId from;
  DeviceId to;
  std::vector<std::size_t> links;  ///< positions in `ExplicitForm::links`, in the order travelled from `from`
  friend bool operator==(const ExplicitRoute&, const ExplicitRoute&) = default;
};

/// Arbitrary connectivity. Two devices are connected by the link between them, or by their route, or by the shortest
/// way over switches, or by the default. No routes over other devices are derived.
struct ExplicitForm {
  IndexVector<DeviceId, ExplicitDevice> devices;
  std::vector<ExplicitLink> links;
  std::vector<ExplicitRoute> routes;
  std::optional<LinkSpec> default_link;  ///< for every pair that is not connected otherwise, each a link of its own
  IndexVector<SwitchId, std::string> switches = {};  ///< names; never the bottleneck themselves
  IndexVector<NodeId, std::string> nodes = {};       ///< names, in the order in which devices give them
  friend bool operator==(const ExplicitForm&, const ExplicitForm&) = default;
};

/// How devices sum up their gradients (docs/reference/formats/platform.md).
struct CollectiveSpec {
  enum class Algorithm { Auto, Ring, Hierarchical };
  Algorithm algorithm = Algorithm::Auto;
  /// Share of the bandwidth of its links that a collective reaches.
  double efficiency = 1.0;
  /// The share between devices of different nodes; absent: the same.
  std::optional<double> network_efficiency = std::nullopt;
  /// Absent: as many as a node has cards.
  std::optional<std::int64_t> rings = std::nullopt;
  /// Measured bandwidth (the "bus bandwidth" of nccl-tests) by size of an all-reduce, increasing; empty: links decide.
  std::vector<std::pair<Bytes, BytesPerSecond>> table = {};
  Seconds latency = {};  ///< of an all-reduce inside a node, beside its flows
  double overlap = 0.0;  ///< part of the time of a tensor group's all-gathers and reduce-scatters, beside products
  friend bool operator==(const CollectiveSpec&, const CollectiveSpec&) = default;
};

/// Where the numbers of a platform come from. Where they differ, that of the least sure one.
struct PlatformOrigins {
  Origin links = Origin::Assumed;        ///< their bandwidths
  Origin collectives = Origin::Assumed;  ///< what an all-reduce reaches of its links
  Origin updates = Origin::Assumed;      ///< the bandwidth of updates
  friend bool operator==(const PlatformOrigins&, const PlatformOrigins&) = default;
};

/// The content of a platform file, before it is resolved.
struct PlatformSpec {
  std::string name;
  IndexVector<DeviceKindId, DeviceKind> device_kinds;
  std::variant<NodeForm, ExplicitForm> form;
  Transport transport = Transport::Direct;
  CollectiveSpec collectives = {};
  PlatformOrigins origins = {};
  std::map<std::string, double> speeds;  ///< given by the user for kinds (`--speed`); they replace those of the file
  friend bool operator==(const PlatformSpec&, const PlatformSpec&) = default;
};

}  // namespace stagecraft
