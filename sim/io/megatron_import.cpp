#include "sim/io/megatron_import.hpp"

#include "sim/base/counted.hpp"
#include "sim/base/text.hpp"
#include "sim/model/reduced_gradients.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace stagecraft {
namespace {

constexpr const char* kLayoutFlag = "pipeline-model-parallel-layout";
constexpr const char* kPipelineFlag = "pipeline-model-parallel-size";
constexpr std::int64_t kLeastBucket = 40'000'000;     ///< parameters of a bucket of Megatron-LM, at least so many
constexpr std::int64_t kBucketOfReplica = 1'000'000;  ///< and so many for each data-parallel rank

[[noreturn]] void refuse_run(const InputPlace& place, const std::string& message, const std::string& hint = "") {
  throw InputError(message, place, hint);
}

/// A layout that is checked against the model, at the place of each symbol.
class LayoutCheck {
 public:
  LayoutCheck(const LayoutString& layout, InputPlace place, std::int64_t blocks)
      : layout_(layout), place_(std::move(place)), blocks_(blocks) {}

  void run() {
    for (std::size_t s = 0; s < layout_.stages.size(); ++s) {
      for (std::size_t i = 0; i < layout_.stages[s].size(); ++i) check(layout_.stages[s][i], layout_.columns[s][i]);
    }
    if (symbols_ == 0) refuse_run(place_, "the layout has no symbols", "such as Et*16|t*16L");
    if (loss_column_ == 0) {
      refuse_run(place_in(place_, last_column_), "the last symbol of a layout is L, the loss, found " + shown(last_));
    }
    if (counted_blocks_ != blocks_) {
      refuse_run(place_, fmt::format("the layout has {} of blocks (t), but the model has {}",
                                     counted(counted_blocks_, "symbol"), counted(blocks_, "block")));
    }
  }

 private:
  static std::string shown(char symbol) { return quote(std::string(1, symbol)); }

  void check(char symbol, int column) {
    const InputPlace here = place_in(place_, column);
    if (symbol == 'm') {
      refuse_run(here, "'m' is a layer that predicts further tokens (MTP), and networks have none", "leave it out");
    }
    if (symbols_ == 0 && symbol != 'E') {
      refuse_run(here, "the first symbol of a layout is E, the embedding, found " + shown(symbol));
    }
    if (symbols_ > 0 && symbol == 'E') refuse_run(here, "the embedding E is in a layout once");
    if (loss_column_ > 0) refuse_run(here, "nothing follows the loss L, found " + shown(symbol));
    if (symbol == 'L') loss_column_ = column;
    counted_blocks_ += symbol == 't' ? 1 : 0;
    ++symbols_;
    last_ = symbol;
    last_column_ = column;
  }

  const LayoutString& layout_;
  InputPlace place_;
  std::int64_t blocks_;
  std::int64_t counted_blocks_ = 0;
  std::int64_t symbols_ = 0;
  int loss_column_ = 0;
  int last_column_ = 0;
  char last_ = '\0';
};

/// The blocks of each rank of a pipeline, in all its virtual stages; what counts as one of them counts.
std::vector<std::int64_t> blocks_of_ranks(const MegatronRun& run, const MegatronFlags& flags, std::int64_t blocks) {
  const MegatronSplit& split = run.split;
  const std::int64_t given = split.first.value_or(0) + split.last.value_or(0);
  const std::int64_t ranks_left = run.pipeline - (split.first ? 1 : 0) - (split.last ? 1 : 0);
  const std::int64_t left = blocks - given + (split.counts_embedding ? 1 : 0) + (split.counts_loss ? 1 : 0);
  if (ranks_left < 0 || left < 0 || (ranks_left == 0 ? left != 0 : left % ranks_left != 0)) {
    std::string what = counted(left < 0 ? blocks : left, "block");
    if (split.first || split.last) what += " of the other ranks";
    if (split.counts_embedding || split.counts_loss) what += ", the embedding or the loss among them,";
    refuse_run(flags.place(kPipelineFlag),
               fmt::format("{} cannot be divided equally among {}", what,
                           counted(std::max<std::int64_t>(ranks_left, 0), "rank")),
               "--pipeline-model-parallel-layout divides them in any way");
  }
  std::vector<std::int64_t> ranks(static_cast<std::size_t>(run.pipeline), ranks_left == 0 ? 0 : left / ranks_left);
  if (split.first) ranks.front() = *split.first;
  if (split.last) ranks.back() = *split.last;
  return ranks;
}

std::int64_t chunks_of(const MegatronRun& run, const MegatronFlags& flags, const std::vector<std::int64_t>& ranks,
                       std::int64_t blocks) {
  const MegatronSplit& split = run.split;
  const std::int64_t size = split.blocks_of_chunk.value_or(1);
  if (split.blocks_of_chunk && (ranks.front() < size || ranks.front() % size != 0)) {
    refuse_run(
        flags.value_place("num-layers-per-virtual-pipeline-stage"),
        fmt::format("{} of a rank cannot be divided into virtual stages of {}", counted(ranks.front(), "block"), size));
  }
  const std::int64_t chunks = split.blocks_of_chunk ? ranks.front() / size : split.chunks.value_or(1);
  if (chunks > (blocks + 2) / run.pipeline) {
    refuse_run(flags.value_place("num-virtual-stages-per-pipeline-rank"),
               fmt::format("the {}, the embedding and the loss are too few for {} of each rank",
                           counted(blocks, "block"), counted(chunks, "virtual stage")));
  }
  for (const std::int64_t rank : ranks) {
    if (rank % chunks == 0) continue;
    refuse_run(flags.value_place("num-virtual-stages-per-pipeline-rank"),
               fmt::format("{} of a rank cannot be divided equally among {}", counted(rank, "block"),
                           counted(chunks, "virtual stage")));
  }
  return chunks;
}

/// The stages without a layout: chunk by chunk, and in a chunk rank by rank.
std::vector<LayoutStage> split_blocks(const MegatronRun& run, const MegatronFlags& flags, std::int64_t blocks) {
  const std::vector<std::int64_t> ranks = blocks_of_ranks(run, flags, blocks);
  const std::int64_t chunks = chunks_of(run, flags, ranks, blocks);
  std::vector<std::int64_t> counts;
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    for (const std::int64_t rank : ranks) counts.push_back(rank / chunks);
  }
  if (run.split.counts_embedding) --counts.front();
  if (run.split.counts_loss) --counts.back();
  std::vector<LayoutStage> stages;
  for (const std::int64_t count : counts) stages.emplace_back(static_cast<std::size_t>(count), 't');
  stages.front().insert(0, 1, 'E');
  stages.back() += 'L';
  return stages;
}

