#include "sim/model/dragonfly.hpp"

#include "sim/model/link_row.hpp"

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>

#include <algorithm>
#include <string>

namespace stagecraft {
namespace {

std::uint64_t pairs_of(std::uint64_t n) { return n * (n - 1) / 2; }

struct DragonflyShape {
  std::uint32_t routers = 0;
  std::uint32_t groups = 0;
  std::uint32_t group_size = 0;  ///< routers in each group but the last

  [[nodiscard]] std::uint32_t routers_in(std::uint32_t group) const {
    return std::min(group_size, routers - group * group_size);
  }
  /// The router of the group `from` at which its link to the group `towards` ends, counted within the group.
  [[nodiscard]] std::uint32_t gateway(std::uint32_t from, std::uint32_t towards) const {
    return (towards < from ? towards : towards - 1) % routers_in(from);
  }
};

DragonflyShape shape_of(const DragonflyNetwork& dragonfly, std::uint32_t node_count) {
  const std::uint32_t routers = divide_up(node_count, dragonfly.nodes_per_router);
  return {routers, divide_up(routers, dragonfly.routers_per_group), dragonfly.routers_per_group};
}

void cross_group(const Platform& platform, const DragonflyShape& shape, std::uint32_t group, std::uint32_t from,
                 std::uint32_t to, Route& into) {
  if (from == to) return;
  LinkRow row = platform.network.wires;
  row.first = row.forward(static_cast<std::uint32_t>(group * pairs_of(shape.group_size)));
  cross_pair(platform, row, from, to, shape.routers_in(group), into);
}

using FlowTraits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::bidirectionalS>;
struct Pipe {
  double capacity = 0.0;
  double residual = 0.0;
  FlowTraits::edge_descriptor reverse;
};
using FlowGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS, boost::no_property, Pipe>;

/// Joins two vertices in both directions.
void join(FlowGraph& graph, std::size_t a, std::size_t b, BytesPerSecond forward, BytesPerSecond backward) {
  const auto there = add_edge(a, b, Pipe{forward.value(), 0.0, {}}, graph).first;
  const auto back = add_edge(b, a, Pipe{backward.value(), 0.0, there}, graph).first;
  graph[there].reverse = back;
}

double max_flow(FlowGraph& graph, std::size_t source, std::size_t sink) {
  const std::size_t count = num_vertices(graph);
  const auto index = get(boost::vertex_index, graph);
  std::vector<FlowTraits::edge_descriptor> predecessors(count);
  std::vector<boost::default_color_type> colors(count);
  std::vector<std::size_t> distances(count);
  return boykov_kolmogorov_max_flow(graph, get(&Pipe::capacity, graph), get(&Pipe::residual, graph),
                                    get(&Pipe::reverse, graph), make_iterator_property_map(predecessors.begin(), index),
                                    make_iterator_property_map(colors.begin(), index),
                                    make_iterator_property_map(distances.begin(), index), index, source, sink);
}

}  // namespace

std::uint64_t count_dragonfly_links(const DragonflyNetwork& dragonfly, std::uint32_t node_count) {
  const DragonflyShape shape = shape_of(dragonfly, node_count);
  const std::uint64_t local =
      (shape.groups - std::uint64_t{1}) * pairs_of(shape.group_size) + pairs_of(shape.routers_in(shape.groups - 1));
  return directions(dragonfly.local_link) * local + directions(dragonfly.global_link) * pairs_of(shape.groups);
}

void add_dragonfly_links(Platform& platform, const DragonflyNetwork& dragonfly,
                         const std::vector<BytesPerSecond>& widths) {
  const DragonflyShape shape = shape_of(dragonfly, static_cast<std::uint32_t>(widths.size()));
  platform.network.wires = begin_row(platform, dragonfly.local_link);
  for (std::uint32_t group = 0; group < shape.groups; ++group) {
    const std::uint32_t first = group * shape.group_size;
    for (std::uint32_t a = 0; a < shape.routers_in(group); ++a) {
      for (std::uint32_t b = a + 1; b < shape.routers_in(group); ++b) {
        add_link(platform, dragonfly.local_link,
                 between("router" + std::to_string(first + a), "router" + std::to_string(first + b)));
      }
    }
  }
  std::vector<BytesPerSecond> of_group(shape.groups);
  for (std::uint32_t node = 0; node < widths.size(); ++node) {
    of_group[node / dragonfly.nodes_per_router / shape.group_size] += widths[node];
  }
  platform.network.globals = begin_row(platform, dragonfly.global_link);
  for (std::uint32_t a = 0; a < shape.groups; ++a) {
    for (std::uint32_t b = a + 1; b < shape.groups; ++b) {
      const BytesPerSecond most = std::min(of_group[a], of_group[b]);
      add_link(platform, dragonfly.global_link, between("group" + std::to_string(a), "group" + std::to_string(b)),
               {most, most});
    }
  }
}

void cross_dragonfly(const Platform& platform, const DragonflyNetwork& dragonfly, std::uint32_t from, std::uint32_t to,
                     Route& into) {
  const DragonflyShape shape = shape_of(dragonfly, static_cast<std::uint32_t>(platform.nodes.size()));
  const std::uint32_t source = from / dragonfly.nodes_per_router;
  const std::uint32_t target = to / dragonfly.nodes_per_router;
  const std::uint32_t leaves = source / shape.group_size;
  const std::uint32_t enters = target / shape.group_size;
  if (leaves == enters) {
    cross_group(platform, shape, leaves, source % shape.group_size, target % shape.group_size, into);
    return;
  }
  cross_group(platform, shape, leaves, source % shape.group_size, shape.gateway(leaves, enters), into);
  cross_pair(platform, platform.network.globals, leaves, enters, shape.groups, into);
  cross_group(platform, shape, enters, shape.gateway(enters, leaves), target % shape.group_size, into);
}

BytesPerSecond narrowest_in_dragonfly(const DragonflyNetwork& dragonfly, std::uint32_t node_count) {
  const DragonflyShape shape = shape_of(dragonfly, node_count);
  BytesPerSecond narrowest = kNoLimit;
  if (shape.routers_in(0) > 1) narrowest = dragonfly.local_link.bandwidth;
  if (shape.groups > 1) narrowest = std::min(narrowest, dragonfly.global_link.bandwidth);
  return narrowest;
}

BytesPerSecond flow_across_dragonfly(const DragonflyNetwork& dragonfly, const std::vector<BytesPerSecond>& widths,
                                     std::uint32_t first_half) {
  const DragonflyShape shape = shape_of(dragonfly, static_cast<std::uint32_t>(widths.size()));
  const std::size_t source = shape.routers;
  const std::size_t sink = source + 1;
  FlowGraph graph(sink + 1);
  std::vector<BytesPerSecond> sends(shape.routers);
  std::vector<BytesPerSecond> receives(shape.routers);
  for (std::uint32_t node = 0; node < widths.size(); ++node) {
    (node < first_half ? sends : receives)[node / dragonfly.nodes_per_router] += widths[node];
  }
  constexpr BytesPerSecond kNothing(0);
  for (std::size_t router = 0; router < shape.routers; ++router) {
    if (sends[router] > kNothing) join(graph, source, router, sends[router], kNothing);
    if (receives[router] > kNothing) join(graph, router, sink, receives[router], kNothing);
  }
  const BytesPerSecond local = dragonfly.local_link.bandwidth;
  const BytesPerSecond global = dragonfly.global_link.bandwidth;
  for (std::uint32_t group = 0; group < shape.groups; ++group) {
    const std::uint32_t first = group * shape.group_size;
    for (std::uint32_t a = 0; a < shape.routers_in(group); ++a) {
      for (std::uint32_t b = a + 1; b < shape.routers_in(group); ++b) join(graph, first + a, first + b, local, local);
    }
    for (std::uint32_t other = group + 1; other < shape.groups; ++other) {
      join(graph, first + shape.gateway(group, other), other * shape.group_size + shape.gateway(other, group), global,
           global);
    }
  }
  return BytesPerSecond(max_flow(graph, source, sink));
}

}  // namespace stagecraft
