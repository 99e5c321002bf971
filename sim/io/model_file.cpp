#include "sim/io/model_file.hpp"

#include "sim/base/counted.hpp"
#include "sim/base/text.hpp"
#include "sim/io/model_computed.hpp"
#include "sim/io/model_tensors.hpp"
#include "sim/io/model_tied.hpp"
#include "sim/io/text_file.hpp"
#include "sim/io/yaml_values.hpp"
#include "sim/model/graph_order.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

constexpr Bytes kNotGiven{-1};

Bytes bytes_or(const YamlNode& node, std::string_view key, Bytes otherwise) {
  const std::optional<YamlNode> found = node.find(key);
  return found ? read_bytes(*found) : otherwise;
}

Layer read_layer(const YamlNode& node) {
  node.allow_keys({"name", "forward", "backward", "backward_weight", "parameters", "experts", "output", "stash",
                   "checkpoint", "workspace", "type"});
  Layer layer;
  layer.name = read_name(node.at("name"));
  layer.forward = read_seconds(node.at("forward"));
  layer.backward = read_seconds(node.at("backward"));
  layer.backward_weight = layer.backward / 2.0;
  if (const auto weight = node.find("backward_weight")) {
    layer.backward_weight = read_seconds(*weight);
    if (layer.backward_weight > layer.backward) {
      weight->fail_expected("at most the layer's backward, " + format_seconds(layer.backward));
    }
  }
  layer.parameters = read_bytes(node.at("parameters"));
  if (const auto experts = node.find("experts")) {
    layer.experts = read_bytes(*experts);
    if (layer.experts > layer.parameters) {
      experts->fail_expected("at most the layer's parameters, " + format_bytes(layer.parameters));
    }
  }
  layer.output = read_bytes(node.at("output"));
  layer.stash = bytes_or(node, "stash", kNotGiven);
  layer.checkpoint = bytes_or(node, "checkpoint", kNotGiven);
  layer.workspace = bytes_or(node, "workspace", Bytes(0));
  if (const auto type = node.find("type")) layer.type = read_name(*type);
  return layer;
}

LayersByName read_layers(const YamlNode& node, LayerGraph& graph) {
  LayersByName by_name;
  for (const YamlNode& item : node.items()) {
    const LayerId id = graph.layers.push_back(read_layer(item));
    const std::string& name = graph.layers[id].name;
    const auto [first, is_new] = by_name.emplace(name, id);
    if (!is_new) {
      item.at("name").fail("the layer " + quote(name) + " is given twice, first as layers[" +
                           std::to_string(first->second.value()) + "]");
    }
  }
  if (by_name.empty()) node.fail("expected at least one layer, found none");
  return by_name;
}

LayerEdge read_edge(const YamlNode& node, const LayersByName& by_name, const LayerGraph& graph) {
  const std::vector<YamlNode> parts = node.items();
  if (parts.size() < 2 || parts.size() > 3) {
    node.fail("expected [from, to] or [from, to, {bytes: …}], found " + counted(parts.size(), "entry"));
  }
  LayerEdge edge{find_layer(parts[0], by_name, graph), find_layer(parts[1], by_name, graph), Bytes(0)};
  if (edge.from == edge.to) node.fail("the layer " + quote(graph.layers[edge.from].name) + " feeds itself");
  edge.bytes = graph.layers[edge.from].output;
  if (parts.size() == 3) {
    parts[2].allow_keys({"bytes"});
    edge.bytes = read_bytes(parts[2].at("bytes"));
  }
  return edge;
}

std::string cycle_text(const LayerGraph& graph, const std::vector<LayerId>& cycle) {
  constexpr std::size_t kShown = 12;
  std::string text;
  for (std::size_t i = 0; i < std::min(cycle.size(), kShown); ++i) text += graph.layers[cycle[i]].name + " -> ";
  if (cycle.size() > kShown) text += "… -> ";
  return text + graph.layers[cycle.front()].name;
}

