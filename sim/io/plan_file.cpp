#include "sim/io/plan_file.hpp"

#include "sim/io/plan_computed.hpp"
#include "sim/io/plan_degrees.hpp"
#include "sim/io/plan_training.hpp"
#include "sim/io/text_file.hpp"
#include "sim/io/yaml_values.hpp"
#include "sim/model/graph_order.hpp"
#include "sim/model/training_choice.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace stagecraft {
namespace {

constexpr std::int64_t kMostShare = 1 << 20;
constexpr std::int64_t kLongestWindow = 4096;  // microbatches, of which a memory action covers some
constexpr std::size_t kMostProblems = 1000;    // each is a sentence, and an alias repeats it

/// The names of the model and the platform, and the problems found so far.
struct Resolver {
  const LayerGraph* graph;
  const Platform* platform;
  std::unordered_map<std::string, LayerId> layers;
  std::unordered_map<std::string, DeviceId> devices;
  std::vector<LayerId> order;
  IndexVector<LayerId, std::size_t> position;  ///< in the canonical order
  std::vector<InputError>* problems;
};

Resolver make_resolver(const LayerGraph& graph, const Platform& platform, std::vector<InputError>& problems) {
  Resolver names{&graph, &platform, {}, {}, canonical_order(graph), {}, &problems};
  for (LayerId id : indices(graph.layers)) names.layers.emplace(graph.layers[id].name, id);
  for (DeviceId id : indices(platform.devices)) names.devices.emplace(platform.devices[id].name, id);
  names.position.resize(graph.layers.size());
  for (std::size_t i = 0; i < names.order.size(); ++i) names.position[names.order[i]] = i;
  return names;
}

void add_problem(Resolver& names, const InputPlace& place, const std::string& message, const std::string& hint = {}) {
  names.problems->emplace_back(message, place, hint);
}

/// Whether there are too many problems to report further ones. The first time, adds the remark that there are more.
bool has_told_enough(Resolver& names) {
  if (names.problems->size() == kMostProblems) names.problems->emplace_back("and more problems");
  return names.problems->size() > kMostProblems;
}

template <class Items>
std::vector<std::string> names_of(const Items& items) {
  std::vector<std::string> result;
  for (const auto& item : items) result.push_back(item.name);
  return result;
}

std::optional<LayerId> find_layer(Resolver& names, const YamlNode& node) {
  const std::string name = read_name(node);
  const auto found = names.layers.find(name);
  if (found != names.layers.end()) return found->second;
  if (has_told_enough(names)) return std::nullopt;
  add_problem(names, node.place(), "the model " + quote(names.graph->name) + " has no layer " + quote(name),
              suggest_name(name, names_of(names.graph->layers)));
  return std::nullopt;
}

std::optional<DeviceId> find_device(Resolver& names, const YamlNode& node, const std::string& name) {
  const auto found = names.devices.find(name);
  if (found != names.devices.end()) return found->second;
  if (has_told_enough(names)) return std::nullopt;
  add_problem(names, node.place(), "the platform " + quote(names.platform->spec.name) + " has no device " + quote(name),
              suggest_name(name, names_of(names.platform->devices)));
  return std::nullopt;
}

std::vector<LayerId> read_layer_list(Resolver& names, const YamlNode& node) {
  std::vector<LayerId> layers;
  for (const YamlNode& item : node.items()) {
    if (const auto layer = find_layer(names, item)) layers.push_back(*layer);
  }
  std::ranges::stable_sort(layers, {}, [&](LayerId layer) { return names.position[layer]; });
  return layers;
}

std::vector<LayerId> read_layer_range(Resolver& names, const YamlNode& node) {
  node.allow_keys({"from", "to"});
  const std::optional<LayerId> from = find_layer(names, node.at("from"));
  const std::optional<LayerId> to = find_layer(names, node.at("to"));
  if (!from || !to) return {};
  const std::size_t first = names.position[*from];
  const std::size_t last = names.position[*to];
  if (first > last) {
    if (has_told_enough(names)) return {};
    add_problem(names, node.place(), "the range is empty: 'from' comes after 'to' in the canonical order");
    return {};
  }
  const auto begin = names.order.begin();
  return {begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(last) + 1};
}

Covered read_covered(const YamlNode& node) {
  node.allow_keys({"from", "first", "of"});
  Covered covered;
  covered.of = read_count(node.at("of"), 1, kLongestWindow);
  if (const auto from = node.find("from")) covered.from = read_count(*from, 0, covered.of - 1);
  covered.first = read_count(node.at("first"), 1, covered.of - covered.from);
  return covered.all() ? Covered() : covered;
}

/// The `layers` of an action: at least one is named.
std::vector<LayerId> read_action_layers(Resolver& names, const YamlNode& layers) {
  if (layers.items().empty()) layers.fail("expected at least one layer, found none");
  return read_layer_list(names, layers);
}

/// A plain name is a segment of one layer.
Recompute read_segment(Resolver& names, const YamlNode& node) {
  Recompute segment;
  if (node.kind() == YamlKind::Text) {
    if (const auto layer = find_layer(names, node)) segment.layers.push_back(*layer);
  } else if (node.kind() == YamlKind::Map) {
    node.allow_keys({"layers", "microbatches", "checkpoint"});
    segment.layers = read_action_layers(names, node.at("layers"));
    if (const auto covered = node.find("microbatches")) segment.covered = read_covered(*covered);
    if (const auto place = node.find("checkpoint")) {
      segment.swaps_checkpoint = read_choice<bool>(*place, {{"device", false}, {"host", true}});
    }
  } else {
    segment.layers = read_action_layers(names, node);
  }
  return segment;
}

void read_recompute(Resolver& names, const YamlNode& node, std::vector<MemoryAction>& memory) {
  for (const YamlNode& item : node.items()) {
    Recompute segment = read_segment(names, item);
    if (!segment.layers.empty()) memory.emplace_back(std::move(segment));
  }
}

/// A plain name is a swap of one layer.
Swap read_swap(Resolver& names, const YamlNode& node) {
  Swap swap;
  if (node.kind() == YamlKind::Text) {
    if (const auto layer = find_layer(names, node)) swap.layers.push_back(*layer);
    return swap;
  }
  node.allow_keys({"layers", "microbatches", "prefetch"});
  swap.layers = read_action_layers(names, node.at("layers"));
  if (const auto covered = node.find("microbatches")) swap.covered = read_covered(*covered);
  if (const auto prefetch = node.find("prefetch")) swap.prefetch = read_bool(*prefetch);
  return swap;
}

void read_swaps(Resolver& names, const YamlNode& node, std::vector<MemoryAction>& memory) {
  std::vector<Swap> swaps;
  for (const YamlNode& item : node.items()) {
    Swap swap = read_swap(names, item);
    if (!swap.layers.empty()) swaps.push_back(std::move(swap));
  }
  std::ranges::stable_sort(swaps, {}, [&](const Swap& swap) { return names.position[swap.layers.front()]; });
  memory.insert(memory.end(), swaps.begin(), swaps.end());
}

/// The ring, given as devices of the stage, of a group the first. Whether it has each of them once is checked by
/// `check_plan`.
std::vector<std::uint32_t> read_ring(Resolver& names, const YamlNode& node, const Stage& stage) {
  std::vector<std::uint32_t> ring;
  if (node.items().empty()) node.fail("expected every device of the stage once, found none");
  for (const YamlNode& item : node.items()) {
    const std::string name = read_name(item);
    const auto device = find_device(names, item, name);
    if (!device) continue;
    const auto found = std::ranges::find(stage.replicas, *device, &Group::lead);
    if (found != stage.replicas.end()) {
      ring.push_back(static_cast<std::uint32_t>(found - stage.replicas.begin()));
    } else if (!has_told_enough(names)) {
      add_problem(names, item.place(), "the ring names " + quote(name) + ", which is not among the stage's devices");
    }
  }
  return ring;
}

std::optional<std::int64_t> read_optional_count(const YamlNode& node, std::string_view key, std::int64_t most) {
  const auto found = node.find(key);
  return found ? std::optional(read_count(*found, 1, most)) : std::nullopt;
}

std::vector<std::int64_t> read_shares(const YamlNode& node) {
  std::vector<std::int64_t> shares;
  for (const YamlNode& item : node.items()) shares.push_back(read_count(item, 1, kMostShare));
  if (shares.empty()) node.fail("expected a share for each, found none");
  return shares;
}

/// The devices of a group, without those that the platform does not have.
Group read_group(Resolver& names, const YamlNode& node) {
  Group group;
  for (const YamlNode& item : node.items()) {
    if (const auto device = find_device(names, item, read_name(item))) group.devices.push_back(*device);
  }
  if (node.items().empty()) node.fail("expected the devices of a group, found none");
  return group;
}

/// Lists of devices, one for each group; or plain names, of which `size` that follow each other are a group.
std::vector<Group> read_replicas(Resolver& names, const YamlNode& node, std::int64_t size) {
  std::vector<Group> replicas;
  std::int64_t missing = 0;  // names until a group of plain ones is complete
  for (const YamlNode& item : node.items()) {
    if (item.kind() == YamlKind::List) {
      if (missing > 0) item.fail("expected the other devices of the group before, found another group");
      if (Group group = read_group(names, item); !group.devices.empty()) replicas.push_back(std::move(group));
      continue;
    }
    const auto device = find_device(names, item, read_name(item));
    if (missing == 0) replicas.emplace_back();
    missing = (missing == 0 ? size : missing) - 1;
    if (device) replicas.back().devices.push_back(*device);
    if (missing == 0 && replicas.back().devices.empty()) replicas.pop_back();
  }
  if (missing > 0) node.fail("expected groups of " + std::to_string(size) + " devices, found an incomplete one");
  return replicas;
}

Stage read_stage(Resolver& names, const YamlNode& node, const Degrees& degrees) {
  node.allow_keys({"layers", "devices", "ring", "replication", "shares", "recompute", "swap", "swap_backlog",
                   "weight_versions", "swap_weight_versions", "in_flight", "pipeline"});
  Stage stage;
  const YamlNode layers = node.at("layers");
  stage.layers = layers.kind() == YamlKind::Map ? read_layer_range(names, layers) : read_layer_list(names, layers);
  if (const auto devices = node.find("devices")) stage.replicas = read_replicas(names, *devices, degrees.devices());
  if (const auto ring = node.find("ring")) stage.ring = read_ring(names, *ring, stage);
  if (const auto replication = node.find("replication")) {
    stage.replication = read_choice<Replication>(
        *replication, {{"round-robin", Replication::RoundRobin}, {"split", Replication::Split}});
  }
  if (const auto shares = node.find("shares")) stage.shares = read_shares(*shares);
  if (const auto recompute = node.find("recompute")) read_recompute(names, *recompute, stage.memory);
  if (const auto swap = node.find("swap")) read_swaps(names, *swap, stage.memory);
  if (const auto backlog = node.find("swap_backlog")) stage.swap_backlog = read_count(*backlog, 0, kMostMicrobatches);
  stage.weight_versions = read_optional_count(node, "weight_versions", kMostCopies);
  if (const auto swap = node.find("swap_weight_versions")) stage.swap_weight_versions = read_bool(*swap);
  stage.in_flight = read_optional_count(node, "in_flight", kMostMicrobatches);
  if (const auto pipeline = node.find("pipeline")) {
    stage.pipeline = static_cast<std::uint32_t>(read_count(*pipeline, 0, kMostStages));
  }
  return stage;
}

ScheduleChoice read_schedule(const YamlNode& node) {
  ScheduleChoice schedule;
  schedule.name = read_name(node.at("name"));
  for (const auto& [name, value] : node.entries()) {
    if (name != "name") schedule.parameters.emplace_back(name, read_detail(value));
  }
  return schedule;
}

PatternOperation read_pattern_operation(const YamlNode& node) {
  node.allow_keys({"stage", "cut", "op", "start", "shift"});
  PatternOperation operation;
  const auto stage = node.find("stage");
  const auto cut = node.find("cut");
  if (stage.has_value() == cut.has_value()) node.fail("expected either the key 'stage' or the key 'cut'");
  operation.is_cut = cut.has_value();
  operation.index = static_cast<std::uint32_t>(read_count(cut ? *cut : *stage, 0, kMostStages));
  operation.backward = read_choice<bool>(node.at("op"), {{"forward", false}, {"backward", true}});
  operation.start = read_seconds(node.at("start"));
  if (const auto shift = node.find("shift")) operation.shift = read_count(*shift, 0, kMostMicrobatches);
  return operation;
}

Pattern read_pattern(const YamlNode& node) {
  node.allow_keys({"period", "release", "operations"});
  Pattern pattern;
  const YamlNode period = node.at("period");
  pattern.period = read_seconds(period);
  if (!(pattern.period > Seconds(0))) period.fail_expected("a time of more than zero");
  if (const auto release = node.find("release")) {
    pattern.timed = read_choice<bool>(*release, {{"timed", true}, {"asap", false}});
  }
  for (const YamlNode& item : node.at("operations").items()) {
    pattern.operations.push_back(read_pattern_operation(item));
  }
  return pattern;
}

/// A predicted time. The limit is longer than any model and its microbatches can take, but keeps the error of the
/// prediction a readable number.
Seconds read_claim(const YamlNode& node) {
  const Seconds time = read_seconds(node);
  if (time > Seconds(1e30)) node.fail_expected("a time of at most 1e30 s");
  return time;
}

Figures read_figures(Resolver& names, const YamlNode& node) {
  node.allow_keys({"iteration_time", "period", "peak_memory"});
  Figures figures;
  if (const auto time = node.find("iteration_time")) figures.iteration_time = read_claim(*time);
  if (const auto period = node.find("period")) figures.period = read_claim(*period);
  if (const auto memory = node.find("peak_memory")) {
    for (const auto& [name, value] : memory->entries()) {
      const Bytes peak = read_bytes(value);
      if (const auto device = find_device(names, value, name)) figures.peak_memory.emplace_back(*device, peak);
    }
  }
  return figures;
}

PlanHeader read_plan_header(const YamlNode& root) {
  check_schema(root, "stagecraft/plan/1");
  PlanHeader header;
  const auto set = [&](std::string_view key, std::string& into) {
    if (const auto found = root.find(key)) into = read_name(*found);
  };
  set("planner", header.planner);
  set("model", header.model);
  set("platform", header.platform);
  set("model_hash", header.model_hash);
  set("platform_hash", header.platform_hash);
  if (const auto computed = root.find("computed")) header.computed = read_computed_choice(*computed);
  header.microbatch_size = read_count(root.at("microbatch_size"), 1, kMostMicrobatches);
  if (const auto groups = root.find("groups")) header.degrees = read_degrees(*groups);
  if (const auto training = root.find("training")) header.stash = read_stash(*training);
  return header;
}

}  // namespace