/// The data-parallel ranks that are replicas of ours, of groups that have several samples.
std::int64_t replicas_of(const MegatronRun& run, const MegatronFlags& flags, std::int64_t devices) {
  const std::int64_t ranks = run.ranks.value_or(devices);
  const std::string who = run.ranks ? "the launcher" : "the platform";
  const std::string things = run.ranks ? counted(ranks, "rank") : counted(ranks, "device");
  if (ranks > devices) {
    refuse_run(flags.place(kPipelineFlag), fmt::format("the launcher has {}, but the platform {}",
                                                       counted(ranks, "rank"), counted(devices, "device")));
  }
  const std::int64_t of_pipeline = run.pipeline * run.degrees.devices();
  if (ranks % of_pipeline == 0) return ranks / of_pipeline;
  refuse_run(flags.place(kPipelineFlag),
             fmt::format("{} has {}, which is no multiple of the {} of a pipeline: {} for each of {}", who, things,
                         counted(of_pipeline, "rank"), run.degrees.devices(), counted(run.pipeline, "stage")),
             "begin with the launcher, such as 'torchrun --nproc-per-node 8 pretrain_gpt.py', to use fewer devices");
}

std::int64_t microbatches_of(const MegatronRun& run, const MegatronFlags& flags, std::int64_t replicas) {
  const std::int64_t samples = run.microbatch_size * run.degrees.samples();
  const std::int64_t global = run.global_batch.value_or(samples * replicas);
  if (global % (samples * replicas) == 0) return global / samples;
  refuse_run(flags.value_place("global-batch-size"),
             fmt::format("{} are no multiple of the {} that {} run at once", counted(global, "sample"),
                         samples * replicas, counted(replicas * run.degrees.samples(), "data-parallel rank")));
}

ScheduleChoice schedule_of(const MegatronRun& run, const MegatronFlags& flags, std::int64_t stages) {
  if (stages % run.pipeline != 0) {
    refuse_run(flags.value_place(kLayoutFlag),
               fmt::format("the layout has {}, which are no multiple of the {} of a pipeline", counted(stages, "stage"),
                           counted(run.pipeline, "rank")),
               "a rank has the same number of virtual stages as any other");
  }
  const std::int64_t chunks = stages / run.pipeline;
  if (run.split.virtual_stages.value_or(chunks) != chunks) {
    refuse_run(flags.value_place("virtual-pipeline-model-parallel-size"),
               fmt::format("the other flags give each rank {}, from which Megatron-LM finds this size, not {}",
                           counted(chunks, "virtual stage"), *run.split.virtual_stages),
               "--num-virtual-stages-per-pipeline-rank, or a layout, gives a rank more of them");
  }
  const std::string group = "microbatch-group-size-per-virtual-pipeline-stage";
  if (chunks == 1) {
    if (run.group && *run.group != run.pipeline)
      refuse_run(flags.place(group), "needs several virtual stages of a rank");
    return {"1f1b", {}};
  }
  if (run.pipeline == 1) {
    refuse_run(flags.place(kPipelineFlag), "virtual stages need a pipeline of several ranks",
               "give --pipeline-model-parallel-size, of which the number of stages is a multiple");
  }
  ScheduleChoice schedule{"interleaved-1f1b", {{"chunks", chunks}}};
  if (run.group && *run.group != run.pipeline) schedule.parameters.emplace_back("group", *run.group);
  return schedule;
}