void read_edges(const YamlNode& node, const LayersByName& by_name, LayerGraph& graph) {
  std::set<std::pair<LayerId, LayerId>> seen;
  for (const YamlNode& item : node.items()) {
    const LayerEdge edge = read_edge(item, by_name, graph);
    if (!seen.emplace(edge.from, edge.to).second) {
      item.fail("the edge from " + quote(graph.layers[edge.from].name) + " to " + quote(graph.layers[edge.to].name) +
                " is given twice");
    }
    graph.edges.push_back(edge);
  }
}

void make_chain(LayerGraph& graph) {
  for (LayerId id(1); id.value() < graph.layers.size(); ++id) {
    const LayerId before(id.value() - 1);
    graph.edges.push_back({before, id, graph.layers[before].output});
  }
}

/// Fills in what the file leaves out, then compares checkpoints with stashes.
void finish_memory(const YamlNode& layers, LayerGraph& graph) {
  apply_memory_defaults(graph);
  for (LayerId id : indices(graph.layers)) {
    const Layer& layer = graph.layers[id];
    if (layer.checkpoint <= layer.stash) continue;
    const YamlNode node = layers.items()[id.value()].at("checkpoint");
    node.fail_expected("at most the layer's stash, " + format_bytes(layer.stash));
  }
}

std::int64_t read_parameter_bytes(const YamlNode& node) {
  const std::int64_t bytes = read_count(node, 2, 4);
  if (bytes == 3) node.fail_expected("2 or 4");
  return bytes;
}

/// At most 1e24, so that no rate of them is infinite.
Flops read_flops(const YamlNode& node) {
  constexpr double kMostFlops = 1e24;
  const double flops = read_number(node);
  if (flops > kMostFlops) node.fail_expected("at most 1e24");
  return Flops(flops);
}

/// What a sample asks for, as far as the file says.
SampleWork read_work(const YamlNode& root) {
  SampleWork work;
  if (const auto flops = root.find("flops")) work.forward = read_flops(*flops);
  if (const auto tokens = root.find("tokens")) work.tokens = read_count(*tokens, 1);
  const auto masked = root.find("masked_flops");
  if (!masked) return work;
  work.masked = read_flops(*masked);
  if (work.masked > work.forward) masked->fail_expected("at most the key 'flops'");
  return work;
}

/// The keys of the root that hold for all profiles; each profile reads its own numbers.
LayerGraph read_header(const YamlNode& root) {
  LayerGraph graph;
  graph.name = read_name(root.at("model"));
  graph.device_kind = read_name(root.at("device"));
  if (const auto precision = root.find("precision")) graph.precision = read_precision(*precision);
  if (const auto bytes = root.find("parameter_bytes")) graph.parameter_bytes = read_parameter_bytes(*bytes);
  graph.work = read_work(root);
  if (const auto source = root.find("source")) graph.source = read_text(*source);
  if (const auto origin = root.find("origin")) graph.origin = read_choice(*origin, stated_origins());
  return graph;
}

/// Parts of a profile that may be given once for all.
struct SharedParts {
  std::optional<YamlNode> edges;
  std::optional<YamlNode> tied;
};

/// `node` holds the size, the layers and the input.
LayerGraph read_profile(const YamlNode& node, LayerGraph graph, const SharedParts& shared) {
  graph.microbatch_size = read_count(node.at("microbatch_size"), 1, kMostProfiledSamples);
  graph.input = bytes_or(node, "input", Bytes(0));
  const YamlNode layers = node.at("layers");
  const LayersByName by_name = read_layers(layers, graph);
  if (shared.edges) {
    read_edges(*shared.edges, by_name, graph);
    check_graph(graph, *shared.edges);
  } else {
    make_chain(graph);
    check_graph(graph, layers);
  }
  finish_memory(layers, graph);
  if (const auto tensors = node.find("tensors")) read_tensors(*tensors, by_name, graph);
  if (shared.tied) read_tied(*shared.tied, by_name, graph);
  return graph;
}

