#include "experiments/view/description.hpp"
#include "experiments/view/platform_words.hpp"
#include "experiments/view/table.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"
#include "sim/base/short_number.hpp"
#include "sim/base/text.hpp"
#include "sim/model/bandwidths.hpp"
#include "sim/model/bisection.hpp"
#include "sim/schedule/all_reduce.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <tuple>

namespace stagecraft {
namespace {

constexpr std::size_t kMostRows = 40;  ///< rows of a table in the text; JSON has all

/// Places with equally good routes from the first device: same bandwidth, latency and number of links.
struct RouteGroup {
  PlaceId first;
  PlaceId last;
  std::uint32_t count = 0;
  Route route;  ///< to the first
  bool connected = false;
  BytesPerSecond bandwidth;
};

/// The routes from the first device to every other device, in the order of their numbers, and then to its host.
std::vector<RouteGroup> routes_from_first(const Platform& platform) {
  std::vector<RouteGroup> groups;
  std::map<std::tuple<bool, bool, double, double, std::size_t>, std::size_t> known;
  const DeviceId start(0);
  Route route;
  for (std::size_t i = 1; i < platform.place_count(); ++i) {
    const PlaceId place(i);
    const bool is_device = platform.is_device(place);
    if (!is_device && platform.host(place) != platform.devices[start].host) continue;
    const bool connected = find_route(platform, platform.place(start), place, route);
    const BytesPerSecond bandwidth = narrowest_bandwidth(platform, route).value_or(BytesPerSecond(0));
    const auto [at, is_new] = known.try_emplace(
        {is_device, connected, bandwidth.value(), route.latency.value(), route.links.size()}, groups.size());
    if (is_new) groups.push_back({place, place, 0, route, connected, bandwidth});
    groups[at->second].last = place;
    ++groups[at->second].count;
  }
  return groups;
}

/// `gpu1`, `gpu1 .. gpu7` or, with others in between, `gpu1 and 62 others`.
std::string members_text(const Platform& platform, const RouteGroup& group) {
  const std::string& first = platform.place_name(group.first);
  if (group.count == 1) return first;
  const bool is_range = group.last.value() - group.first.value() + 1 == group.count;
  if (is_range) return first + " .. " + platform.place_name(group.last);
  return first + " and " + std::to_string(group.count - 1) + (group.count == 2 ? " other" : " others");
}

std::string links_text(const Platform& platform, const Route& route) {
  std::string text;
  for (LinkId link : route.links) text += (text.empty() ? "" : ", ") + platform.links[link].name;
  return text.empty() ? "-" : text;
}

/// The table with the number of the rows that were left out, if any.
std::string cut_table(const Table& table, std::size_t row_count) {
  const std::size_t others = row_count - table.rows.size();
  return "\n" + to_text(table) + (others > 0 ? "and " + std::to_string(others) + " more (--json has all)\n" : "");
}

/// A column of the table of kinds that is shown where some kind has it.
struct KindColumn {
  const char* header;
  bool (*is_given)(const DeviceKind& kind);
  std::string (*cell)(const DeviceKind& kind);
};

bool has_overheads(const DeviceKind& kind) {
  return kind.pass_overhead > Seconds(0) || kind.update_overhead > Seconds(0);
}

std::string overhead_text(Seconds time) { return time > Seconds(0) ? "+" + format_human_seconds(time) : "-"; }

constexpr std::array<KindColumn, 4> kRareColumns = {
    {{"each pass", has_overheads, [](const DeviceKind& kind) { return overhead_text(kind.pass_overhead); }},
     {"each update", has_overheads, [](const DeviceKind& kind) { return overhead_text(kind.update_overhead); }},
     {"price/h", [](const DeviceKind& kind) { return kind.price.has_value(); },
      [](const DeviceKind& kind) { return kind.price ? short_number(*kind.price) : "not known"; }},
     {"device file", [](const DeviceKind& kind) { return !kind.device_file.empty(); },
      [](const DeviceKind& kind) { return kind.device_file.empty() ? "-" : kind.device_file; }}}};

std::string kinds_table(const Platform& platform) {
  const auto& kinds = platform.spec.device_kinds;
  std::vector<const KindColumn*> rare;
  for (const KindColumn& column : kRareColumns) {
    if (std::ranges::any_of(kinds.items(), column.is_given)) rare.push_back(&column);
  }
  Table table{{"device kind", "devices", "memory", "reserved", "speed", "update"}, {}};
  for (const KindColumn* column : rare) table.header.emplace_back(column->header);
  for (DeviceKindId id : indices(kinds)) {
    const DeviceKind& kind = kinds[id];
    const auto count = std::ranges::count(platform.devices.items(), id, &Device::kind);
    table.rows.push_back({kind.name, std::to_string(count), format_human_bytes(kind.memory),
                          format_human_bytes(kind.reserved), kind.speed ? short_number(*kind.speed) : "not known",
                          kind.update_bandwidth ? format_human_bandwidth(*kind.update_bandwidth) : "free"});
    for (const KindColumn* column : rare) table.rows.back().push_back(column->cell(kind));
  }
  return to_text(table);
}

std::string routes_table(const Platform& platform, const std::vector<RouteGroup>& groups) {
  if (groups.empty()) return "";
  Table table{{"from " + platform.devices[DeviceId(0)].name + " to", "bandwidth", "latency", "links (to the first)"},
              {}};
  for (const RouteGroup& group : groups) {
    if (table.rows.size() == kMostRows) break;
    table.rows.push_back(
        {members_text(platform, group), group.connected ? format_human_bandwidth(group.bandwidth) : "not connected",
         group.connected ? format_human_seconds(group.route.latency) : "-", links_text(platform, group.route)});
  }
  return cut_table(table, groups.size());
}

/// Whether the link can never be the bottleneck, because the links nearer to the devices cannot fill it.
bool is_never_full(const Link& link) { return link.load_limit <= link.bandwidth; }

/// The name with `*` in place of each number, which is the same for all links of one kind.
std::string pattern_of(const std::string& name) {
  std::string pattern;
  for (char c : name) {
    const bool is_digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (is_digit && pattern.ends_with('*')) continue;
    pattern += is_digit ? '*' : c;
  }
  return pattern;
}

struct LinkGroup {
  std::string name;  ///< the link's name, or a pattern if there are several
  std::size_t count = 0;
  const Link* first = nullptr;
};

std::vector<LinkGroup> link_groups(const Platform& platform) {
  std::vector<LinkGroup> groups;
  std::map<std::tuple<std::string, double, double, Sharing, bool>, std::size_t> known;
  for (const Link& link : platform.links) {
    std::string pattern = pattern_of(link.name);
    const auto [at, is_new] = known.try_emplace(
        {pattern, link.bandwidth.value(), link.latency.value(), link.sharing, is_never_full(link)}, groups.size());
    if (is_new) groups.push_back({link.name, 0, &link});
    if (++groups[at->second].count == 2) groups[at->second].name = std::move(pattern);
  }
  return groups;
}

std::string links_table(const Platform& platform) {
  const std::vector<LinkGroup> groups = link_groups(platform);
  Table table{{"link", "number", "bandwidth", "latency", "sharing", "bottleneck"}, {}};
  for (const LinkGroup& group : groups) {
    if (table.rows.size() == kMostRows) break;
    table.rows.push_back({group.name, std::to_string(group.count), format_human_bandwidth(group.first->bandwidth),
                          format_human_seconds(group.first->latency),
                          group.first->sharing == Sharing::Exclusive ? "exclusive" : "fair",
                          is_never_full(*group.first) ? "never" : "possible"});
  }
  return cut_table(table, groups.size());
}

/// The levels of the platform; none if some devices are not connected.
std::optional<std::vector<Level>> known_levels(const Platform& platform) {
  if (platform.devices.size() > 1 && !smallest_pair_bandwidth(platform, PairUse::Collective)) return std::nullopt;
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
                       {"speed", kind.speed ? Detail(*kind.speed) : Detail()},
                       {"pass_overhead_s", kind.pass_overhead.value()},
                       {"update_overhead_s", kind.update_overhead.value()},
                       {"price_per_hour", kind.price ? Detail(*kind.price) : Detail()},
                       {"device_file", kind.device_file.empty() ? Detail() : Detail(kind.device_file)}});
  }
  return list;
}

