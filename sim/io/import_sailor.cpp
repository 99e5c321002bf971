#include "sim/io/import_sailor.hpp"

#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/json_graph.hpp"
#include "sim/io/model_computed.hpp"
#include "sim/io/model_file.hpp"
#include "sim/io/yaml_values.hpp"
#include "sim/workload/build_model.hpp"
#include "sim/workload/sized_graph.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

constexpr std::int64_t kMostProfiledLayers = 1'000'000;
/// The last norm takes less than such a part of the block before it.
constexpr double kNormPart = 0.1;
/// The last layer is bound by the same products as blocks are, and no device does them so many times faster.
constexpr double kMostSpeedup = 10.0;

struct SailorTimes {
  Seconds forward;
  Seconds backward;
};

struct SailorEntry {
  YamlNode node;
  std::vector<SailorTimes> layers;
};

/// By tensor degree, of each microbatch size.
using SailorFile = std::map<std::int64_t, std::map<std::int64_t, SailorEntry>>;

constexpr const char* kSailorForm =
    "a profile for Sailor is {microbatch size: {tensor degree: {layer: [forward, backward, update]}}}, with layers "
    "from 0";

/// Keys that are numbers, in increasing order.
std::map<std::int64_t, YamlNode> numbered(const YamlNode& map, const std::string& what, std::int64_t least,
                                          std::int64_t most) {
  std::map<std::int64_t, YamlNode> values;
  for (const auto& [key, value] : map.entries()) {
    const Parsed<std::int64_t> number = parse_count(key);
    if (!number || *number.value < least || *number.value > most) {
      value.fail(fmt::format("expected a {} as the key, a whole number from {} to {}, found {}", what, least, most,
                             quote(key)),
                 kSailorForm);
    }
    values.emplace(*number.value, value);
  }
  if (values.empty()) map.fail("expected at least one " + what + " as a key, found none", kSailorForm);
  return values;
}

SailorTimes read_sailor_times(const YamlNode& node) {
  const std::vector<YamlNode> times = node.items();
  if (times.size() != 3) {
    node.fail("expected [forward, backward, update], found " + counted(times.size(), "item"), kSailorForm);
  }
  static_cast<void>(read_time_in(times[2], "s"));
  return {read_time_in(times[0], "s"), read_time_in(times[1], "s")};
}

SailorEntry read_sailor_entry(const YamlNode& node) {
  SailorEntry entry{node, {}};
  for (const auto& [number, layer] : numbered(node, "layer number", 0, kMostProfiledLayers)) {
    const auto expected = static_cast<std::int64_t>(entry.layers.size());
    if (number != expected)
      layer.fail(fmt::format("expected the layer {} before the layer {}", expected, number), kSailorForm);
    entry.layers.push_back(read_sailor_times(layer));
  }
  return entry;
}

SailorFile read_sailor_file(const YamlNode& root) {
  SailorFile file;
  for (const auto& [samples, degrees] : numbered(root, "microbatch size", 1, kMostProfiledSamples)) {
    for (const auto& [degree, layers] : numbered(degrees, "tensor degree", 1, kMostInGroup)) {
      file[samples].emplace(degree, read_sailor_entry(layers));
    }
  }
  return file;
}

std::set<std::int64_t> degrees_in(const SailorFile& file) {
  std::set<std::int64_t> degrees;
  for (const auto& [samples, profiles] : file) {
    for (const auto& [degree, entry] : profiles) degrees.insert(degree);
  }
  return degrees;
}

/// Only the norm before the last layer is so much shorter than the block before it; blocks are copies of one.
bool has_norm_apart(const std::vector<SailorTimes>& layers) {
  if (layers.size() < 4) return false;
  const SailorTimes& norm = layers[layers.size() - 2];
  const SailorTimes& block = layers[layers.size() - 3];
  return norm.forward < block.forward * kNormPart && norm.backward < block.backward * kNormPart;
}