/// All profiles must describe the same layers and edges.
void check_same_shape(const YamlNode& node, const LayerGraph& graph, const LayerGraph& first) {
  const YamlNode layers = node.at("layers");
  if (graph.layers.size() != first.layers.size()) {
    layers.fail("expected " + std::to_string(first.layers.size()) + " layers as in the first profile, found " +
                std::to_string(graph.layers.size()));
  }
  for (LayerId id : indices(graph.layers)) {
    const std::string& expected = first.layers[id].name;
    if (graph.layers[id].name == expected) continue;
    layers.items()[id.value()].at("name").fail_expected("the layer " + quote(expected) + " as in the first profile");
  }
  const auto same_ends = [](const LayerEdge& a, const LayerEdge& b) { return a.from == b.from && a.to == b.to; };
  if (!std::ranges::equal(graph.edges, first.edges, same_ends)) {
    node.fail("expected the edges of the first profile in the same order, found others");
  }
  const auto same_uses = [](const Layer& a, const Layer& b) { return a.reads == b.reads && a.keeps == b.keeps; };
  const bool same_tensors =
      std::ranges::equal(graph.tensors, first.tensors, {}, &SharedTensor::from, &SharedTensor::from);
  if (!same_tensors || !std::ranges::equal(graph.layers, first.layers, same_uses)) {
    node.fail("expected the tensors of the first profile in the same order, found others");
  }
}

/// Parameters belong to the model, whatever the size and the device.
void check_same_parameters(const YamlNode& node, const LayerGraph& graph, const LayerGraph& first) {
  const std::vector<YamlNode> layers = node.at("layers").items();
  for (LayerId id : indices(graph.layers)) {
    const Bytes expected = first.layers[id].parameters;
    if (graph.layers[id].parameters == expected) continue;
    layers[id.value()].at("parameters").fail_expected(format_bytes(expected) + " as in the first profile");
  }
}

/// A kind's profiles are points of one line, and its speeds hold for one precision.
void check_same_precision(const YamlNode& node, const LayerGraph& graph, const Model& model) {
  for (const LayerGraph& other : model.profiles) {
    if (other.device_kind != graph.device_kind || other.precision == graph.precision) continue;
    node.fail(
        "the profiles of " + quote(graph.device_kind) + " are in " + other.precision + " and in " + graph.precision,
        "write a model file for each precision");
  }
}

void check_new_profile(const YamlNode& node, const Model& model) {
  const LayerGraph& graph = model.profiles.back();
  check_same_shape(node, graph, model.profiles.front());
  check_same_parameters(node, graph, model.profiles.front());
  check_same_precision(node, graph, model);
  const auto same = [&](const LayerGraph& other) {
    return other.microbatch_size == graph.microbatch_size && other.device_kind == graph.device_kind;
  };
  if (std::ranges::count_if(model.profiles, same) > 1) {
    node.at("microbatch_size")
        .fail("the size " + std::to_string(graph.microbatch_size) + " of " + quote(graph.device_kind) +
              " is given twice");
  }
}

/// Puts the profiles of a kind together, in the order in which the file names the kinds, by increasing size.
void sort_profiles(Model& model) {
  std::vector<std::string> kinds;
  for (const LayerGraph& graph : model.profiles) {
    if (std::ranges::find(kinds, graph.device_kind) == kinds.end()) kinds.push_back(graph.device_kind);
  }
  std::ranges::sort(model.profiles, {}, [&](const LayerGraph& graph) {
    return std::pair(std::ranges::find(kinds, graph.device_kind) - kinds.begin(), graph.microbatch_size);
  });
}

Model read_profiles(const YamlNode& root) {
  root.allow_keys({"schema", "model", "device", "precision", "parameter_bytes", "flops", "masked_flops", "tokens",
                   "source", "origin", "profiles", "edges", "tied"});
  const SharedParts shared{root.find("edges"), root.find("tied")};
  Model model;
  const YamlNode profiles = root.at("profiles");
  for (const YamlNode& node : profiles.items()) {
    if (shared.edges) {
      node.allow_keys({"device", "precision", "origin", "microbatch_size", "input", "layers", "tensors"});
    } else {
      node.allow_keys({"device", "precision", "origin", "microbatch_size", "input", "layers", "edges", "tensors"});
    }
    LayerGraph header = read_header(root);
    if (const auto device = node.find("device")) header.device_kind = read_name(*device);
    if (const auto precision = node.find("precision")) header.precision = read_precision(*precision);
    if (const auto origin = node.find("origin")) header.origin = read_choice(*origin, stated_origins());
    const SharedParts parts{shared.edges ? shared.edges : node.find("edges"), shared.tied};
    model.profiles.push_back(read_profile(node, std::move(header), parts));
    check_new_profile(node, model);
  }
  if (model.profiles.empty()) profiles.fail("expected at least one profile, found none");
  sort_profiles(model);
  return model;
}