Detail::List links_list(const Platform& platform) {
  Detail::List list;
  for (const Link& link : platform.links) {
    list.emplace_back(Detail::Record{{"name", link.name},
                                     {"bandwidth_bytes_per_s", link.bandwidth.value()},
                                     {"latency_s", link.latency.value()},
                                     {"sharing", link.sharing == Sharing::Exclusive ? "exclusive" : "fair"},
                                     {"can_be_bottleneck", !is_never_full(link)}});
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
                       {"count", std::int64_t{group.count}},
                       {"connected", group.connected},
                       {"bandwidth_bytes_per_s", group.connected ? Detail(group.bandwidth.value()) : Detail()},
                       {"latency_s", group.connected ? Detail(group.route.latency.value()) : Detail()},
                       {"links", std::move(links)}});
  }
  return list;
}

/// Each kind of node with the number of such nodes, and the network between the nodes.
std::string nodes_text(const Platform& platform) {
  const auto* form = std::get_if<NodeForm>(&platform.spec.form);
  if (form == nullptr) return "";
  std::map<NodeKindId, std::uint64_t> counts;
  for (const NodeGroup& group : form->groups) counts[group.kind] += group.count;
  std::string text;
  for (const auto& [id, count] : counts) {
    const NodeKind& kind = form->node_kinds[id];
    text += counted(count, "node") + " of kind " + kind.name + ":\n" + node_kind_words(platform.spec, kind) + "\n";
  }
  if (platform.nodes.size() > 1) text += "network: " + network_words(platform) + "\n";
  return text;
}

