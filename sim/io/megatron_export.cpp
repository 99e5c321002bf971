#include "sim/io/megatron_export.hpp"

#include "sim/base/counted.hpp"
#include "sim/base/text.hpp"
#include "sim/io/network_units.hpp"
#include "sim/model/reduced_gradients.hpp"
#include "sim/model/replicas.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>
#include <variant>

namespace stagecraft {
namespace {

[[noreturn]] void refuse_plan_key(const std::string& key, const std::string& message, const std::string& hint = "") {
  throw InputError(message, {"", 0, 0, key}, hint);
}

std::string stage_key(std::size_t stage, const std::string& key) { return fmt::format("stages[{}].{}", stage, key); }

/// Which unit of a network each layer is a part of: 0 the embedding, then the blocks, then the head.
struct UnitsOfLayers {
  explicit UnitsOfLayers(const LayerGraph& graph) : by_layer(graph.layers.size(), 0) {
    const NetworkUnits units = network_units(graph);
    blocks = units.blocks.size();
    const auto add = [&](const std::vector<LayerId>& layers) {
      for (const LayerId layer : layers) by_layer[layer] = sizes.size();
      sizes.push_back(layers.size());
    };
    add(units.embedding);
    for (const std::vector<LayerId>& block : units.blocks) add(block);
    add(units.head);
  }

  [[nodiscard]] bool is_block(std::size_t unit) const { return unit > 0 && unit <= blocks; }
  [[nodiscard]] char symbol(std::size_t unit) const { return unit == 0 ? 'E' : is_block(unit) ? 't' : 'L'; }

  IndexVector<LayerId, std::size_t> by_layer;
  std::vector<std::size_t> sizes;  ///< layers of each unit
  std::size_t blocks = 0;
};

/// The units of some consecutive layers; none if they are a part of one.
std::optional<std::vector<std::size_t>> whole_units(const std::vector<LayerId>& layers, const UnitsOfLayers& units) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < layers.size();) {
    const std::size_t unit = units.by_layer[layers[i]];
    const std::size_t end = i + units.sizes[unit];
    for (; i < end; ++i) {
      if (i == layers.size() || units.by_layer[layers[i]] != unit) return std::nullopt;
    }
    found.push_back(unit);
  }
  return found;
}

LayoutString layout_of(const Plan& plan, const LayerGraph& graph, const UnitsOfLayers& units) {
  LayoutString layout;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const std::vector<LayerId>& layers = plan.stages[s].layers;
    const auto whole = whole_units(layers, units);
    if (!whole) {
      refuse_plan_key(stage_key(s, "layers"),
                      fmt::format("a layout of Megatron-LM cuts between blocks, but stage {} is from {} to {}", s,
                                  quote(graph.layers[layers.front()].name), quote(graph.layers[layers.back()].name)),
                      "plan with --granularity block");
    }
    LayoutStage& stage = layout.stages.emplace_back();
    for (const std::size_t unit : *whole) stage += units.symbol(unit);
  }
  return layout;
}

void refuse_stage(const Stage& stage, std::size_t s) {
  const auto refuse = [&](const std::string& key, const std::string& message, const std::string& hint) {
    refuse_plan_key(stage_key(s, key), message, hint);
  };
  if (divides_microbatches(stage)) {
    refuse("replication", "data-parallel ranks of Megatron-LM run whole microbatches of their own", "round-robin");
  }
  if (std::ranges::adjacent_find(stage.shares, std::not_equal_to<>()) != stage.shares.end()) {
    refuse("shares", "data-parallel ranks of Megatron-LM run as many microbatches each", "leave out the shares");
  }
  if (stage.in_flight) {
    refuse("in_flight", "Megatron-LM has no cap on the microbatches in flight", "leave it out, or recompute");
  }
  if (stage.weight_versions && *stage.weight_versions != 1) {
    refuse("weight_versions", "Megatron-LM has one version of the weights", "leave it out");
  }
  if (!actions_of<Swap>(stage).empty()) {
    refuse("swap", "no flag of Megatron-LM names the layers that go to the host", "plan with --memory recompute");
  }
}