void append(std::vector<LayerId>& layers, const std::vector<LayerId>& more) {
  layers.insert(layers.end(), more.begin(), more.end());
}

std::vector<MemoryAction> recomputed(const MegatronRecompute& how, const std::vector<std::vector<LayerId>>& blocks) {
  std::vector<MemoryAction> actions;
  const auto all = std::ssize(blocks);
  const std::int64_t end = how.in_segments ? all : std::min<std::int64_t>(how.blocks, all);
  const std::int64_t step = how.in_segments ? how.blocks : 1;
  for (std::int64_t b = 0; b < end; b += step) {
    Recompute segment;
    for (std::int64_t i = b; i < std::min(b + step, end); ++i)
      append(segment.layers, blocks[static_cast<std::size_t>(i)]);
    actions.emplace_back(std::move(segment));
  }
  return actions;
}

/// The layers of each stage, and what is recomputed.
std::vector<Stage> stages_with(const std::vector<LayoutStage>& layout, const NetworkUnits& units,
                               const std::optional<MegatronRecompute>& recompute) {
  std::vector<Stage> stages;
  std::size_t next = 0;
  for (const LayoutStage& symbols : layout) {
    Stage& stage = stages.emplace_back();
    std::vector<std::vector<LayerId>> blocks;
    for (const char symbol : symbols) {
      if (symbol == 't') blocks.push_back(units.blocks[next++]);
      append(stage.layers, symbol == 'E' ? units.embedding : symbol == 'L' ? units.head : blocks.back());
    }
    if (recompute) stage.memory = recomputed(*recompute, blocks);
  }
  return stages;
}

void refuse_model(const MegatronRun& run, const MegatronFlags& flags, const LayerGraph& graph, std::int64_t blocks) {
  const bool has_experts =
      std::ranges::any_of(graph.layers, [](const Layer& layer) { return layer.experts > Bytes(0); });
  if (run.blocks && *run.blocks != blocks) {
    refuse_run(flags.value_place("num-layers"),
               fmt::format("the model {} has {}, not {}", quote(graph.name), counted(blocks, "block"), *run.blocks));
  }
  if (run.sequence && graph.work.tokens > 0 && *run.sequence != graph.work.tokens) {
    refuse_run(flags.value_place("seq-length"),
               fmt::format("a sample of the model {} has {}, not {}", quote(graph.name),
                           counted(graph.work.tokens, "token"), *run.sequence));
  }
  if (has_experts && !run.divides_experts_alone) {
    refuse_run(flags.place("tensor-model-parallel-size"),
               "Megatron-LM divides experts among a tensor group, too, which is not modelled",
               "--expert-tensor-parallel-size 1 leaves each expert whole");
  }
}

/// What training keeps and exchanges; each data-parallel rank is one of `replicas`.
TrainingChoice megatron_training(const MegatronRun& run, std::int64_t replicas) {
  TrainingChoice training;
  training.recipe = run.recipe;
  training.zero = run.zero;
  if (!run.has_buckets) return training;
  const std::int64_t members = replicas * run.degrees.samples() * run.degrees.context;
  const std::int64_t parameters = run.bucket.value_or(std::max(kLeastBucket, kBucketOfReplica * members));
  training.gradient_bucket = reduced_gradients(training, Bytes(parameters * weight_bytes(training)));
  return training;
}

}  // namespace

std::vector<LayoutStage> megatron_layout(const MegatronRun& run, const MegatronFlags& flags, std::int64_t blocks) {
  if (!run.layout) return split_blocks(run, flags, blocks);
  LayoutCheck(*run.layout, flags.value_place(kLayoutFlag), blocks).run();
  return run.layout->stages;
}

MegatronPlan megatron_plan(const MegatronRun& run, const MegatronFlags& flags, const LayerGraph& graph,
                           const NetworkUnits& units, std::int64_t devices) {
  refuse_model(run, flags, graph, std::ssize(units.blocks));
  if (run.pipelines_first && run.degrees.samples() > 1) {
    refuse_run(flags.place("use-tp-pp-dp-mapping"),
               "an expert group of several data-parallel ranks is then not together", "leave it out");
  }
  const std::int64_t replicas = replicas_of(run, flags, devices);
  const std::vector<LayoutStage> layout = megatron_layout(run, flags, std::ssize(units.blocks));
  MegatronPlan plan{schedule_of(run, flags, std::ssize(layout)), microbatches_of(run, flags, replicas),
                    megatron_training(run, replicas), stages_with(layout, units, run.recompute)};
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    if (layout[s].empty()) {
      refuse_run(flags.value_place(kLayoutFlag),
                 fmt::format("stage {} of the layout is empty, and a stage of a plan has a layer", s));
    }
    const auto rank = static_cast<std::int64_t>(s) % run.pipeline;
    for (std::int64_t r = 0; r < replicas; ++r) {
      const std::int64_t at = run.pipelines_first ? r * run.pipeline + rank : rank * replicas + r;
      plan.stages[s].replicas.emplace_back(DeviceId(static_cast<std::size_t>(at)));
    }
  }
  return plan;
}

}  // namespace stagecraft