/// The times by layer of the network.
std::vector<SailorTimes> times_of_layers(const SailorEntry& entry, const LayerGraph& graph) {
  std::vector<SailorTimes> times = entry.layers;
  if (times.size() == graph.layers.size() + 1 && has_norm_apart(times)) {
    const SailorTimes head = times.back();
    times.pop_back();
    times.back().forward += head.forward;
    times.back().backward += head.backward;
  }
  if (times.size() == graph.layers.size()) return times;
  entry.node.fail(fmt::format("expected the {} of {}, its blocks and what is before and after them, found {}",
                              counted(graph.layers.size(), "layer"), quote(graph.name), entry.layers.size()),
                  "--model names the network that was profiled");
}

/// **Throws** InputError at the entry for sizes that no graph may have.
LayerGraph sized_graph_of(const SailorRun& run, std::int64_t samples, const SailorEntry& entry) {
  try {
    return sized_graph(run.network, {run.device_kind, run.precision, samples});
  } catch (const InputError& error) {
    entry.node.fail(error.message(), error.hint());
  }
}

LayerGraph sailor_graph(const SailorRun& run, std::int64_t samples, const SailorEntry& entry, const std::string& file) {
  LayerGraph graph = sized_graph_of(run, samples, entry);
  graph.source = fmt::format(
      "times imported from the profile {} for Sailor; sizes computed: architecture {} ({}) in {} by the cost model of "
      "docs/explanation/cost-model.md, at block granularity",
      std::filesystem::path(file).filename().string(), run.network.name, run.network.summary, to_string(run.precision));
  graph.origin = Origin::Measured;
  graph.parameter_bytes = parameter_bytes(run.precision);
  const std::vector<SailorTimes> times = times_of_layers(entry, graph);
  for (const LayerId id : indices(graph.layers)) {
    Layer& layer = graph.layers[id];
    layer.forward = times[id.value()].forward;
    layer.backward = times[id.value()].backward;
    layer.backward_weight = layer.backward / 2.0;
    layer.type.clear();  // the first block has times of its own
  }
  check_graph(graph, entry.node);
  return graph;
}

/// The product with the table of words is such a part of the last layer that its time bounds the layer's.
bool lacks_products(const Architecture& network, const LayerGraph& graph) {
  const auto operators = operators_of_layers(network, Granularity::Block);
  const auto products = [&](LayerId layer) {
    double macs = 0.0;
    for (const OperatorId id : operators[layer]) macs += static_cast<double>(network.operators[id].macs);
    return macs;
  };
  const LayerId last(graph.layers.size() - 1);
  double macs = 0.0;
  Seconds time;
  for (const LayerId id : indices(graph.layers)) {
    if (id == last) continue;
    macs += products(id);
    time += graph.layers[id].forward;
  }
  return products(last) * time.value() > kMostSpeedup * macs * graph.layers[last].forward.value();
}

}  // namespace

SailorProfile import_sailor(std::string_view text, const std::string& file_name, const SailorRun& run) {
  if (run.network.tokens == 0) {
    throw InputError("the network " + quote(run.network.name) + " takes images", {"", 0, 0, "--model"},
                     "Sailor profiles language models");
  }
  const YamlNode root = parse_yaml(text, file_name);
  const SailorFile file = read_sailor_file(root);
  const std::set<std::int64_t> degrees = degrees_in(file);
  if (!degrees.contains(1)) {
    root.fail(fmt::format("expected profiles of one device, the tensor degree 1, found only the degrees {}",
                          fmt::join(degrees, ", ")),
              "a model file has no times of tensor groups");
  }
  SailorProfile profile;
  profile.has_further_degrees = degrees.size() > 1;
  for (const auto& [samples, profiles] : file) {
    const auto alone = profiles.find(1);
    if (alone == profiles.end()) continue;
    profile.model.profiles.push_back(sailor_graph(run, samples, alone->second, file_name));
  }
  profile.lacks_last_products = lacks_products(run.network, profile.model.profiles.front());
  return profile;
}

}  // namespace stagecraft