void refuse_plan_whole(const Plan& plan) {
  const std::string& schedule = plan.schedule.name;
  if (schedule != "1f1b" && schedule != "interleaved-1f1b") {
    refuse_plan_key("schedule",
                    "Megatron-LM has the schedules 1f1b and interleaved-1f1b, the plan has " + quote(schedule),
                    "plan with one of them");
  }
  if (Replicas(plan).pipelines() > 1) {
    refuse_plan_key("stages", "Megatron-LM has one pipeline, but the plan has several", "see the key 'pipeline'");
  }
  const std::size_t replicas = plan.stages.front().replicas.size();
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    refuse_stage(plan.stages[s], s);
    if (plan.stages[s].replicas.size() == replicas) continue;
    refuse_plan_key(
        stage_key(s, "devices"),
        fmt::format("all stages of Megatron-LM have as many replicas, but stage 0 has {} and stage {} has {}", replicas,
                    s, plan.stages[s].replicas.size()),
        "the planner uniform makes such plans");
  }
  if (plan.microbatches % static_cast<std::int64_t>(replicas) != 0) {
    refuse_plan_key("microbatches",
                    fmt::format("data-parallel ranks of Megatron-LM run as many microbatches each, but {} are for {}",
                                counted(plan.microbatches, "microbatch"), counted(replicas, "replica")));
  }
}

/// The ranks of a pipeline: the stages before the devices of the first come again.
std::size_t pipeline_of(const Plan& plan) {
  std::size_t pipeline = 1;
  while (pipeline < plan.stages.size() && plan.stages[pipeline].replicas != plan.stages[0].replicas) ++pipeline;
  std::set<DeviceId> used;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const Stage& stage = plan.stages[s];
    if (s >= pipeline && stage.replicas != plan.stages[s % pipeline].replicas) {
      refuse_plan_key(
          stage_key(s, "devices"),
          fmt::format("Megatron-LM has stage {} on the devices of stage {}, but the plan has not", s, s % pipeline));
    }
    for (const DeviceId device : s < pipeline ? devices_of(stage) : std::vector<DeviceId>()) {
      if (!used.insert(device).second) {
        refuse_plan_key(stage_key(s, "devices"), "Megatron-LM has stages of several ranks on devices of their own");
      }
    }
  }
  if (plan.schedule.name == "1f1b" && pipeline != plan.stages.size()) {
    refuse_plan_key("schedule",
                    "Megatron-LM runs several stages of a device by interleaved-1f1b, but the plan has '1f1b'");
  }
  return pipeline;
}

/// The devices by rank, stage by stage or pipeline by pipeline.
std::vector<DeviceId> ranks_of(const Plan& plan, std::size_t pipeline, bool pipelines_first) {
  std::vector<DeviceId> devices;
  const std::size_t replicas = plan.stages.front().replicas.size();
  for (std::size_t i = 0; i < pipeline * replicas; ++i) {
    const std::size_t stage = pipelines_first ? i % pipeline : i / replicas;
    const std::size_t replica = pipelines_first ? i / pipeline : i % replicas;
    const std::vector<DeviceId>& group = plan.stages[stage].replicas[replica].devices;
    devices.insert(devices.end(), group.begin(), group.end());
  }
  return devices;
}

std::string device_list(const std::vector<DeviceId>& devices, const Platform& platform) {
  std::string text;
  for (const DeviceId device : devices) text += (text.empty() ? "" : ", ") + platform.devices[device].name;
  return text;
}

/// Ranks are devices in the order of the platform, in one of Megatron-LM's two orders.
void place_ranks(const Plan& plan, const Platform& platform, MegatronExport& made) {
  const std::size_t pipeline = pipeline_of(plan);
  made.run.pipeline = static_cast<std::int64_t>(pipeline);
  made.devices = ranks_of(plan, pipeline, false);
  if (!std::ranges::is_sorted(made.devices) && plan.degrees.samples() == 1) {
    made.devices = ranks_of(plan, pipeline, true);
    made.run.pipelines_first = true;
  }
  if (!std::ranges::is_sorted(made.devices)) {
    const std::vector<DeviceId> devices = ranks_of(plan, pipeline, false);
    const auto early = std::ranges::is_sorted_until(devices);
    refuse_plan_key("stages",
                    fmt::format("ranks are devices in the order of the platform, but rank {} would be {} and the one "
                                "before it {}",
                                early - devices.begin(), quote(platform.devices[*early].name),
                                quote(platform.devices[*(early - 1)].name)),
                    "give the stages their devices in that order");
  }
  made.run.ranks = std::ssize(made.devices);
  if (made.devices.back().value() + 1 != made.devices.size()) {
    made.notes.push_back("the ranks are " + device_list(made.devices, platform));
  }
}