bool passes_hosts(const Platform& platform) { return platform.spec.transport == Transport::Host; }

/// How boundary tensors travel, if not straight from device to device.
std::string boundaries_text(const Platform& platform, const std::optional<BytesPerSecond>& smallest) {
  if (!passes_hosts(platform)) return "";
  return "boundary tensors: through host memory" +
         (smallest ? ", at " + format_human_bandwidth(*smallest) + " or more with their copies" : "") + "\n";
}

/// `bisection: 150 GBps each way, gpu0 .. gpu3 | gpu4 .. gpu7`.
std::string bisection_text(const Platform& platform, const std::optional<Bisection>& halves) {
  if (!halves) return "";
  const auto name = [&](std::size_t i) {
    return halves->is_of_nodes ? name_of(NodeId(i)) : platform.devices[DeviceId(i)].name;
  };
  const auto range = [&](std::size_t first, std::size_t last) {
    return first == last ? name(first) : name(first) + " .. " + name(last);
  };
  const std::size_t members = halves->is_of_nodes ? platform.nodes.size() : platform.devices.size();
  return "bisection: " + format_human_bandwidth(halves->bandwidth) + " each way, " + range(0, halves->first_half - 1) +
         " | " + range(halves->first_half, members - 1) + "\n";
}

std::string never_full_text(const Platform& platform) {
  const auto count = std::ranges::count_if(platform.links.items(), is_never_full);
  return count == 0 ? "" : "never the bottleneck: " + counted(count, "link") + "\n";
}