PlanHeader parse_plan_header(std::string_view text, const std::string& file_name) {
  return read_plan_header(parse_yaml(text, file_name));
}

PlanHeader read_plan_header(const std::string& path) { return parse_plan_header(read_text_file(path), path); }

PlanReading parse_plan(std::string_view text, const std::string& file_name, const LayerGraph& graph,
                       const Platform& platform) {
  return read_plan_node(parse_yaml(text, file_name), graph, platform);
}

PlanReading read_plan_node(const YamlNode& root, const LayerGraph& graph, const Platform& platform) {
  const PlanHeader header = read_plan_header(root);
  root.allow_keys({"schema", "planner", "model", "platform", "model_hash", "platform_hash", "computed",
                   "microbatch_size", "microbatches", "rounds_per_update", "groups", "schedule", "training", "stages",
                   "pipeline_shares", "pattern", "predicted"});
  PlanReading reading;
  Resolver names = make_resolver(graph, platform, reading.problems);
  Plan& plan = reading.plan;
  plan.planner = header.planner;
  plan.model = header.model;
  plan.platform = header.platform;
  plan.model_hash = header.model_hash;
  plan.platform_hash = header.platform_hash;
  plan.computed = header.computed;
  plan.degrees = header.degrees;
  plan.microbatch_size = header.microbatch_size;
  plan.microbatches = read_count(root.at("microbatches"), 1, kMostMicrobatches);
  plan.rounds_per_update = read_optional_count(root, "rounds_per_update", kMostMicrobatches).value_or(1);
  const YamlNode schedule = root.at("schedule");
  plan.schedule = read_schedule(schedule);
  reading.schedule = schedule.at("name");
  const auto training = root.find("training");
  plan.training = training ? read_training(*training, graph) : training_of({}, graph);
  const YamlNode stages = root.at("stages");
  for (const YamlNode& item : stages.items()) plan.stages.push_back(read_stage(names, item, plan.degrees));
  if (plan.stages.empty()) stages.fail("expected at least one stage, found none");
  if (const auto shares = root.find("pipeline_shares")) plan.pipeline_shares = read_shares(*shares);
  if (const auto pattern = root.find("pattern")) plan.pattern = read_pattern(*pattern);
  if (const auto predicted = root.find("predicted")) plan.predicted = read_figures(names, *predicted);
  return reading;
}

}  // namespace stagecraft
