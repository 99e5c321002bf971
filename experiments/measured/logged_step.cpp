#include "experiments/measured/logged_step.hpp"

#include "experiments/measured/logged_network.hpp"
#include "sim/base/text.hpp"
#include "sim/io/layout_string.hpp"
#include "sim/io/megatron_import.hpp"
#include "sim/io/megatron_network.hpp"
#include "sim/io/megatron_run.hpp"
#include "sim/io/megatron_unread.hpp"
#include "sim/io/network_units.hpp"
#include "sim/model/optimizer_recipe.hpp"

#include <map>
#include <utility>

namespace stagecraft {
namespace {

[[noreturn]] void refuse_flag(const MegatronFlags& flags, const std::string& name, const std::string& message,
                              const std::string& hint = {}) {
  throw InputError(message, flags.place(name), hint);
}

/// Refuses what a row has no column for.
void refuse_unsaid(const MegatronRun& run, const MegatronFlags& flags) {
  if (run.recompute && (!run.recompute->in_segments || run.recompute->blocks != 1)) {
    refuse_flag(flags, "recompute-method", "a row of measured steps says that each block is recomputed alone, or none",
                "--recompute-method uniform with --recompute-num-layers 1");
  }
  if (run.degrees.context > 1 && run.degrees.attention != ContextAttention::Ring) {
    refuse_flag(flags, "cp-comm-type", "a row of measured steps has context groups that pass keys and values on (p2p)");
  }
  if (run.degrees.imbalance != 1.0) {
    refuse_flag(flags, "moe-expert-capacity-factor", "a row of measured steps has no capacity of experts");
  }
  if (run.degrees.expert > 1 && !run.divides_experts_alone) {
    refuse_flag(flags, "tensor-model-parallel-size",
                "Megatron-LM divides experts among a tensor group, too, which is not modelled");
  }
  if (run.pipelines_first && run.pipeline > 1) {
    refuse_flag(flags, "use-tp-pp-dp-mapping", "a row of measured steps has the replicas of a stage together");
  }
  if (run.group && *run.group != run.pipeline) {
    refuse_flag(flags, "microbatch-group-size-per-virtual-pipeline-stage",
                "a row of measured steps has groups of a microbatch for each stage of a pipeline");
  }
}

std::int64_t replicas_in(const MegatronRun& run, const MegatronFlags& flags) {
  if (!run.ranks) {
    refuse_flag(flags, "pipeline-model-parallel-size", "nobody tells how many ranks the run had",
                "begin the flags with the launcher, such as 'torchrun --nproc-per-node 8 pretrain_gpt.py'");
  }
  const std::int64_t of_pipeline = run.pipeline * run.degrees.devices();
  if (*run.ranks % of_pipeline == 0) return *run.ranks / of_pipeline;
  refuse_flag(flags, "pipeline-model-parallel-size",
              "expected a multiple of the " + std::to_string(of_pipeline) + " ranks of a pipeline, found " +
                  std::to_string(*run.ranks));
}

std::int64_t batch_of(const MegatronRun& run, const MegatronLog& log, std::int64_t replicas) {
  const std::int64_t batch = run.global_batch.value_or(run.microbatch_size * replicas * run.degrees.samples());
  for (const LoggedIterations& line : log.lines) {
    if (line.batch.value_or(batch) == batch) continue;
    throw InputError("an iteration of the log has " + std::to_string(*line.batch) + " samples, one of the flags " +
                         std::to_string(batch),
                     line.place);
  }
  return batch;
}

using Fields = std::map<std::string, std::string>;

/// The stages: `layout`, where they are not equal, or `chunks`.
void set_stages(const MegatronRun& run, const std::vector<LayoutStage>& layout, Fields& fields) {
  if (run.pipeline == 1) return;
  const MegatronSplit& split = run.split;
  if (run.layout || split.first || split.last || split.counts_embedding || split.counts_loss) {
    fields["layout"] = write_layout(layout);
  } else {
    fields["chunks"] = std::to_string(std::ssize(layout) / run.pipeline);
  }
}

void set_training(const MegatronRun& run, const TrainingChoice& training, Fields& fields) {
  fields["zero"] = std::to_string(run.zero);
  fields["optimizer"] = to_string(run.recipe);
  fields["gradient_bucket"] = std::to_string(training.gradient_bucket.value_or(Bytes(0)).value()) + " B";
  fields["recompute"] = run.recompute ? "full" : run.recomputes_attention ? "selective" : "none";
}

}  // namespace

const std::vector<std::string>& logged_columns() {
  static const std::vector<std::string> names = {
      "name",         "framework", "model", "platform",        "precision",       "sequence",   "microbatch_size",
      "global_batch", "pipeline",  "data",  "tensor",          "context",         "expert",     "sequence_parallel",
      "chunks",       "layout",    "zero",  "optimizer",       "gradient_bucket", "recompute",  "iteration_time",
      "layers",       "hidden",    "heads", "key_value_heads", "feed_forward",    "vocabulary", "source"};
  return names;
}

LoggedStep logged_step(MegatronFlags flags, const MegatronLog& log, const LoggedTimes& times,
                       const LoggedNames& names) {
  if (log.words) flags.add(*log.words);
  const MegatronRun run = read_megatron_run(flags);
  const MegatronNetwork said = read_megatron_network(flags);
  const UnreadFlags unread = unread_flags(flags);
  refuse_unsaid(run, flags);
  const std::int64_t replicas = replicas_in(run, flags);
  const LoggedNetwork network = logged_network(names.network, run, said, flags);
  const NetworkUnits units = network_units(network.graph);
  const MegatronPlan plan = megatron_plan(run, flags, network.graph, units, *run.ranks);
  Fields fields{{"name", names.name},
                {"framework", "megatron-lm"},
                {"model", names.model},
                {"platform", names.platform},
                {"precision", run.precision},
                {"sequence", run.sequence ? std::to_string(*run.sequence) : ""},
                {"microbatch_size", std::to_string(run.microbatch_size)},
                {"global_batch", std::to_string(batch_of(run, log, replicas))},
                {"pipeline", std::to_string(run.pipeline)},
                {"data", std::to_string(replicas)},
                {"tensor", std::to_string(run.degrees.tensor)},
                {"context", std::to_string(run.degrees.context)},
                {"expert", std::to_string(run.degrees.expert)},
                {"sequence_parallel", run.degrees.sequence ? "true" : "false"},
                {"iteration_time", format_seconds(times.median)},
                {"source", names.source}};
  for (const auto& [column, size] : network.sizes) fields[column] = std::to_string(std::get<std::int64_t>(size.value));
  set_stages(run, megatron_layout(run, flags, std::ssize(units.blocks)), fields);
  set_training(run, plan.training, fields);
  LoggedStep step{{}, megatron_notes(run, flags, unread, network.not_compared)};
  step.notes.insert(step.notes.end(), network.remarks.begin(), network.remarks.end());
  for (const std::string& column : logged_columns()) step.fields.push_back(fields[column]);
  return step;
}

}  // namespace stagecraft