/// A parameter of a schedule, which a plan file may have as a text.
std::int64_t parameter_of(const ScheduleChoice& schedule, const std::string& name) {
  for (const auto& [key, detail] : schedule.parameters) {
    if (key != name) continue;
    if (const auto* number = std::get_if<std::int64_t>(&detail.value)) return *number;
    if (const auto* text = std::get_if<std::string>(&detail.value)) return parse_count(*text).value.value_or(0);
  }
  return 0;
}

void take_training(const Plan& plan, const LayerGraph& graph, MegatronRun& run) {
  const Training& training = plan.training;
  run.precision = graph.precision;
  run.recipe = training.recipe.value_or(OptimizerRecipe::Fp32);
  const KeptCopies kept = kept_copies(run.recipe);
  if (training.gradient_copies != kept.gradients || training.optimizer_copies != kept.optimizer) {
    refuse_plan_key("training",
                    fmt::format("Megatron-LM has no flag for these copies; the recipe {} has {} of gradients and {} of "
                                "the optimizer",
                                to_string(run.recipe), kept.gradients, kept.optimizer));
  }
  if (!has_flags(run.recipe, run.precision)) {
    refuse_plan_key("training", fmt::format("Megatron-LM has no flags for the recipe {} in {}", to_string(run.recipe),
                                            run.precision));
  }
  run.zero = training.zero;
  const Bytes bucket = training.gradient_bucket.value_or(Bytes(0));
  if (bucket == Bytes(0)) return;
  if (run.zero > 1) {
    refuse_plan_key("training.gradient_bucket", "Megatron-FSDP exchanges gradients in units of its own",
                    "leave it out");
  }
  const Bytes gradient = reduced_gradients(training, Bytes(weight_bytes(training)));
  if (bucket.value() % gradient.value() != 0) {
    refuse_plan_key("training.gradient_bucket", fmt::format("{} are no whole number of gradients of {}",
                                                            format_bytes(bucket), format_bytes(gradient)));
  }
  run.has_buckets = true;
  run.bucket = bucket.value() / gradient.value();
}

/// How many blocks each recomputed segment of a stage has.
struct RecomputedBlocks {
  std::vector<std::int64_t> segments;  ///< from the first block of the stage on, without gaps
  std::int64_t blocks = 0;             ///< of the stage
  std::int64_t recomputed = 0;
};

/// The segments of a stage, of which the embedding and the head do not count: Megatron-LM keeps their stashes.
RecomputedBlocks recomputed_blocks(const Stage& stage, std::size_t s, const UnitsOfLayers& units, bool& has_others) {
  const std::string key = stage_key(s, "recompute");
  RecomputedBlocks found;
  std::size_t first = 0;
  for (const LayerId layer : stage.layers) {
    const std::size_t unit = units.by_layer[layer];
    if (first == 0 && units.is_block(unit)) first = unit;
  }
  const std::vector<std::size_t> of_stage = *whole_units(stage.layers, units);
  found.blocks = std::ranges::count_if(of_stage, [&](std::size_t unit) { return units.is_block(unit); });
  std::vector<Recompute> segments = actions_of<Recompute>(stage);
  std::ranges::sort(segments, {}, [&](const Recompute& segment) { return units.by_layer[segment.layers.front()]; });
  for (const Recompute& segment : segments) {
    if (segment.swaps_checkpoint || segment.covered != Covered()) {
      refuse_plan_key(key, "Megatron-LM recomputes for all microbatches, from checkpoints on the device");
    }
    auto whole = whole_units(segment.layers, units);
    if (!whole) refuse_plan_key(key, "Megatron-LM recomputes whole blocks", "plan with --granularity block");
    has_others = std::erase_if(*whole, [&](std::size_t unit) { return !units.is_block(unit); }) > 0 || has_others;
    if (whole->empty()) continue;
    if (whole->front() != first + static_cast<std::size_t>(found.recomputed)) {
      refuse_plan_key(key, "Megatron-LM recomputes the blocks of a stage from the first on, without gaps");
    }
    found.segments.push_back(std::ssize(*whole));
    found.recomputed += std::ssize(*whole);
  }
  return found;
}

