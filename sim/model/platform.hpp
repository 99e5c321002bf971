#pragma once

#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"

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
enum class InterconnectType { Switch, Full, Ring, CubeMesh, Pcie };
enum class NetworkType { Switch, Full, Ring, Torus, FatTree, Dragonfly };

struct LinkSpec {
  BytesPerSecond bandwidth;
  Seconds latency;
  Duplex duplex = Duplex::Full;
  Sharing sharing = Sharing::Fair;
  friend bool operator==(const LinkSpec&, const LinkSpec&) = default;
};

struct DeviceKind {
  std::string name;
  Bytes memory;
  std::optional<double> speed;                     ///< relative to the platform's other kinds; absent: not known
  Bytes reserved;                                  ///< counts against `memory`
  std::optional<BytesPerSecond> update_bandwidth;  ///< of the optimizer step; absent: the step costs nothing
  friend bool operator==(const DeviceKind&, const DeviceKind&) = default;
};

struct HostSpec {
  Bytes memory;
  LinkSpec link;
  std::uint32_t shared_by = 1;  ///< devices that share one physical host link
  friend bool operator==(const HostSpec&, const HostSpec&) = default;
};

struct Interconnect {
  InterconnectType type = InterconnectType::Switch;
  LinkSpec link;
  friend bool operator==(const Interconnect&, const Interconnect&) = default;
};

struct NicSpec {
  LinkSpec link;
  bool per_device = false;  ///< one NIC for each device instead of one for the node
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

/// A cluster of nodes: devices `gpu0 …` node-major, hosts `host0 …`.
struct NodeForm {
  IndexVector<NodeKindId, NodeKind> node_kinds;
  std::vector<NodeGroup> groups;
  NetworkType network = NetworkType::Switch;
  friend bool operator==(const NodeForm&, const NodeForm&) = default;
};

struct ExplicitDevice {
  std::string name;
  DeviceKindId kind;
  std::optional<HostSpec> host;  ///< a host of the device's own
  friend bool operator==(const ExplicitDevice&, const ExplicitDevice&) = default;
};

/// A link between two devices, or a named one that routes refer to.
struct ExplicitLink {
  std::string name;  ///< empty: named after its devices
  std::optional<std::pair<DeviceId, DeviceId>> between;
  LinkSpec link;
  friend bool operator==(const ExplicitLink&, const ExplicitLink&) = default;
};

struct ExplicitRoute {
  DeviceId from;
  DeviceId to;
  std::vector<std::size_t> links;  ///< positions in `ExplicitForm::links`, in the order travelled from `from`
  friend bool operator==(const ExplicitRoute&, const ExplicitRoute&) = default;
};

/// Arbitrary connectivity: no multi-hop routing is invented.
struct ExplicitForm {
  IndexVector<DeviceId, ExplicitDevice> devices;
  std::vector<ExplicitLink> links;
  std::vector<ExplicitRoute> routes;
  std::optional<LinkSpec> default_link;  ///< for every pair with neither link nor route, each a link of its own
  friend bool operator==(const ExplicitForm&, const ExplicitForm&) = default;
};

/// What a platform file says, before it is resolved.
struct PlatformSpec {
  std::string name;
  IndexVector<DeviceKindId, DeviceKind> device_kinds;
  std::variant<NodeForm, ExplicitForm> form;
  std::map<std::string, double> speeds;  ///< given by the user for kinds (`--speed`); they come before the file's
  friend bool operator==(const PlatformSpec&, const PlatformSpec&) = default;
};

struct Device {
  std::string name;
  DeviceKindId kind;
  NodeId node;       ///< none in the explicit form
  HostId host;       ///< none where nothing can be swapped
  LinkId to_host;    ///< device to host memory
  LinkId from_host;  ///< host memory to device; the same link when it is half duplex
  friend bool operator==(const Device&, const Device&) = default;
};

struct Host {
  std::string name;
  Bytes memory;
  friend bool operator==(const Host&, const Host&) = default;
};

/// One physical link in one direction, or in both when it is half duplex: what transfers share.
struct Link {
  std::string name;
  BytesPerSecond bandwidth;
  Seconds latency;
  Sharing sharing = Sharing::Fair;
  friend bool operator==(const Link&, const Link&) = default;
};

/// The links a transfer crosses, in order, and the sum of their latencies.
struct Route {
  std::vector<LinkId> links;
  Seconds latency;
  friend bool operator==(const Route&, const Route&) = default;
};

struct Node {
  NodeKindId kind;
  DeviceId first_device;
  HostId host;
  LinkId first_interconnect_link;  ///< device i: up = first + 2i, down = first + 2i + 1 (half duplex: first + i)
  LinkId first_nic_link;           ///< NIC i: up, down likewise
  friend bool operator==(const Node&, const Node&) = default;
};

/// A platform with every device, host and link resolved. Made by `build_platform`, then never changed.
struct Platform {
  PlatformSpec spec;
  IndexVector<DeviceId, Device> devices;
  IndexVector<HostId, Host> hosts;
  IndexVector<LinkId, Link> links;
  IndexVector<NodeId, Node> nodes;                                      ///< node form
  std::map<std::pair<DeviceId, DeviceId>, std::vector<LinkId>> routes;  ///< explicit form, both directions
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
  /// Bytes a plan may use on a device: its memory less what is reserved.
  [[nodiscard]] Bytes capacity(DeviceId device) const { return kind(device).memory - kind(device).reserved; }
};

/// **Requires** a spec whose references are valid (the reader checks them).
/// **Throws** InputError for a form that is not supported yet.
[[nodiscard]] Platform build_platform(PlatformSpec spec);

/// The way from one place to another; false if the two are not connected. `into` is overwritten, and reused so that
/// repeated calls do not allocate. A device and its own host are connected by the host link; from == to is an empty
/// route.
/// **Cost** O(links on the route), O(log pairs) in the explicit form.
[[nodiscard]] bool find_route(const Platform& platform, PlaceId from, PlaceId to, Route& into);

/// Bandwidth of a pair as planners see it: the smallest on its route, latency apart; none if unconnected.
[[nodiscard]] std::optional<BytesPerSecond> pair_bandwidth(const Platform& platform, DeviceId a, DeviceId b);

/// The smallest bandwidth over all pairs of devices; none if a pair is unconnected or there is only one device.
/// **Cost** O(node kinds²) in the node form, O(devices²) in the explicit form.
[[nodiscard]] std::optional<BytesPerSecond> smallest_pair_bandwidth(const Platform& platform);

/// A level of PipeDream's hierarchy: `count` members of the level below, joined at `bandwidth`.
struct Level {
  std::uint32_t count = 1;
  BytesPerSecond bandwidth;
  friend bool operator==(const Level&, const Level&) = default;
};

/// Innermost first; a level with one member is left out (contract, section 3). An explicit or heterogeneous platform is
/// one level at the smallest pair bandwidth. Empty for a single device.
/// **Throws** InputError if the devices are not all connected.
[[nodiscard]] std::vector<Level> levels(const Platform& platform);

/// Factor by which a profile's times grow on `kind`: speed(profile's device) / speed(kind); 1 on the same kind; none if
/// the platform does not tell both speeds.
[[nodiscard]] std::optional<double> time_factor(const Platform& platform, const std::string& profile_device,
                                                DeviceKindId kind);

/// The same for a device. **Throws** InputError asking for `--speed` where it is not known.
[[nodiscard]] double require_time_factor(const Platform& platform, const std::string& profile_device, DeviceId device);

[[nodiscard]] const char* to_string(InterconnectType type);
[[nodiscard]] const char* to_string(NetworkType type);

}  // namespace stagecraft
