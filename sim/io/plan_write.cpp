#include "sim/base/text.hpp"
#include "sim/io/json.hpp"
#include "sim/io/plan_computed.hpp"
#include "sim/io/plan_degrees.hpp"
#include "sim/io/plan_file.hpp"
#include "sim/io/yaml_text.hpp"

namespace stagecraft {
namespace {

Detail layer_list(const std::vector<LayerId>& layers, const LayerGraph& graph) {
  Detail::List list;
  for (LayerId layer : layers) list.emplace_back(graph.layers[layer].name);
  return list;
}

void add_covered(const Covered& covered, Detail::Record& record) {
  if (covered.all()) return;
  Detail::Record microbatches = {{"first", covered.first}, {"of", covered.of}};
  if (covered.from > 0) microbatches.emplace(microbatches.begin(), "from", covered.from);
  record.emplace_back("microbatches", std::move(microbatches));
}

Detail segment_item(const Recompute& segment, const LayerGraph& graph) {
  Detail layers = layer_list(segment.layers, graph);
  if (segment.covered.all() && !segment.swaps_checkpoint) return layers;
  Detail::Record record = {{"layers", std::move(layers)}};
  add_covered(segment.covered, record);
  if (segment.swaps_checkpoint) record.emplace_back("checkpoint", "host");
  return record;
}

Detail swap_item(const Swap& swap, const LayerGraph& graph) {
  if (swap.layers.size() == 1 && swap.prefetch && swap.covered.all()) return graph.layers[swap.layers.front()].name;
  Detail::Record record = {{"layers", layer_list(swap.layers, graph)}};
  add_covered(swap.covered, record);
  if (!swap.prefetch) record.emplace_back("prefetch", false);
  return record;
}

Detail share_list(const std::vector<std::int64_t>& shares) { return Detail::List(shares.begin(), shares.end()); }

/// A plain name for a device alone.
Detail group_item(const Group& group, const Platform& platform) {
  if (group.is_alone()) return platform.devices[group.lead()].name;
  Detail::List devices;
  for (DeviceId device : group.devices) devices.emplace_back(platform.devices[device].name);
  return devices;
}

Detail stage_record(const Stage& stage, const LayerGraph& graph, const Platform& platform) {
  Detail::List devices;
  for (const Group& group : stage.replicas) devices.push_back(group_item(group, platform));
  Detail::List ring;
  for (std::uint32_t turn : stage.ring) ring.emplace_back(platform.devices[stage.replicas[turn].lead()].name);
  Detail::List recompute;
  for (const Recompute& segment : actions_of<Recompute>(stage)) recompute.push_back(segment_item(segment, graph));
  Detail::List swap;
  for (const Swap& each : actions_of<Swap>(stage)) swap.push_back(swap_item(each, graph));
  Detail::Record record = {{"layers", layer_list(stage.layers, graph)},
                           {"devices", std::move(devices)},
                           {"replication", stage.replication == Replication::Split ? "split" : "round-robin"},
                           {"recompute", std::move(recompute)},
                           {"swap", std::move(swap)}};
  if (!stage.shares.empty()) record.emplace(record.begin() + 3, "shares", share_list(stage.shares));
  if (!ring.empty()) record.emplace(record.begin() + 2, "ring", std::move(ring));
  if (stage.swap_backlog) record.emplace_back("swap_backlog", *stage.swap_backlog);
  if (stage.weight_versions) record.emplace_back("weight_versions", *stage.weight_versions);
  if (stage.swap_weight_versions) record.emplace_back("swap_weight_versions", true);
  if (stage.in_flight) record.emplace_back("in_flight", *stage.in_flight);
  if (stage.pipeline != 0) record.emplace_back("pipeline", std::int64_t{stage.pipeline});
  return record;
}

Detail pattern_record(const Pattern& pattern) {
  Detail::List operations;
  for (const PatternOperation& operation : pattern.operations) {
    operations.push_back(Detail::Record{{operation.is_cut ? "cut" : "stage", std::int64_t{operation.index}},
                                        {"op", operation.backward ? "backward" : "forward"},
                                        {"start", format_seconds(operation.start)},
                                        {"shift", operation.shift}});
  }
  return Detail::Record{{"period", format_seconds(pattern.period)},
                        {"release", pattern.timed ? "timed" : "asap"},
                        {"operations", std::move(operations)}};
}

Detail::Record predicted_record(const Figures& figures, const Platform& platform) {
  Detail::Record record;
  if (figures.iteration_time) record.emplace_back("iteration_time", format_seconds(*figures.iteration_time));
  if (figures.period) record.emplace_back("period", format_seconds(*figures.period));
  Detail::Record memory;
  for (const auto& [device, peak] : figures.peak_memory) {
    memory.emplace_back(platform.devices[device].name, format_bytes(peak));
  }
  if (!memory.empty()) record.emplace_back("peak_memory", std::move(memory));
  return record;
}

}  // namespace

Detail::Record schedule_record(const ScheduleChoice& schedule) {
  Detail::Record record = {{"name", schedule.name}};
  record.insert(record.end(), schedule.parameters.begin(), schedule.parameters.end());
  return record;
}

Detail::Record training_record(const Training& training) {
  Detail::Record record = {{"gradient_copies", training.gradient_copies},
                           {"optimizer_copies", training.optimizer_copies},
                           {"boundary_buffers", training.boundary_buffers}};
  if (training.input_gradient_release > 0.0) {
    record.emplace_back("input_gradient_release", training.input_gradient_release);
  }
  if (training.gradient_bucket) record.emplace_back("gradient_bucket", format_bytes(*training.gradient_bucket));
  if (training.stash == StashConvention::Input) record.emplace_back("stash", "input");
  if (training.recipe) record.emplace_back("recipe", to_string(*training.recipe));
  if (training.zero > 0) record.emplace_back("zero", training.zero);
  return record;
}

Detail::Record plan_record(const Plan& plan, const LayerGraph& graph, const Platform& platform) {
  Detail::Record root = {{"schema", "stagecraft/plan/1"}};
  const auto add_text = [&](const char* key, const std::string& text) {
    if (!text.empty()) root.emplace_back(key, text);
  };
  add_text("planner", plan.planner);
  add_text("model", plan.model);
  add_text("platform", plan.platform);
  add_text("model_hash", plan.model_hash);
  add_text("platform_hash", plan.platform_hash);
  if (!plan.computed.is_empty()) root.emplace_back("computed", computed_choice_record(plan.computed));
  root.emplace_back("microbatch_size", plan.microbatch_size);
  root.emplace_back("microbatches", plan.microbatches);
  if (plan.rounds_per_update != 1) root.emplace_back("rounds_per_update", plan.rounds_per_update);
  if (plan.degrees != Degrees()) root.emplace_back("groups", degrees_record(plan.degrees));
  root.emplace_back("schedule", schedule_record(plan.schedule));
  root.emplace_back("training", training_record(plan.training));
  Detail::List stages;
  for (const Stage& stage : plan.stages) stages.push_back(stage_record(stage, graph, platform));
  root.emplace_back("stages", std::move(stages));
  if (!plan.pipeline_shares.empty()) root.emplace_back("pipeline_shares", share_list(plan.pipeline_shares));
  if (plan.pattern) root.emplace_back("pattern", pattern_record(*plan.pattern));
  Detail::Record predicted = predicted_record(plan.predicted, platform);
  if (!predicted.empty()) root.emplace_back("predicted", std::move(predicted));
  return root;
}

std::string write_plan_yaml(const Plan& plan, const LayerGraph& graph, const Platform& platform) {
  return to_yaml(plan_record(plan, graph, platform));
}

std::string plan_to_json(const Plan& plan, const LayerGraph& graph, const Platform& platform) {
  return to_json(plan_record(plan, graph, platform)) + "\n";
}

}  // namespace stagecraft