/// Why no file may have this graph; empty: it may.
std::string graph_problem(const LayerGraph& graph) {
  if (graph.layers.empty()) return "expected at least one layer, found none";
  const std::vector<LayerId> cycle = find_cycle(graph);
  if (!cycle.empty()) return "the edges form a cycle: " + cycle_text(graph, cycle);
  // Sums of sizes are 64-bit numbers everywhere, so no file may come near their limit.
  constexpr double kMostModelBytes = 0x1p50;
  constexpr double kMostSeconds = 1e12;
  double bytes = static_cast<double>(graph.input.value());
  double seconds = 0.0;
  const Layer* slowest = nullptr;
  for (const Layer& layer : graph.layers) {
    for (Bytes part : {layer.parameters, layer.output, layer.stash, layer.workspace}) {
      bytes += static_cast<double>(part.value());
    }
    const double time = layer.forward.value() + layer.backward.value();
    seconds += time;
    if (slowest == nullptr || time > slowest->forward.value() + slowest->backward.value()) slowest = &layer;
  }
  for (const LayerEdge& edge : graph.edges) bytes += static_cast<double>(edge.bytes.value());
  for (const SharedTensor& tensor : graph.tensors) bytes += static_cast<double>(tensor.bytes.value());
  if (bytes > kMostModelBytes) return "all sizes together exceed 1 PiB";
  if (seconds > kMostSeconds) {
    const Seconds longest = slowest->forward + slowest->backward;
    return "all times together exceed 1e12 s; the layer " + quote(slowest->name) + " has the longest, " +
           format_seconds(longest);
  }
  return "";
}

}  // namespace

void check_graph(const LayerGraph& graph, const InputPlace& place) {
  const std::string problem = graph_problem(graph);
  if (!problem.empty()) throw InputError(problem, place);
}

void check_graph(const LayerGraph& graph, const YamlNode& node) {
  const std::string problem = graph_problem(graph);
  if (!problem.empty()) node.fail(problem);
}

Model measured_model(LayerGraph graph, const std::string& file_name, std::int64_t microbatch_size,
                     const std::string& device_kind) {
  graph.name = file_stem(file_name);
  graph.device_kind = device_kind;
  graph.microbatch_size = microbatch_size;
  graph.origin = Origin::Measured;
  check_graph(graph, {file_name, 0, 0, ""});
  apply_memory_defaults(graph);
  return {{std::move(graph)}, {}, {}};
}

Model parse_model(std::string_view text, const std::string& file_name, const std::vector<DeviceDescription>& own) {
  const YamlNode root = parse_yaml(text, file_name);
  check_schema(root, "stagecraft/model/1");
  if (root.find("profiles")) return read_profiles(root);
  root.allow_keys({"schema", "model", "device", "precision", "parameter_bytes", "flops", "masked_flops", "tokens",
                   "microbatch_size", "source", "origin", "computed", "input", "layers", "edges", "tensors", "tied",
                   "profiles"});
  LayerGraph header = read_header(root);
  const auto computed = root.find("computed");
  if (computed && root.find("origin") && header.origin != Origin::Computed) {
    root.at("origin").fail_expected("computed, which is what the key 'computed' says");
  }
  if (computed && !root.find("layers")) return computed_alone(root, std::move(header), own);
  LayerGraph graph = read_profile(root, std::move(header), {root.find("edges"), root.find("tied")});
  if (computed) return computed_as_given(root, std::move(graph));
  return {{std::move(graph)}, {}, {}};
}

Model read_model_file(const std::string& path) { return parse_model(read_text_file(path), path); }

}  // namespace stagecraft
