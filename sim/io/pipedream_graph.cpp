#include "sim/io/pipedream_graph.hpp"

#include "sim/base/text.hpp"
#include "sim/io/text_file.hpp"
#include "sim/io/yaml_values.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::string_view kStageKey = "stage_id=";

struct Field {
  std::string_view text;
  int line = 0;
  int column = 0;  ///< from 1
};

InputPlace place_of(const PipedreamGraph& file, const Field& at) { return {file.file_name, at.line, at.column, ""}; }

[[noreturn]] void fail(const PipedreamGraph& file, const Field& at, const std::string& message,
                       const std::string& hint = {}) {
  throw InputError(message, place_of(file, at), hint);
}

Field trimmed(Field field) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t first = std::min(field.text.find_first_not_of(kBlank), field.text.size());
  field.text.remove_prefix(first);
  field.column += static_cast<int>(first);
  field.text = field.text.substr(0, field.text.find_last_not_of(kBlank) + 1);
  return field;
}

std::vector<Field> split(const Field& field, std::string_view separator) {
  std::vector<Field> parts;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = field.text.find(separator, begin);
    parts.push_back(
        trimmed({field.text.substr(begin, end - begin), field.line, field.column + static_cast<int>(begin)}));
    if (end == std::string_view::npos) return parts;
    begin = end + separator.size();
  }
}

double read_number(const PipedreamGraph& file, const Field& field) {
  const Parsed<double> number = parse_number(field.text);
  if (!number) fail(file, field, number.problem, number.hint);
  return *number.value;
}

/// A number of milliseconds: the double nearest to the decimal shifted by three places.
Seconds read_time(const PipedreamGraph& file, const Field& field) {
  static_cast<void>(read_number(file, field));
  return parse_seconds(std::string(field.text) + "ms").value.value();
}

/// Bytes of one tensor, or of the tensors of a list `[a; b; c]` together, rounded up.
Bytes read_size(const PipedreamGraph& file, const Field& field) {
  double sum = 0.0;
  if (field.text.starts_with('[') && field.text.ends_with(']')) {
    const Field inside{field.text.substr(1, field.text.size() - 2), field.line, field.column + 1};
    for (const Field& part : split(inside, ";")) sum += read_number(file, part);
  } else {
    sum = read_number(file, field);
  }
  if (sum > 0x1p53) fail(file, field, "expected at most 2^53 bytes, found " + quote(field.text));
  return Bytes(static_cast<std::int64_t>(std::ceil(sum)));
}

/// `key=value` of the third field of a node line.
void read_figure(const PipedreamGraph& file, const Field& field, Layer& layer, std::set<std::string>& seen) {
  const std::vector<std::string> known = {"forward_compute_time", "backward_compute_time", "activation_size",
                                          "parameter_size"};
  const std::size_t equals = field.text.find('=');
  if (equals == std::string_view::npos) fail(file, field, "expected key=value, found " + quote(field.text));
  const std::string key(field.text.substr(0, equals));
  const Field value = trimmed({field.text.substr(equals + 1), field.line, field.column + static_cast<int>(equals) + 1});
  if (!seen.insert(key).second) fail(file, field, "the key " + quote(key) + " is given twice");
  if (key == known[0]) {
    layer.forward = read_time(file, value);
  } else if (key == known[1]) {
    layer.backward = read_time(file, value);
    layer.backward_weight = layer.backward / 2.0;
  } else if (key == known[2]) {
    layer.output = read_size(file, value);
  } else if (key == known[3]) {
    layer.parameters = read_size(file, value);
  } else {
    fail(file, field, "unknown key " + quote(key), suggest_name(key, known));
  }
}

/// `stage_id=N`, the fourth field of a node line.
std::int64_t read_stage_id(const PipedreamGraph& file, const Field& field) {
  const std::string_view digits = field.text.substr(kStageKey.size());
  const Parsed<std::int64_t> stage = parse_count(digits);
  const std::string expected = "expected a stage_id from 0 to " + std::to_string(kMostStages - 1);
  if (!stage) fail(file, field, expected + ", found " + quote(digits), stage.hint);
  if (*stage.value >= kMostStages) fail(file, field, expected + ", found " + quote(digits));
  return *stage.value;
}