/// Whether every stage is cut into segments of so many blocks, of which the last may have fewer.
bool is_uniform(const std::vector<RecomputedBlocks>& stages, std::int64_t size) {
  return std::ranges::all_of(stages, [&](const RecomputedBlocks& stage) {
    const bool is_cut = std::ranges::all_of(stage.segments, [&](const std::int64_t& segment) {
      return segment == size || (segment < size && &segment == &stage.segments.back());
    });
    return is_cut && stage.recomputed == stage.blocks;
  });
}

/// Whether each of the first so many blocks of every stage is a segment.
bool is_blockwise(const std::vector<RecomputedBlocks>& stages, std::int64_t count) {
  return std::ranges::all_of(stages, [&](const RecomputedBlocks& stage) {
    return std::ssize(stage.segments) == stage.recomputed && stage.recomputed == std::min(count, stage.blocks);
  });
}

void take_recompute(const Plan& plan, const UnitsOfLayers& units, MegatronExport& made) {
  std::vector<RecomputedBlocks> stages;
  bool has_others = false;
  std::int64_t longest = 0;
  std::int64_t most = 0;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const RecomputedBlocks& stage = stages.emplace_back(recomputed_blocks(plan.stages[s], s, units, has_others));
    for (const std::int64_t segment : stage.segments) longest = std::max(longest, segment);
    most = std::max(most, stage.recomputed);
  }
  if (has_others) made.notes.emplace_back("Megatron-LM recomputes blocks alone, not the embedding nor the head");
  if (most == 0) return;
  if (is_uniform(stages, longest)) {
    made.run.recompute = MegatronRecompute{true, longest};
  } else if (is_blockwise(stages, most)) {
    made.run.recompute = MegatronRecompute{false, most};
  } else {
    refuse_plan_key(
        "stages",
        "Megatron-LM recomputes either all blocks in segments of equal length or each of the first N blocks of "
        "every stage, but the plan recomputes others",
        "--memory keep keeps all stashes, and import megatron-flags makes a plan of these flags");
  }
}

}  // namespace

MegatronExport megatron_export(const Plan& plan, const LayerGraph& graph, const Platform& platform,
                               bool recomputes_attention) {
  const UnitsOfLayers units(graph);
  refuse_plan_whole(plan);
  MegatronExport made;
  MegatronRun& run = made.run;
  run.layout = layout_of(plan, graph, units);
  place_ranks(plan, platform, made);
  const std::int64_t group = parameter_of(plan.schedule, "group");
  if (group != 0 && group != run.pipeline) run.group = group;
  run.degrees = plan.degrees;
  run.divides_experts_alone =
      std::ranges::any_of(graph.layers, [](const Layer& layer) { return layer.experts > Bytes(0); });
  if (plan.degrees.imbalance != 1.0) {
    made.notes.emplace_back("no flag says how unequally experts get tokens, as 'imbalance' does");
  }
  run.microbatch_size = plan.microbatch_size;
  run.global_batch = plan.microbatches * samples_of_microbatch(plan);
  take_training(plan, graph, run);
  take_recompute(plan, units, made);
  run.recomputes_attention = recomputes_attention;
  if (run.recompute && recomputes_attention) {
    refuse_plan_key("stages",
                    "Megatron-LM recomputes either blocks or attention alone, but the plan recomputes blocks, and the "
                    "figures of its model are those of selective recomputation",
                    "plan without --selective-recompute, or keep all stashes");
  }
  run.blocks = static_cast<std::int64_t>(units.blocks);
  if (graph.work.tokens > 0) run.sequence = graph.work.tokens;
  return made;
}

}  // namespace stagecraft
