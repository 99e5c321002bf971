#include "sim/io/json_graph.hpp"

#include "sim/base/text.hpp"
#include "sim/io/yaml_values.hpp"

#include <cmath>
#include <cstdint>
#include <set>
#include <unordered_map>
#include <utility>

namespace stagecraft {
namespace {

using NodesById = std::unordered_map<std::int64_t, std::size_t>;

NodesById ids_of(const std::vector<YamlNode>& nodes) {
  NodesById by_id;
  for (const YamlNode& node : nodes) {
    const YamlNode id = node.at("id");
    if (by_id.emplace(read_count(id), by_id.size()).second) continue;
    id.fail("expected each id once, found " + id.text() + " again");
  }
  return by_id;
}

std::vector<std::string> names_of_nodes(const std::vector<YamlNode>& nodes) {
  std::vector<std::string> names;
  for (const YamlNode& node : nodes) {
    const auto name = node.find("name");
    names.push_back(name ? read_key_name(*name) : "node" + node.at("id").text());
  }
  if (std::set<std::string>(names.begin(), names.end()).size() == names.size()) return names;
  for (std::size_t i = 0; i < nodes.size(); ++i) names[i] += "." + nodes[i].at("id").text();
  return names;
}

std::size_t end_of_edge(const YamlNode& edge, const std::string& key, const NodesById& by_id) {
  const YamlNode id = edge.at(key);
  const auto found = by_id.find(read_count(id));
  if (found == by_id.end()) id.fail("expected the id of a node, found " + id.text());
  return found->second;
}

std::vector<JsonEdge> read_json_edges(const YamlNode& list, const NodesById& by_id) {
  std::vector<JsonEdge> edges;
  std::set<std::pair<std::size_t, std::size_t>> seen;
  for (const YamlNode& item : list.items()) {
    const std::size_t from = end_of_edge(item, "sourceId", by_id);
    const std::size_t to = end_of_edge(item, "destId", by_id);
    const std::string ids = item.at("sourceId").text() + " to " + item.at("destId").text();
    if (from == to) item.fail("the edge from " + ids + " leads from a node to itself");
    if (!seen.emplace(from, to).second) item.fail("the edge from " + ids + " is given twice");
    edges.push_back({from, to, item});
  }
  return edges;
}

}  // namespace

JsonGraph read_json_graph(const YamlNode& root) {
  JsonGraph graph;
  const YamlNode nodes = root.at("nodes");
  graph.nodes = nodes.items();
  if (graph.nodes.empty()) nodes.fail("expected at least one node, found none");
  const NodesById by_id = ids_of(graph.nodes);
  graph.names = names_of_nodes(graph.nodes);
  graph.edges = read_json_edges(root.at("edges"), by_id);
  return graph;
}

Seconds read_time_in(const YamlNode& node, const std::string& unit) {
  static_cast<void>(read_number(node));
  const Parsed<Seconds> time = parse_seconds(node.text() + unit);
  if (!time) node.fail_expected("a number of at least 0, in " + unit, time.hint);
  return *time.value;
}

Bytes read_bytes_up(const YamlNode& node) {
  const double bytes = read_number(node);
  if (bytes > 0x1p53) node.fail_expected("at most 2^53 bytes");
  return Bytes(static_cast<std::int64_t>(std::ceil(bytes)));
}

}  // namespace stagecraft
