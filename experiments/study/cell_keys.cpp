// The keys of a cell: how each is read from a study file, and which part of the cell's run it sets.
#include "experiments/study/cell_keys.hpp"

#include "experiments/run/chosen_size.hpp"
#include "experiments/run/external_planner.hpp"
#include "experiments/run/limits.hpp"
#include "experiments/run/option_text.hpp"
#include "experiments/run/set_option.hpp"
#include "experiments/study/cell_key.hpp"
#include "experiments/study/cell_spec.hpp"
#include "experiments/study/limits.hpp"
#include "experiments/study/manifest.hpp"
#include "experiments/study/option_keys.hpp"
#include "experiments/study/replan_key.hpp"
#include "experiments/study/schedule_key.hpp"
#include "experiments/study/vary_keys.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/json.hpp"
#include "sim/io/model_computed.hpp"
#include "sim/io/yaml_values.hpp"
#include "sim/model/noise.hpp"
#include "sim/model/precision.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "sim/workload/transformer.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace stagecraft {
namespace {

/// The keys that are paths, for messages.
const std::vector<std::string>& path_keys() {
  static const std::vector<std::string> kKeys = {"PLANNER.KEY",   "training.KEY", "vary.KEY",
                                                 "platform.PATH", "model.PATH",   "tag.NAME"};
  return kKeys;
}

const std::vector<CellKey>& plain_keys();
const std::vector<CellKey>& training_keys();

/// The whole name of a key that is written without its group, `training.` or `vary.`; empty for any other name.
std::string with_group(const std::string& name) {
  Variation variation;
  for (const char* group : {"training.", "vary."}) {
    std::string whole_name = group + name;
    if (find_cell_key(training_keys(), whole_name) != nullptr || vary_factor(whole_name, variation) != nullptr)
      return whole_name;
  }
  return {};
}

/// Refuses a name that no key of a cell has.
[[noreturn]] void refuse_unknown_key(const YamlNode& node, const std::string& name,
                                     const std::vector<std::string>& known) {
  const std::string meant = with_group(name);
  node.fail("there is no key " + quote(name) + " of a cell",
            meant.empty() ? suggest_name(name, known) : "did you mean " + quote(meant) + "?");
}

/// Whether the name is that of a group of keys and a path in it.
bool is_path_key(std::string_view name) {
  const std::size_t dot = name.find('.');
  return dot != std::string_view::npos && dot + 1 < name.size() && !is_option_key(name);
}

constexpr const char* kLargestSize = "max";  // of `microbatch_size`
constexpr const char* kNodeCount = "platform.nodes.count";
constexpr const char* kPrecision = "model.computed.precision";
constexpr const char* kSequence = "model.computed.sequence";
constexpr const char* kGranularity = "model.computed.granularity";
constexpr const char* kSelectiveRecompute = "model.computed.selective_recompute";
constexpr const char* kZero = "training.zero";
/// Keys that are short for others, under whose names cells keep them.
constexpr std::array<std::pair<std::string_view, const char*>, 6> kShortKeys = {
    {{"nodes", kNodeCount},
     {"precision", kPrecision},
     {"sequence", kSequence},
     {"granularity", kGranularity},
     {"selective_recompute", kSelectiveRecompute},
     {"zero", kZero}}};

/// Reads `planner: NAME`, or `planner: {name: NAME, label: …, KEY: VALUE, …}`, where KEY is an option of the planner or
/// one of `kOwnKeys`. An external planner gets all but its label as options.
void read_planner(const YamlNode& node, Keys& into) {
  const bool is_map = node.kind() == YamlKind::Map;
  const YamlNode name_node = is_map ? node.at("name") : node;
  const std::string name = read_name(name_node);
  if (name == "exec:") name_node.fail_expected("the path of a program after exec:");
  if (is_of_client(name)) name_node.fail("a study has no planners of a client", "exec:PATH is a program of your own");
  if (!is_external(name)) static_cast<void>(read_word(name_node, planner_names()));
  set_key(into, "planner", name);
  if (!is_map) return;
  for (const auto& [key, value] : node.entries()) {
    if (key == "name") continue;
    const bool is_key = std::ranges::find(kOwnKeys, key) != kOwnKeys.end();
    if (key == "label" || (is_key && !is_external(name))) {
      find_cell_key(plain_keys(), key)->read(value, into);
    } else {
      read_planner_option(name, key, value, into);
    }
  }
}

/// Reads a tag: a word that the user chooses, and that only tables use.
void read_tag(const std::string& key, const YamlNode& node, Keys& into) {
  static_cast<void>(read_name(node));
  set_key(into, key, read_detail(node));
}

void read_share(const YamlNode& node, Keys& into) {
  const double share = read_number(node);
  if (share > 1.0) node.fail_expected("a number from 0 to 1");
  set_key(into, "training.input_gradient_release", share);
}

void read_bucket(const YamlNode& node, Keys& into) {
  set_key(into, "training.gradient_bucket", format_whole_bytes(read_bytes(node)));
}

void take_gradient_copies(const Detail& value, CellSpec& spec) {
  spec.planning.training.gradient_copies = whole(value);
  spec.planning.training.gives_gradient_copies = true;
}

void take_optimizer_copies(const Detail& value, CellSpec& spec) {
  spec.planning.training.optimizer_copies = whole(value);
  spec.planning.training.gives_optimizer_copies = true;
}

/// The keys `training.KEY`, also written `training: {KEY: VALUE, …}`: what training keeps in memory, and
/// how it exchanges gradients.
const std::vector<CellKey>& training_keys() {
  static const std::vector<CellKey> kKeys = {
      key("training.gradient_copies", take_gradient_copies, count_key, 0, run_limits::kMostCopies),
      key("training.optimizer_copies", take_optimizer_copies, count_key, 0, run_limits::kMostCopies),
      key(
          "training.boundary_buffers",
          [](const Detail& value, CellSpec& spec) { spec.planning.training.boundary_buffers = whole(value); },
          count_key, 0, run_limits::kMostCopies),
      {"training.input_gradient_release", read_share,
       [](const Detail& value, CellSpec& spec) { spec.planning.training.input_gradient_release = as<double>(value); }},
      {"training.gradient_bucket", read_bucket,
       [](const Detail& value, CellSpec& spec) {
         spec.planning.training.gradient_bucket = *parse_bytes(word(value)).value;
       }},
      key(
          "training.stash",
          [](const Detail& value, CellSpec& spec) {
            if (word(value) == "input") spec.planning.training.stash = StashConvention::Input;
          },
          word_key, std::vector<std::string>{"autograd", "input"}),
      key(
          "training.zero", [](const Detail& value, CellSpec& spec) { spec.planning.training.zero = whole(value); },
          count_key, 0, kMostDivided),
      key(
          "training.recipe",
          [](const Detail& value, CellSpec& spec) { spec.planning.training.recipe = optimizer_recipe_of(word(value)); },
          word_key, optimizer_recipe_names()),
  };
  return kKeys;
}

void read_noise(const YamlNode& node, Keys& into) {
  const double sigma = read_number(node);
  if (sigma > kLargestSigma) node.fail_expected("a number from 0 to " + format_number(kLargestSigma));
  set_key(into, "profile_noise", sigma);
}

void read_training_key(const std::string& name, const YamlNode& node, Keys& into) {
  const std::string prefix = "training.";
  if (const CellKey* known = find_cell_key(training_keys(), prefix + name)) {
    known->read(node, into);
    return;
  }
  std::vector<std::string> names;
  for (const CellKey& each : training_keys()) names.push_back(each.name.substr(prefix.size()));
  node.fail("there is no training key " + quote(name), suggest_name(name, names));
}

void read_training(const YamlNode& node, Keys& into) {
  for (const auto& [name, value] : node.entries()) read_training_key(name, value, into);
}

void take_microbatch_size(const Detail& value, CellSpec& spec) {
  const auto* word = std::get_if<std::string>(&value.value);
  spec.at_largest_size = word != nullptr && *word == kLargestSize;
  spec.planning.fastest_size = word != nullptr && *word == kFastestSize;
  if (!spec.at_largest_size && !spec.planning.fastest_size) spec.planning.microbatch_size = whole(value);
}

std::vector<CellKey> joined_keys(std::vector<CellKey> keys, const std::vector<CellKey>& more) {
  keys.insert(keys.end(), more.begin(), more.end());
  return keys;
}

/// The keys with a fixed name, as opposed to paths such as `PLANNER.KEY` or `platform.PATH`.
// NOLINTNEXTLINE(readability-function-size): a table
const std::vector<CellKey>& plain_keys() {
  static const std::vector<CellKey> kKeys = joined_keys(
      {
          key(
              "model", [](const Detail& value, CellSpec& spec) { spec.model = word(value); }, name_key),
          key(
              "platform", [](const Detail& value, CellSpec& spec) { spec.platform = word(value); }, name_key),
          {"planner", read_planner, [](const Detail& value, CellSpec& spec) { spec.planner = word(value); }},
          key("label", nullptr, name_key),
          {"schedule", read_schedule,
           [](const Detail& value, CellSpec& spec) {
             spec.planning.schedule = read_schedule_option("schedule", word(value));
           }},
          key(
              "microbatches", [](const Detail& value, CellSpec& spec) { spec.planning.microbatches = whole(value); },
              count_key, 1, run_limits::kMostMicrobatches),
          {"microbatch_size",
           count_or_word_key("microbatch_size", "samples", run_limits::kMostSamples, {kLargestSize, kFastestSize}),
           take_microbatch_size},
          key(
              "global_batch", [](const Detail& value, CellSpec& spec) { spec.planning.global_batch = whole(value); },
              count_key, 1, run_limits::kMostSamples),
          key(
              "samples_per_update",
              [](const Detail& value, CellSpec& spec) { spec.planning.samples_per_update = whole(value); }, count_key,
              1, run_limits::kMostSamples),
          key(
              "run_length", [](const Detail& value, CellSpec& spec) { spec.planning.run_length = whole(value); },
              count_key, 1, run_limits::kMostMicrobatches),
          key(
              "memory",
              [](const Detail& value, CellSpec& spec) {
                spec.planning.memory = read_memory_option("memory", word(value));
              },
              word_key, memory_policies()),
          {"nodes", count_key(kNodeCount, 1, run_limits::kMostMicrobatches)},
          {"precision", word_key(kPrecision, {kPrecisions.begin(), kPrecisions.end()})},
          {"sequence", count_key(kSequence, 1, largest_transformer().sequence)},
          {"granularity",
           [](const YamlNode& node, Keys& into) { set_key(into, kGranularity, read_granularity(node)); }},
          {"selective_recompute",
           [](const YamlNode& node, Keys& into) { set_key(into, kSelectiveRecompute, read_bool(node)); }},
          {"zero", count_key(kZero, 0, kMostDivided)},
          key(
              "engine",
              [](const Detail& value, CellSpec& spec) {
                if (word(value) == to_string(EngineChoice::Evaluate)) spec.engine = EngineChoice::Evaluate;
              },
              word_key, std::vector<std::string>{"replay", "evaluate"}),
          key(
              "network",
              [](const Detail& value, CellSpec& spec) {
                if (word(value) == to_string(NetworkModel::Analytic)) spec.network = NetworkModel::Analytic;
              },
              word_key, std::vector<std::string>{"platform", "analytic"}),
          key(
              "iterations", [](const Detail& value, CellSpec& spec) { spec.planning.iterations = whole(value); },
              count_key, 1, run_limits::kMostIterations),
          key(
              "events", [](const Detail& value, CellSpec& spec) { spec.events = word(value); }, name_key),
          {"replan", read_replan, [](const Detail& value, CellSpec& spec) { spec.replan = word(value); }},
          {"profile_noise", read_noise,
           [](const Detail& value, CellSpec& spec) { spec.profile_noise = as<double>(value); }},
          {"training", read_training},
          {"vary", read_vary},
      },
      group_keys());
  return kKeys;
}

/// A value of a model or a platform, which is checked when the file is read. Device files are no such values: a study
/// is resumed by the content of its files, which it has to know before its cells.
void read_file_value(const std::string& name, const YamlNode& node, Keys& into) {
  const Detail value = read_detail(node, study_limits::kMostNodes);
  if (name.ends_with(".device_file") || to_json(value, -1).find("\"device_file\":") != std::string::npos) {
    node.fail("the values of a study name no device file", "name it in a platform file, and that in the study");
  }
  set_key(into, name, value);
}

}  // namespace

