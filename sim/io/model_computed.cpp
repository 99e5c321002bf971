#include "sim/io/model_computed.hpp"

#include "sim/base/text.hpp"
#include "sim/io/yaml_values.hpp"
#include "sim/workload/catalogue.hpp"
#include "sim/workload/computed_profiles.hpp"
#include "sim/workload/image_draft.hpp"
#include "sim/workload/transformer.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

constexpr std::int64_t kMostTokens = largest_transformer().sequence;

Recipe read_recipe(const YamlNode& node) {
  node.allow_keys({"architecture", "image", "sequence", "precision", "granularity", "selective_recompute"});
  Recipe recipe;
  recipe.architecture = read_name(node.at("architecture"));
  if (const auto image = node.find("image")) recipe.image = read_count(*image, 1, ImageLimits::kPixels);
  if (const auto sequence = node.find("sequence")) recipe.sequence = read_sequence(*sequence);
  if (const auto precision = node.find("precision")) recipe.precision = read_precision(*precision);
  recipe.granularity = read_granularity(node.at("granularity"));
  if (const auto selective = node.find("selective_recompute")) recipe.selective_recompute = read_bool(*selective);
  return recipe;
}

/// Files that were written before do not tell which parameters are those of experts.
void fill_in_experts(const LayerGraph& computed, LayerGraph& given) {
  const bool tells = std::ranges::any_of(given.layers, [](const Layer& each) { return each.experts > Bytes(0); });
  if (tells || given.layers.size() != computed.layers.size()) return;
  for (const LayerId id : indices(given.layers)) given.layers[id].experts = computed.layers[id].experts;
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
  if (found.work != computed.work) return "the work of a sample";
  return found.input == computed.input ? "" : "the input";
}

/// Says what the catalogue lacks for a recipe, at the value that asks for it.
[[noreturn]] void refuse_recipe(const YamlNode& root, const Recipe& recipe) {
  const YamlNode node = root.at("computed");
  const std::string leave = "leave the key 'computed' out: times of other sizes are then extrapolated";
  const std::string kind = root.at("device").text();
  if (!find_device(kind)) root.at("device").fail("the catalogue has no device " + quote(kind), leave);
  if (find_architecture(recipe.architecture)) {
    const bool has_images = find_sequence_network(recipe.architecture, 1) == std::nullopt;
    const std::string key = has_images ? "sequence" : "image";
    node.at(key).fail("the network " + quote(recipe.architecture) + " has no " + key + "s",
                      "leave the key " + quote(key) + " out");
  }
  std::vector<std::string> known;
  for (const WorkloadInfo& network : known_architectures()) known.push_back(network.name);
  node.at("architecture")
      .fail("the catalogue has no network " + quote(recipe.architecture),
            suggest_name(recipe.architecture, known) + "; or " + leave);
}

/// The model that the file's recipe describes, for the kind and the size of `given`.
Model model_of(const YamlNode& root, const Recipe& recipe, const LayerGraph& given,
               const std::vector<DeviceDescription>& own) {
  try {
    std::optional<Model> model = computed_model(recipe, given.device_kind, given.microbatch_size, {}, own);
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

void check_stated_bytes(const YamlNode& root, const LayerGraph& given, const LayerGraph& computed) {
  const std::int64_t expected = computed.parameter_bytes.value_or(kPlainParameterBytes);
  if (given.parameter_bytes.value_or(expected) == expected) return;
  root.at("parameter_bytes")
      .fail_expected(std::to_string(expected) + ", those of a parameter in " + computed.precision);
}

/// Takes from the computed work what the file leaves out.
void fill_in_work(const YamlNode& root, const SampleWork& computed, SampleWork& given) {
  if (!root.find("flops")) given.forward = computed.forward;
  if (!root.find("masked_flops")) given.masked = computed.masked;
  if (!root.find("tokens")) given.tokens = computed.tokens;
}

}  // namespace

std::string read_precision(const YamlNode& node) {
  std::vector<std::pair<std::string, std::string>> choices;
  for (const char* precision : kPrecisions) choices.emplace_back(precision, precision);
  return read_choice(node, choices);
}

std::string read_granularity(const YamlNode& node) {
  return read_choice<std::string>(
      node, {{"operator", "operator"}, {"layer", "layer"}, {"residual", "residual"}, {"block", "block"}});
}

std::int64_t read_sequence(const YamlNode& node) { return read_count(node, 1, kMostTokens); }

Model computed_alone(const YamlNode& root, LayerGraph header, const std::vector<DeviceDescription>& own) {
  root.allow_keys({"schema", "model", "device", "precision", "microbatch_size", "source", "origin", "computed"});
  header.microbatch_size = read_count(root.at("microbatch_size"), 1, kMostProfiledSamples);
  Model model = model_of(root, read_recipe(root.at("computed")), header, own);
  LayerGraph& graph = model.profiles.front();
  check_stated_precision(header, graph, root.find("precision"));
  graph.name = header.name;
  if (!header.source.empty()) graph.source = header.source;
  return model;
}

Model computed_as_given(const YamlNode& root, LayerGraph given) {
  const YamlNode node = root.at("computed");
  const Recipe recipe = read_recipe(node);
  Model model = model_of(root, recipe, given, {});
  check_stated_precision(given, model.profiles.front(), root.find("precision"));
  check_stated_bytes(root, given, model.profiles.front());
  if (!root.find("tied")) given.tied = model.profiles.front().tied;
  fill_in_work(root, model.profiles.front().work, given.work);
  fill_in_experts(model.profiles.front(), given);
  const std::string differs = difference(given, model.profiles.front());
  if (!differs.empty()) {
    node.fail("the figures are not those that the cost model gives for this network: " + differs + " differs",
              "leave the key 'computed' out if you have changed them, or write the file anew with 'stagecraft model'");
  }
  given.origin = Origin::Computed;
  given.precision = model.profiles.front().precision;
  given.parameter_bytes = model.profiles.front().parameter_bytes;
  model.profiles.front() = std::move(given);
  return model;
}

}  // namespace stagecraft