PipedreamNode read_graph_node(const PipedreamGraph& file, const Field& line) {
  const std::vector<Field> fields = split(line, " -- ");
  const bool has_stage = fields.size() > 3 && fields[3].text.starts_with(kStageKey);
  if (fields.size() != 3 && !has_stage) {
    fail(file, line, "expected 'node -- description -- figures', found " + quote(line.text));
  }
  PipedreamNode node;
  node.place = place_of(file, line);
  if (has_stage) {
    node.stage = read_stage_id(file, fields[3]);
    node.stage_place = place_of(file, fields[3]);
  }
  node.layer.name = std::string(fields[0].text);
  STAGECRAFT_CHECK(!node.layer.name.empty(), "a line of a node starts with no blank, and so with its name");
  node.description = std::string(fields[1].text);
  for (const Field& field : {fields[0], fields[1]}) {
    if (!has_control_characters(field.text)) continue;
    fail(file, field, "expected text without control characters, found " + quote(field.text));
  }
  std::set<std::string> seen;
  for (const Field& figure : split(fields[2], ", ")) read_figure(file, figure, node.layer, seen);
  if (seen.size() != 4) fail(file, fields[2], "expected two times and two sizes, found " + quote(fields[2].text));
  node.layer.stash = node.layer.output;
  node.layer.checkpoint = Bytes(-1);
  return node;
}

using NodesByName = std::unordered_map<std::string, std::size_t>;

PipedreamEdge read_edge(const PipedreamGraph& file, const Field& line, const NodesByName& by_name) {
  const std::vector<Field> ends = split(line, " -- ");
  if (ends.size() != 2) fail(file, line, "expected 'node -- node', found " + quote(line.text));
  const auto find = [&](const Field& end) {
    const auto found = by_name.find(std::string(end.text));
    if (found == by_name.end()) {
      std::vector<std::string> known;
      known.reserve(file.nodes.size());
      for (const PipedreamNode& node : file.nodes) known.push_back(node.layer.name);
      fail(file, end, "unknown node " + quote(end.text), suggest_name(end.text, known));
    }
    return found->second;
  };
  const PipedreamEdge edge{find(ends[0]), find(ends[1]), place_of(file, line)};
  if (edge.from == edge.to) fail(file, line, "the node " + quote(ends[0].text) + " feeds itself");
  return edge;
}

/// Lines that start with a blank are edges, all others nodes; edges may come before their nodes.
PipedreamGraph read_nodes_and_edges(std::string_view text, const std::string& file_name) {
  PipedreamGraph file{file_name, {}, {}};
  NodesByName by_name;
  std::vector<Field> edge_lines;
  int number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view raw = text.substr(begin, end - begin);
    begin = end + 1;
    const Field line = trimmed({raw, ++number, 1});
    if (line.text.empty()) continue;
    if (raw[0] == '\t' || raw[0] == ' ') {
      edge_lines.push_back(line);
      continue;
    }
    PipedreamNode node = read_graph_node(file, line);
    if (!by_name.emplace(node.layer.name, file.nodes.size()).second) {
      fail(file, line, "the node " + quote(node.layer.name) + " is given twice");
    }
    file.nodes.push_back(std::move(node));
  }
  std::set<std::pair<std::size_t, std::size_t>> seen;
  for (const Field& line : edge_lines) {
    const PipedreamEdge edge = read_edge(file, line, by_name);
    if (!seen.emplace(edge.from, edge.to).second) fail(file, line, "the edge " + quote(line.text) + " is given twice");
    file.edges.push_back(edge);
  }
  return file;
}

/// Drops the nodes that are at the `inner` end of no kept edge and whose description starts with `prefix`.
void drop(PipedreamGraph& file, std::string_view prefix, std::size_t PipedreamEdge::* inner) {
  std::vector<char> is_inner(file.nodes.size());
  for (const PipedreamEdge& edge : file.edges) {
    if (!file.nodes[edge.from].dropped && !file.nodes[edge.to].dropped) is_inner[edge.*inner] = 1;
  }
  for (std::size_t i = 0; i < file.nodes.size(); ++i) {
    if (is_inner[i] == 0 && file.nodes[i].description.starts_with(prefix)) file.nodes[i].dropped = true;
  }
}

}  // namespace

PipedreamGraph parse_pipedream_graph(std::string_view text, const std::string& file_name) {
  check_text(text, file_name);
  PipedreamGraph file = read_nodes_and_edges(text, file_name);
  drop(file, "Input", &PipedreamEdge::to);          // a source: no edge leads to it
  drop(file, "__getitem__", &PipedreamEdge::from);  // then a sink: no edge leaves it
  return file;
}

bool has_stages(const PipedreamGraph& graph) {
  return std::ranges::any_of(graph.nodes, [](const PipedreamNode& node) { return node.stage.has_value(); });
}

}  // namespace stagecraft