void read_cell_key(const std::string& name, const YamlNode& node, Keys& into) {
  if (const CellKey* plain = find_cell_key(plain_keys(), name)) {
    plain->read(node, into);
  } else if (name.starts_with("training.")) {
    read_training_key(name.substr(std::string("training.").size()), node, into);
  } else if (name.starts_with("vary.")) {
    read_vary_key(name.substr(std::string("vary.").size()), node, into);
  } else if (name.starts_with("tag.") && !name.ends_with('.')) {
    read_tag(name, node, into);
  } else if ((name.starts_with("model.") || name.starts_with("platform.")) && !name.ends_with('.')) {
    read_file_value(name, node, into);
  } else if (is_option_key(name)) {
    read_option_key(name, node, into);
  } else {
    std::vector<std::string> known = path_keys();
    for (const CellKey& each : plain_keys()) known.push_back(each.name);
    refuse_unknown_key(node, name, known);
  }
}

std::string read_cell_key_name(const YamlNode& node) {
  std::string name = read_name(node);
  for (const auto& [short_name, whole_name] : kShortKeys) {
    if (name == short_name) return whole_name;
  }
  std::vector<std::string> known;
  for (const CellKey& plain : plain_keys()) {
    if (plain.name != "label" && plain.name != "training" && plain.name != "vary") known.push_back(plain.name);
  }
  if (std::ranges::find(known, name) != known.end()) return name;
  if (is_option_key(name)) {
    check_option_key(name, node);
    return name;
  }
  if (is_path_key(name)) return name;
  known.insert(known.end(), path_keys().begin(), path_keys().end());
  refuse_unknown_key(node, name, known);
}

