#include "sim/io/import_piper.hpp"

#include "sim/base/text.hpp"
#include "sim/io/json_graph.hpp"
#include "sim/io/model_file.hpp"
#include "sim/io/text_file.hpp"
#include "sim/io/yaml_values.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace stagecraft {
namespace {

constexpr const char* kPlain = "vanilla";
constexpr const char* kRecomputed = "activation recomp";

std::optional<YamlNode> choice_named(const std::vector<YamlNode>& choices, const std::string& id) {
  for (const YamlNode& choice : choices) {
    if (choice.at("id").text() == id) return choice;
  }
  return std::nullopt;
}

/// The forward is what recomputation adds. Times that are sums of measured ones are off by roundings.
Seconds read_forward(const YamlNode& recomputed, Seconds whole, const std::string& unit) {
  constexpr double kRounding = 1e-9;
  const YamlNode time = recomputed.at("timePerSample");
  const Seconds forward = read_time_in(time, unit) - whole;
  const Seconds most = whole * (1.0 + kRounding);
  if (forward > most || forward + whole * kRounding < Seconds(0)) {
    time.fail_expected("a time from once to twice that of " + quote(kPlain) + ", for the forward is computed again");
  }
  return std::clamp(forward, Seconds(0), whole);
}

Layer read_piper_layer(const YamlNode& node, const std::string& name, const std::string& unit) {
  const std::vector<YamlNode> choices = node.at("TMPCs").at("1").items();
  const auto plain = choice_named(choices, kPlain);
  if (!plain) node.at("TMPCs").at("1").fail("expected a choice with the id " + quote(kPlain) + ", found none");
  const auto recomputed = choice_named(choices, kRecomputed);
  Layer layer;
  layer.name = name;
  const Seconds whole = read_time_in(plain->at("timePerSample"), unit);
  layer.forward = recomputed ? read_forward(*recomputed, whole, unit) : whole / 3.0;
  layer.backward = whole - layer.forward;
  layer.backward_weight = layer.backward / 2.0;
  layer.parameters = read_bytes_up(plain->at("parameterSize"));
  layer.stash = read_bytes_up(plain->at("memoryUsageA"));
  layer.checkpoint = recomputed ? std::min(read_bytes_up(recomputed->at("memoryUsageA")), layer.stash) : Bytes(-1);
  static_cast<void>(read_bytes_up(plain->at("memoryUsageB")));
  return layer;
}

double ratio_to_transfers(const LayerGraph& graph, const YamlNode& root) {
  const double bandwidth = read_positive_number(root.at("bandwidth"));
  Bytes bytes;
  for (const LayerEdge& edge : graph.edges) bytes += edge.bytes;
  const LayerTotals sum = totals(graph);
  if (bytes == Bytes(0)) return 0.0;
  return (sum.forward + sum.backward).value() * bandwidth / static_cast<double>(bytes.value());
}

}  // namespace

PiperProfile import_piper(std::string_view text, const std::string& file_name, std::int64_t microbatch_size,
                          const std::string& device_kind, const std::string& unit) {
  const YamlNode root = parse_yaml(text, file_name);
  const JsonGraph file = read_json_graph(root);
  LayerGraph graph;
  graph.source = "imported from the profile " + file_stem(file_name) + " for Piper";
  PiperProfile profile;
  for (std::size_t i = 0; i < file.nodes.size(); ++i) {
    graph.layers.push_back(read_piper_layer(file.nodes[i], file.names[i], unit));
    if (file.nodes[i].at("TMPCs").entries().size() > 1) profile.has_further_degrees = true;
  }
  for (const JsonEdge& edge : file.edges) {
    const Bytes bytes = read_bytes_up(edge.value.at("communicationCost"));
    Layer& from = graph.layers[LayerId(edge.from)];
    from.output = std::max(from.output, bytes);
    graph.edges.push_back({LayerId(edge.from), LayerId(edge.to), bytes});
  }
  profile.model = measured_model(std::move(graph), file_name, microbatch_size, device_kind);
  profile.compute_per_transfer = ratio_to_transfers(profile.model.profiles.front(), root);
  return profile;
}

}  // namespace stagecraft
