#include "sim/io/model_file.hpp"

#include "sim/base/counted.hpp"
#include "sim/base/text.hpp"
#include "sim/io/model_tensors.hpp"
#include "sim/io/model_tied.hpp"
#include "sim/io/text_file.hpp"
#include "sim/io/yaml_values.hpp"
#include "sim/model/graph_order.hpp"
#include "sim/workload/catalogue.hpp"
#include "sim/workload/computed_profiles.hpp"
#include "sim/workload/image_draft.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

constexpr std::int64_t kMostSamples = 1'000'000'000;
constexpr Bytes kNotGiven{-1};

Bytes bytes_or(const YamlNode& node, std::string_view key, Bytes otherwise) {
  const std::optional<YamlNode> found = node.find(key);
  return found ? read_bytes(*found) : otherwise;
}

Layer read_layer(const YamlNode& node) {
  node.allow_keys({"name", "forward", "backward", "backward_weight", "parameters", "output", "stash", "checkpoint",
                   "workspace", "type"});
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

std::string read_precision(const YamlNode& node) {
  std::vector<std::pair<std::string, std::string>> choices;
  for (const char* precision : kPrecisions) choices.emplace_back(precision, precision);
  return read_choice(node, choices);
}

/// The keys of the root that hold for all profiles; each profile reads its own numbers.
LayerGraph read_header(const YamlNode& root) {
  LayerGraph graph;
  graph.name = read_name(root.at("model"));
  graph.device_kind = read_name(root.at("device"));
  if (const auto precision = root.find("precision")) graph.precision = read_precision(*precision);
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
  graph.microbatch_size = read_count(node.at("microbatch_size"), 1, kMostSamples);
  graph.input = bytes_or(node, "input", Bytes(0));
  const YamlNode layers = node.at("layers");
  const LayersByName by_name = read_layers(layers, graph);
  if (shared.edges) {
    read_edges(*shared.edges, by_name, graph);
    check_graph(graph, shared.edges->place());
  } else {
    make_chain(graph);
    check_graph(graph, layers.place());
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
  root.allow_keys({"schema", "model", "device", "precision", "source", "origin", "profiles", "edges", "tied"});
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

Recipe read_recipe(const YamlNode& node) {
  node.allow_keys({"architecture", "image", "granularity"});
  Recipe recipe;
  recipe.architecture = read_name(node.at("architecture"));
  if (const auto image = node.find("image")) recipe.image = read_count(*image, 1, ImageLimits::kPixels);
  recipe.granularity = read_choice<std::string>(
      node.at("granularity"),
      {{"operator", "operator"}, {"layer", "layer"}, {"residual", "residual"}, {"block", "block"}});
  return recipe;
}

/// What differs between a file's profile and the computed one; empty if nothing does.
std::string difference(const LayerGraph& found, const LayerGraph& computed) {
  for (LayerId id : indices(found.layers)) {
    if (id.value() >= computed.layers.size()) break;
    if (found.layers[id] != computed.layers[id]) return "layer " + quote(found.layers[id].name);
  }
  if (found.layers.size() != computed.layers.size()) return "the number of layers";
  if (found.edges != computed.edges) return "the list of edges";
  if (found.tensors != computed.tensors) return "the list of tensors";
  if (found.tied != computed.tied) return "the list of tied parameters";
  return found.input == computed.input ? "" : "the input";
}

/// Says what the catalogue lacks for a recipe, at the value that asks for it.
[[noreturn]] void refuse_recipe(const YamlNode& root, const Recipe& recipe) {
  const YamlNode node = root.at("computed");
  const std::string leave = "leave the key 'computed' out: times of other sizes are then extrapolated";
  const std::string kind = root.at("device").text();
  if (!find_device(kind)) root.at("device").fail("the catalogue has no device " + quote(kind), leave);
  if (find_architecture(recipe.architecture)) {
    node.at("image").fail("the network " + quote(recipe.architecture) + " has no images", "leave the key 'image' out");
  }
  std::vector<std::string> known;
  for (const WorkloadInfo& network : known_architectures()) known.push_back(network.name);
  node.at("architecture")
      .fail("the catalogue has no network " + quote(recipe.architecture),
            suggest_name(recipe.architecture, known) + "; or " + leave);
}

/// The model that the file's recipe describes, for the kind and the size of `given`.
Model model_of(const YamlNode& root, const Recipe& recipe, const LayerGraph& given) {
  try {
    std::optional<Model> model = computed_model(recipe, given.device_kind, given.microbatch_size);
    if (model) return *std::move(model);
  } catch (const InputError& error) {
    root.at("computed").fail(error.what());
  }
  refuse_recipe(root, recipe);
}

void check_stated_precision(const LayerGraph& given, const LayerGraph& computed,
                            const std::optional<YamlNode>& precision) {
  if (!precision || given.precision == computed.precision) return;
  precision->fail_expected(computed.precision + ", in which the cost model computes for " + quote(given.device_kind));
}

/// A file without figures: those that its recipe gives.
Model computed_alone(const YamlNode& root, LayerGraph header) {
  root.allow_keys({"schema", "model", "device", "precision", "microbatch_size", "source", "origin", "computed"});
  header.microbatch_size = read_count(root.at("microbatch_size"), 1, kMostSamples);
  Model model = model_of(root, read_recipe(root.at("computed")), header);
  LayerGraph& graph = model.profiles.front();
  check_stated_precision(header, graph, root.find("precision"));
  graph.name = header.name;
  if (!header.source.empty()) graph.source = header.source;
  return model;
}

/// A file whose figures are not those of its recipe was edited, or comes from another version of the cost model; what
/// the recipe gives for other sizes would not belong to it.
Model computed_as_given(const YamlNode& root, LayerGraph given) {
  const YamlNode node = root.at("computed");
  const Recipe recipe = read_recipe(node);
  Model model = model_of(root, recipe, given);
  check_stated_precision(given, model.profiles.front(), root.find("precision"));
  if (!root.find("tied")) given.tied = model.profiles.front().tied;
  const std::string differs = difference(given, model.profiles.front());
  if (!differs.empty()) {
    node.fail("the figures are not those that the cost model gives for this network: " + differs + " differs",
              "leave the key 'computed' out if you have changed them, or write the file anew with 'stagecraft model'");
  }
  given.origin = Origin::Computed;
  given.precision = model.profiles.front().precision;
  model.profiles.front() = std::move(given);
  return model;
}

}  // namespace

void check_graph(const LayerGraph& graph, const InputPlace& place) {
  if (graph.layers.empty()) throw InputError("expected at least one layer, found none", place);
  const std::vector<LayerId> cycle = find_cycle(graph);
  if (!cycle.empty()) throw InputError("the edges form a cycle: " + cycle_text(graph, cycle), place);
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
  if (bytes > kMostModelBytes) throw InputError("all sizes together exceed 1 PiB", place);
  if (seconds > kMostSeconds) {
    const Seconds longest = slowest->forward + slowest->backward;
    throw InputError("all times together exceed 1e12 s; the layer " + quote(slowest->name) + " has the longest, " +
                         format_seconds(longest),
                     place);
  }
}

Model parse_model(std::string_view text, const std::string& file_name) {
  const YamlNode root = parse_yaml(text, file_name);
  check_schema(root, "stagecraft/model/1");
  if (root.find("profiles")) return read_profiles(root);
  root.allow_keys({"schema", "model", "device", "precision", "microbatch_size", "source", "origin", "computed", "input",
                   "layers", "edges", "tensors", "tied", "profiles"});
  LayerGraph header = read_header(root);
  const auto computed = root.find("computed");
  if (computed && root.find("origin") && header.origin != Origin::Computed) {
    root.at("origin").fail_expected("computed, which is what the key 'computed' says");
  }
  if (computed && !root.find("layers")) return computed_alone(root, std::move(header));
  LayerGraph graph = read_profile(root, std::move(header), {root.find("edges"), root.find("tied")});
  if (computed) return computed_as_given(root, std::move(graph));
  return {{std::move(graph)}, {}, {}};
}

Model read_model_file(const std::string& path) { return parse_model(read_text_file(path), path); }

}  // namespace stagecraft
