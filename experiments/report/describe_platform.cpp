#include "experiments/report/description.hpp"
#include "experiments/report/table.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <algorithm>

namespace stagecraft {
namespace {

constexpr std::size_t kMostLinks = 40;   ///< listed for people; JSON has all
constexpr std::size_t kMostRoutes = 40;  ///< likewise

/// Places next to each other that are reached in the same way.
struct RouteGroup {
  PlaceId first;
  PlaceId last;
  Route route;  ///< to the first
  bool connected = false;
  BytesPerSecond bandwidth;
};

BytesPerSecond narrowest(const Platform& platform, const Route& route) {
  BytesPerSecond least{0};
  for (LinkId link : route.links) {
    const BytesPerSecond bandwidth = platform.links[link].bandwidth;
    if (least == BytesPerSecond(0) || bandwidth < least) least = bandwidth;
  }
  return least;
}

bool is_alike(const RouteGroup& a, const RouteGroup& b) {
  return a.connected == b.connected && a.bandwidth == b.bandwidth && a.route.latency == b.route.latency &&
         a.route.links.size() == b.route.links.size();
}

/// The ways from the first device to every other device, and to its host.
std::vector<RouteGroup> routes_from_first(const Platform& platform) {
  std::vector<RouteGroup> groups;
  const DeviceId start(0);
  for (std::size_t i = 1; i < platform.place_count(); ++i) {
    const PlaceId place(i);
    const bool is_own_host = !platform.is_device(place) && platform.host(place) == platform.devices[start].host;
    if (!platform.is_device(place) && !is_own_host) continue;
    RouteGroup group{place, place, {}, false, BytesPerSecond(0)};
    group.connected = find_route(platform, platform.place(start), place, group.route);
    if (group.connected) group.bandwidth = narrowest(platform, group.route);
    const bool joins = !groups.empty() && platform.is_device(place) && is_alike(groups.back(), group);
    if (joins) {
      groups.back().last = place;
    } else {
      groups.push_back(std::move(group));
    }
  }
  return groups;
}

std::string links_text(const Platform& platform, const Route& route) {
  std::string text;
  for (LinkId link : route.links) text += (text.empty() ? "" : ", ") + platform.links[link].name;
  return text.empty() ? "-" : text;
}

std::string kinds_table(const Platform& platform) {
  Table table{{"device kind", "devices", "memory", "reserved", "speed", "update"}, {}};
  for (DeviceKindId id : indices(platform.spec.device_kinds)) {
    const DeviceKind& kind = platform.spec.device_kinds[id];
    const auto count = std::ranges::count(platform.devices.items(), id, &Device::kind);
    table.rows.push_back({kind.name, std::to_string(count), format_human_bytes(kind.memory),
                          format_human_bytes(kind.reserved), kind.speed ? short_number(*kind.speed) : "not known",
                          kind.update_bandwidth ? format_human_bandwidth(*kind.update_bandwidth) : "free"});
  }
  return to_text(table);
}

std::string routes_table(const Platform& platform, const std::vector<RouteGroup>& groups) {
  if (groups.empty()) return "";
  Table table{{"from " + platform.devices[DeviceId(0)].name + " to", "bandwidth", "latency", "links (to the first)"},
              {}};
  for (const RouteGroup& group : groups) {
    if (table.rows.size() == kMostRoutes) break;
    const std::string& first = platform.place_name(group.first);
    table.rows.push_back({group.first == group.last ? first : first + " .. " + platform.place_name(group.last),
                          group.connected ? format_human_bandwidth(group.bandwidth) : "not connected",
                          group.connected ? format_human_seconds(group.route.latency) : "-",
                          links_text(platform, group.route)});
  }
  const std::size_t others = groups.size() - table.rows.size();
  return "\n" + to_text(table) + (others > 0 ? "and " + std::to_string(others) + " more (--json has all)\n" : "");
}

std::string links_table(const Platform& platform) {
  Table table{{"link", "bandwidth", "latency", "sharing"}, {}};
  for (const Link& link : platform.links) {
    if (table.rows.size() == kMostLinks) break;
    table.rows.push_back({link.name, format_human_bandwidth(link.bandwidth), format_human_seconds(link.latency),
                          link.sharing == Sharing::Exclusive ? "exclusive" : "fair"});
  }
  const std::size_t others = platform.links.size() - table.rows.size();
  return "\n" + to_text(table) + (others > 0 ? "and " + std::to_string(others) + " more (--json has all)\n" : "");
}

/// None where some devices are not connected.
std::optional<std::vector<Level>> known_levels(const Platform& platform) {
  if (platform.devices.size() > 1 && !smallest_pair_bandwidth(platform)) return std::nullopt;
  return levels(platform);
}

std::string levels_text(const std::optional<std::vector<Level>>& known) {
  if (!known) return "levels: none, some devices are not connected\n";
  std::string text;
  for (const Level& level : *known) {
    text += (text.empty() ? "" : ", then ") + std::to_string(level.count) + " at " +
            format_human_bandwidth(level.bandwidth);
  }
  return "levels: " + (text.empty() ? "none, a single device" : text) + "\n";
}

Detail levels_list(const std::optional<std::vector<Level>>& known) {
  if (!known) return {};
  Detail::List list;
  for (const Level& level : *known) {
    list.emplace_back(
        Detail::Record{{"count", std::int64_t{level.count}}, {"bandwidth_bytes_per_s", level.bandwidth.value()}});
  }
  return list;
}

Detail::List devices_list(const Platform& platform) {
  Detail::List list;
  for (DeviceId id : indices(platform.devices)) {
    const Device& device = platform.devices[id];
    const DeviceKind& kind = platform.kind(id);
    list.emplace_back(
        Detail::Record{{"name", device.name},
                       {"kind", kind.name},
                       {"node", device.node.is_none() ? Detail() : Detail(std::int64_t{device.node.value()})},
                       {"host", device.host.is_none() ? Detail() : Detail(platform.hosts[device.host].name)},
                       {"memory_bytes", kind.memory.value()},
                       {"usable_bytes", platform.capacity(id).value()},
                       {"speed", kind.speed ? Detail(*kind.speed) : Detail()}});
  }
  return list;
}

Detail::List links_list(const Platform& platform) {
  Detail::List list;
  for (const Link& link : platform.links) {
    list.emplace_back(Detail::Record{{"name", link.name},
                                     {"bandwidth_bytes_per_s", link.bandwidth.value()},
                                     {"latency_s", link.latency.value()},
                                     {"sharing", link.sharing == Sharing::Exclusive ? "exclusive" : "fair"}});
  }
  return list;
}

Detail::List routes_list(const Platform& platform, const std::vector<RouteGroup>& groups) {
  Detail::List list;
  for (const RouteGroup& group : groups) {
    Detail::List links;
    for (LinkId link : group.route.links) links.emplace_back(platform.links[link].name);
    list.emplace_back(
        Detail::Record{{"from", platform.devices[DeviceId(0)].name},
                       {"to", platform.place_name(group.first)},
                       {"to_last", platform.place_name(group.last)},
                       {"connected", group.connected},
                       {"bandwidth_bytes_per_s", group.connected ? Detail(group.bandwidth.value()) : Detail()},
                       {"latency_s", group.connected ? Detail(group.route.latency.value()) : Detail()},
                       {"links", std::move(links)}});
  }
  return list;
}

}  // namespace

Description describe_platform(const Platform& platform) {
  const std::vector<RouteGroup> groups = routes_from_first(platform);
  const std::optional<std::vector<Level>> known = known_levels(platform);
  const std::optional<BytesPerSecond> smallest = smallest_pair_bandwidth(platform);
  const std::string nodes = platform.nodes.empty() ? "" : " on " + std::to_string(platform.nodes.size()) + " nodes";
  const std::string head =
      "platform " + platform.spec.name + ": " + std::to_string(platform.devices.size()) + " devices" + nodes + ", " +
      std::to_string(platform.links.size()) + " links\n" + levels_text(known) +
      (smallest ? "smallest bandwidth of a pair: " + format_human_bandwidth(*smallest) + "\n" : "");
  Detail::Record record{{"kind", "platform"},
                        {"name", platform.spec.name},
                        {"nodes", static_cast<std::int64_t>(platform.nodes.size())},
                        {"levels", levels_list(known)},
                        {"smallest_pair_bandwidth_bytes_per_s", smallest ? Detail(smallest->value()) : Detail()},
                        {"devices", devices_list(platform)},
                        {"links", links_list(platform)},
                        {"routes", routes_list(platform, groups)}};
  return {head + "\n" + kinds_table(platform) + routes_table(platform, groups) + links_table(platform),
          std::move(record)};
}

}  // namespace stagecraft