/// How an all-reduce over all devices runs, unless it is one plain ring.
std::string collectives_text(const Platform& platform) {
  const CollectiveSpec& spec = platform.spec.collectives;
  if (!spec.table.empty()) {
    return "all-reduce: measured bandwidths from " + format_human_bytes(spec.table.front().first) + " (" +
           format_human_bandwidth(spec.table.front().second) + ") to " + format_human_bytes(spec.table.back().first) +
           " (" + format_human_bandwidth(spec.table.back().second) + ")\n";
  }
  const std::int64_t rings = rings_of(platform, all_devices(platform));
  const std::size_t nodes = node_names(platform).size();
  const bool has_choice = nodes > 1 && platform.devices.size() > nodes;
  if (rings == 1 && !has_choice && spec == CollectiveSpec{}) return "";
  const bool is_ring = spec.algorithm == CollectiveSpec::Algorithm::Ring;
  const bool is_hierarchical = spec.algorithm == CollectiveSpec::Algorithm::Hierarchical;
  std::string text = "all-reduce: " + std::to_string(rings) + (rings == 1 ? " ring" : " rings");
  if (is_hierarchical) text = "all-reduce: hierarchical";
  if (!is_ring && !is_hierarchical && has_choice) text += ", or hierarchical where that is faster";
  const double between = spec.network_efficiency.value_or(spec.efficiency);
  if (between != spec.efficiency) {
    text += ", at " + percent(spec.efficiency) + " of the links' bandwidth inside nodes and " + percent(between) +
            " between them";
  } else if (spec.efficiency < 1.0) {
    text += ", at " + percent(spec.efficiency) + " of the links' bandwidth";
  }
  if (spec.latency > Seconds(0)) text += ", " + format_human_seconds(spec.latency) + " each";
  return text + "\n";
}

std::string overlap_text(const CollectiveSpec& spec) {
  return spec.overlap == 0.0 ? ""
                             : "tensor groups: products hide " + percent(spec.overlap) + " of gathers and scatters\n";
}

std::string head_text(const Platform& platform) {
  const std::size_t nodes = node_names(platform).size();
  const std::size_t devices = platform.devices.size();
  const auto* form = std::get_if<ExplicitForm>(&platform.spec.form);
  const std::size_t switches = form == nullptr ? 0 : form->switches.size();
  return "platform " + platform.spec.name + ": " + counted(devices, "device") +
         (nodes == 0 ? "" : " on " + counted(nodes, "node")) +
         (switches == 0 ? "" : ", " + counted(switches, "switch")) + ", " + counted(platform.links.size(), "link") +
         "\n";
}

}  // namespace

Description describe_platform(const Platform& platform) {
  const std::vector<RouteGroup> groups = routes_from_first(platform);
  const std::optional<std::vector<Level>> known = known_levels(platform);
  const std::optional<BytesPerSecond> smallest = smallest_pair_bandwidth(platform, PairUse::Collective);
  const std::optional<BytesPerSecond> of_boundaries = smallest_pair_bandwidth(platform, PairUse::Boundary);
  const std::optional<Bisection> halves = bisection(platform);
  const std::string text =
      head_text(platform) + nodes_text(platform) + levels_text(known) +
      (smallest ? "smallest bandwidth of a pair: " + format_human_bandwidth(*smallest) + "\n" : "") +
      boundaries_text(platform, of_boundaries) + bisection_text(platform, halves) + collectives_text(platform) +
      overlap_text(platform.spec.collectives) + never_full_text(platform) + "\n" + kinds_table(platform) +
      routes_table(platform, groups) + links_table(platform);
  Detail::Record record{
      {"kind", "platform"},
      {"name", platform.spec.name},
      {"nodes", static_cast<std::int64_t>(node_names(platform).size())},
      {"levels", levels_list(known)},
      {"smallest_pair_bandwidth_bytes_per_s", smallest ? Detail(smallest->value()) : Detail()},
      {"transport", passes_hosts(platform) ? "host" : "direct"},
      {"smallest_boundary_bandwidth_bytes_per_s", of_boundaries ? Detail(of_boundaries->value()) : Detail()},
      {"bisection_bytes_per_s", halves ? Detail(halves->bandwidth.value()) : Detail()},
      {"devices", devices_list(platform)},
      {"links", links_list(platform)},
      {"routes", routes_list(platform, groups)}};
  return {text, std::move(record)};
}

}  // namespace stagecraft