std::string suggest_place(const std::string& name) {
  const bool is_own = find_cell_key(plain_keys(), name) != nullptr || is_path_key(name);
  const std::string meant = is_own ? name : with_group(name);
  if (meant.empty()) return {};
  return quote(meant) + " is a key of cells: 'base' has its value for all, 'matrix' lists several";
}

bool is_cell_key(std::string_view name) {
  if (find_cell_key(plain_keys(), name) != nullptr) return true;
  return is_option_key(name) ? names_planner(name) || !suggest_option_name(std::string(name)).empty()
                             : is_path_key(name);
}

CellSpec read_cell(const Cell& cell) {
  CellSpec spec;
  if (const Detail* planner = find_key(cell.keys, "planner")) spec.planner = word(*planner);
  const std::string own_options = option_prefix(spec.planner);
  for (const auto& [name, value] : cell.keys) {
    const CellKey* known = find_cell_key(plain_keys(), name);
    if (known == nullptr) known = find_cell_key(training_keys(), name);
    if (known != nullptr) {
      if (known->take != nullptr) known->take(value, spec);
    } else if (name.starts_with(own_options)) {
      spec.planning.options.emplace_back(name.substr(own_options.size()), option_text(value));
    } else if (double* factor = vary_factor(name, spec.variation)) {
      *factor = as<double>(value);
    } else if (name.starts_with("model.")) {
      spec.model_values.emplace_back(name.substr(std::string("model.").size()), value);
    } else if (name.starts_with("platform.")) {
      spec.platform_values.emplace_back(name.substr(std::string("platform.").size()), value);
    }
  }
  const bool is_random = !spec.events.empty() || spec.profile_noise > 0.0 || is_external(spec.planner);
  if (is_random) spec.noise_seed = noise_seed(cell);
  return spec;
}

}  // namespace stagecraft
