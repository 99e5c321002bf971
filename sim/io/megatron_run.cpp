#include "sim/io/megatron_run.hpp"

#include "sim/base/text.hpp"
#include "sim/io/plan_degrees.hpp"
#include "sim/io/plan_training.hpp"
#include "sim/model/training.hpp"

#include <array>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::int64_t kUsualVocabularyMultiple = 128;  ///< of Megatron-LM

struct FlagReason {
  const char* name;
  const char* reason;
};

/// Flags of runs for which there is no plan, whatever their value.
constexpr std::array kNoPlan{
    FlagReason{"rampup-batch-size", "a plan has one number of microbatches"},
    FlagReason{"hybrid-layer-pattern", "networks are known as blocks that are alike"},
    FlagReason{"hybrid-override-pattern", "networks are known as blocks that are alike"},
    FlagReason{"overlap-moe-expert-parallel-comm", "this order of microbatches is not modelled"},
    FlagReason{"optimizer-cpu-offload", "an optimizer on the CPU is not modelled"},
    FlagReason{"cpu-offloading-num-layers", "write 'swap' into the plan in its place"},
    FlagReason{"use-torch-fsdp2", "Megatron-LM refuses it in a pipeline"},
    FlagReason{"use-precision-aware-optimizer", "its bytes of a parameter are none of the recipes"},
    FlagReason{"fp4-format", "this precision is not modelled"},
    FlagReason{"encoder-pipeline-model-parallel-size", "pipelines of two networks are not read"},
    FlagReason{"encoder-tensor-model-parallel-size", "pipelines of two networks are not read"},
    FlagReason{"encoder-num-layers", "write --num-layers in its place"},
    FlagReason{"encoder-seq-length", "write --seq-length in its place"},
    FlagReason{"decoder-num-layers", "pipelines of two networks are not read"},
    FlagReason{"decoder-seq-length", "pipelines of two networks are not read"},
    FlagReason{"standalone-embedding-stage", "write a layout such as 'E|tt|ttL', in which the embedding is a stage"},
    FlagReason{"hierarchical-context-parallel-sizes", "context groups have one way to attend"},
};

constexpr std::array<std::pair<ContextAttention, const char*>, 3> kContextTypes{
    {{ContextAttention::Ring, "p2p"},
     {ContextAttention::AllGather, "all_gather"},
     {ContextAttention::AllToAll, "a2a"}}};

constexpr std::array<const char*, 4> kSharding{"no_shard", "optim", "optim_grads", "optim_grads_params"};

[[noreturn]] void refuse(const MegatronFlags& flags, const std::string& name, const std::string& message,
                         const std::string& hint = "") {
  throw InputError(message, flags.place(name), hint);
}

std::int64_t degree(MegatronFlags& flags, const std::string& name, std::int64_t most) {
  const std::int64_t size = flags.take_count(name, 1).value_or(1);
  if (size > most) refuse(flags, name, "expected at most " + std::to_string(most) + ", found " + std::to_string(size));
  return size;
}

void read_experts(MegatronFlags& flags, MegatronRun& run) {
  const auto tensor = flags.take_count("expert-tensor-parallel-size", 1);
  if (tensor && *tensor > 1) {
    refuse(flags, "expert-tensor-parallel-size", "experts that a tensor group divides are not modelled",
           "with 1 an expert is whole on each of its devices");
  }
  run.divides_experts_alone = tensor.has_value() || run.degrees.tensor == 1;
  const auto capacity = flags.take_number("moe-expert-capacity-factor");
  if (!flags.take_switch("moe-pad-expert-input-to-capacity")) return;
  if (!capacity) refuse(flags, "moe-pad-expert-input-to-capacity", "needs --moe-expert-capacity-factor");
  if (*capacity < 1.0 || *capacity > kMostImbalance) {
    refuse(flags, "moe-expert-capacity-factor", "expected a number from 1 to " + format_number(kMostImbalance));
  }
  run.degrees.imbalance = *capacity;
}

void read_degrees(MegatronFlags& flags, MegatronRun& run) {
  Degrees& degrees = run.degrees;
  degrees.tensor = degree(flags, "tensor-model-parallel-size", kMostInGroup);
  degrees.context = degree(flags, "context-parallel-size", kMostInGroup);
  degrees.expert = degree(flags, "expert-model-parallel-size", kMostInGroup);
  degrees.sequence = flags.take_switch("sequence-parallel");
  run.words_multiple = kUsualVocabularyMultiple;
  if (const auto multiple = flags.take_count("make-vocab-size-divisible-by", 1)) {
    if (*multiple > kMostCopies) {
      refuse(flags, "make-vocab-size-divisible-by", "expected at most " + std::to_string(kMostCopies));
    }
    run.words_multiple = *multiple;
  }
  degrees.vocabulary_multiple = run.words_multiple;
  std::vector<std::string> types;
  for (const auto& [attention, name] : kContextTypes) types.emplace_back(name);
  const std::string type = flags.take_choice("cp-comm-type", types).value_or(types.front());
  for (const auto& [attention, name] : kContextTypes) {
    if (type == name) degrees.attention = attention;
  }
  read_experts(flags, run);
  if (const auto problem = degrees_problem(degrees)) {
    refuse(flags, degrees.expert > 1 ? "expert-model-parallel-size" : "context-parallel-size", *problem);
  }
  degrees = reduced(degrees);
}

/// Refuses two of the ways to divide blocks that Megatron-LM does not take together.
void refuse_both(const MegatronFlags& flags, const std::string& one, bool has_one, const std::string& other,
                 bool has_other) {
  if (!has_one || !has_other) return;
  refuse(flags, other, "Megatron-LM refuses it together with --" + one, "leave out one of them");
}

void read_split(MegatronFlags& flags, MegatronRun& run) {
  MegatronSplit& split = run.split;
  const std::string layout = "pipeline-model-parallel-layout";
  const std::string of_chunk = "num-layers-per-virtual-pipeline-stage";
  const std::string chunks = "num-virtual-stages-per-pipeline-rank";
  const std::string first = "decoder-first-pipeline-num-layers";
  const std::string last = "decoder-last-pipeline-num-layers";
  const std::string embedding = "account-for-embedding-in-pipeline-split";
  const std::string loss = "account-for-loss-in-pipeline-split";
  run.pipeline = flags.take_count("pipeline-model-parallel-size", 1).value_or(1);
  const auto text = flags.take_word(layout);
  split.blocks_of_chunk = flags.take_count(of_chunk, 1);
  split.chunks = flags.take_count(chunks, 1);
  split.first = flags.take_count(first, 0);
  split.last = flags.take_count(last, 0);
  split.counts_embedding = flags.take_switch(embedding);
  split.counts_loss = flags.take_switch(loss);
  for (const auto& [name, given] : {std::pair{of_chunk, split.blocks_of_chunk.has_value()},
                                    {chunks, split.chunks.has_value()},
                                    {first, split.first.has_value()},
                                    {last, split.last.has_value()},
                                    {embedding, split.counts_embedding},
                                    {loss, split.counts_loss}}) {
    refuse_both(flags, layout, text.has_value(), name, given);
  }
  refuse_both(flags, of_chunk, split.blocks_of_chunk.has_value(), chunks, split.chunks.has_value());
  for (const auto& [name, given] : {std::pair{first, split.first.has_value()}, {last, split.last.has_value()}}) {
    refuse_both(flags, of_chunk, split.blocks_of_chunk.has_value(), name, given);
    refuse_both(flags, embedding, split.counts_embedding, name, given);
    refuse_both(flags, loss, split.counts_loss, name, given);
  }
  split.virtual_stages = flags.take_count("virtual-pipeline-model-parallel-size", 1);
  if (text) run.layout = parse_layout(*text, flags.value_place(layout));
  run.group = flags.take_count("microbatch-group-size-per-virtual-pipeline-stage", 1);
  run.pipelines_first = flags.take_switch("use-tp-pp-dp-mapping");
}

/// What an optimizer keeps. Sums of gradients have 4 bytes with bf16 unless it is asked for 2, with fp16 if asked for.
void read_precision(MegatronFlags& flags, MegatronRun& run) {
  const bool is_bf16 = flags.take_switch("bf16");
  const bool is_fp16 = flags.take_switch("fp16");
  const bool sums_in_4 = flags.take_switch("accumulate-allreduce-grads-in-fp32");
  const bool sums_in_2 = flags.take_switch("grad-reduce-in-bf16");
  const bool has_fp8 = flags.take_word("fp8-format").has_value();
  const std::string optimizer = flags.take_choice("optimizer", {"adam", "sgd"}).value_or("adam");
  refuse_both(flags, "bf16", is_bf16, "fp16", is_fp16);
  refuse_both(flags, "accumulate-allreduce-grads-in-fp32", sums_in_4, "grad-reduce-in-bf16", sums_in_2);
  if (sums_in_2 && !is_bf16) refuse(flags, "grad-reduce-in-bf16", "needs --bf16");
  if (has_fp8 && !is_bf16) refuse(flags, "fp8-format", "needs --bf16 for what is not multiplied in fp8");
  const bool is_plain = !is_bf16 && !is_fp16;
  run.precision = has_fp8 ? "fp8" : is_bf16 ? "bf16" : is_fp16 ? "fp16" : "fp32";
  if (optimizer == "sgd") {
    if (!is_plain) refuse(flags, "optimizer", "a recipe of sgd in 16 bit is not known", "leave out --bf16 or --fp16");
    run.recipe = OptimizerRecipe::SgdMomentum;
  } else if (is_plain) {
    run.recipe = OptimizerRecipe::Fp32;
  } else if (is_bf16) {
    run.recipe = sums_in_2 ? OptimizerRecipe::Mixed16 : OptimizerRecipe::Mixed;
  } else {
    run.recipe = sums_in_4 ? OptimizerRecipe::Mixed : OptimizerRecipe::Mixed16Accumulate32;
  }
}

void read_sharding(MegatronFlags& flags, MegatronRun& run) {
  const bool divides = flags.take_switch("use-distributed-optimizer");
  const bool has_fsdp = flags.take_switch("use-megatron-fsdp");
  const auto strategy = flags.take_choice("data-parallel-sharding-strategy",
                                          std::vector<std::string>(kSharding.begin(), kSharding.end()));
  if (strategy && !has_fsdp) refuse(flags, "data-parallel-sharding-strategy", "needs --use-megatron-fsdp");
  run.zero = divides ? 1 : 0;
  for (std::size_t zero = 0; has_fsdp && zero < kSharding.size(); ++zero) {
    if (strategy.value_or(kSharding.front()) == kSharding.at(zero)) run.zero = static_cast<std::int64_t>(zero);
  }
}

void read_overlap(MegatronFlags& flags, MegatronRun& run) {
  run.has_buckets = flags.take_switch("overlap-grad-reduce");
  const bool gathers = flags.take_switch("overlap-param-gather");
  run.bucket = flags.take_count("ddp-bucket-size", 1);
  if (gathers && (run.zero == 0 || !run.has_buckets)) {
    refuse(flags, "overlap-param-gather", "needs --overlap-grad-reduce and --use-distributed-optimizer");
  }
  if (!run.has_buckets || run.zero > 1) run.bucket.reset();
  if (run.zero > 1) run.has_buckets = false;  // its units are layers, with buckets or without
}

void read_recompute(MegatronFlags& flags, MegatronRun& run) {
  const auto granularity = flags.take_choice("recompute-granularity", {"full", "selective"});
  const auto method = flags.take_choice("recompute-method", {"uniform", "block"});
  const auto blocks = flags.take_count("recompute-num-layers", 1);
  const bool is_short = flags.take_switch("recompute-activations");
  const MegatronFlags::Flag* modules = flags.take("recompute-modules");
  if (is_short && granularity == "full") {
    refuse(flags, "recompute-activations", "stands for --recompute-granularity selective, but that is full",
           "leave out one of them");
  }
  run.recomputes_attention = is_short || granularity == "selective";
  if (modules != nullptr && !run.recomputes_attention) {
    refuse(flags, "recompute-modules", "needs --recompute-granularity selective");
  }
  if (modules != nullptr && modules->values != std::vector<std::string>{"core_attn"}) {
    refuse(flags, "recompute-modules", "selective recomputation is known of core_attn alone, the default",
           "leave it out, or let the plan recompute blocks");
  }
  if (granularity != "full") {
    for (const char* name : {"recompute-method", "recompute-num-layers"}) {
      if (name == std::string("recompute-method") ? method.has_value() : blocks.has_value()) {
        refuse(flags, name, "needs --recompute-granularity full");
      }
    }
    return;
  }
  if (!method || !blocks) {
    refuse(flags, "recompute-granularity", "full recomputation needs --recompute-method and --recompute-num-layers");
  }
  run.recompute = MegatronRecompute{*method == "uniform", *blocks};
}

void refuse_without_plan(MegatronFlags& flags) {
  for (const auto& [name, reason] : kNoPlan) {
    if (flags.take(name) != nullptr) refuse(flags, name, std::string("is not read: ") + reason);
  }
  if (flags.take_count("mtp-num-layers", 0).value_or(0) > 0) {
    refuse(flags, "mtp-num-layers", "networks have no layers that predict further tokens");
  }
  if (flags.take_count("num-distributed-optimizer-instances", 1).value_or(1) > 1) {
    refuse(flags, "num-distributed-optimizer-instances",
           "cannot be said in a plan, in which all replicas divide the state");
  }
}

/// Flags one after the other.
class FlagWriter {
 public:
  void add(const std::string& name, const std::string& value = "") {
    if (!text_.empty()) text_ += " \\\n";
    text_ += "--" + name + (value.empty() ? "" : " " + value);
  }
  void add(const std::string& name, std::int64_t value) { add(name, std::to_string(value)); }
  void add_if(bool given, const std::string& name) {
    if (given) add(name);
  }
  [[nodiscard]] std::string text() const { return text_ + "\n"; }

 private:
  std::string text_;
};

void write_degrees(const MegatronRun& run, FlagWriter& flags) {
  const Degrees& degrees = run.degrees;
  if (degrees.tensor > 1) flags.add("tensor-model-parallel-size", degrees.tensor);
  flags.add_if(degrees.tensor > 1 && degrees.sequence, "sequence-parallel");
  if (degrees.context > 1) flags.add("context-parallel-size", degrees.context);
  for (const auto& [attention, name] : kContextTypes) {
    if (degrees.context > 1 && attention == degrees.attention) flags.add("cp-comm-type", name);
  }
  if (degrees.expert > 1) flags.add("expert-model-parallel-size", degrees.expert);
  if (degrees.tensor > 1 && run.divides_experts_alone) flags.add("expert-tensor-parallel-size", std::int64_t{1});
  if (degrees.devices() > 1) flags.add("make-vocab-size-divisible-by", degrees.vocabulary_multiple);
}

void write_optimizer(const MegatronRun& run, FlagWriter& flags) {
  const bool is_fp16 = run.precision == "fp16";
  if (run.recipe == OptimizerRecipe::SgdMomentum) flags.add("optimizer", "sgd");
  if (weight_bytes({.recipe = run.recipe}) == 2) flags.add(is_fp16 ? "fp16" : "bf16");
  if (run.precision == "fp8") flags.add("fp8-format", "hybrid");
  flags.add_if(run.recipe == OptimizerRecipe::Mixed, "accumulate-allreduce-grads-in-fp32");
  flags.add_if(run.recipe == OptimizerRecipe::Mixed16, "grad-reduce-in-bf16");
  flags.add_if(run.zero == 1, "use-distributed-optimizer");
  if (run.zero > 1) {
    flags.add("use-megatron-fsdp");
    flags.add("data-parallel-sharding-strategy", kSharding.at(static_cast<std::size_t>(run.zero)));
    flags.add("ckpt-format", "fsdp_dtensor");
  }
  flags.add_if(run.has_buckets, "overlap-grad-reduce");
  flags.add_if(run.has_buckets && run.zero == 1, "overlap-param-gather");
  if (run.bucket) flags.add("ddp-bucket-size", *run.bucket);
}

}  // namespace

MegatronRun read_megatron_run(MegatronFlags& flags) {
  MegatronRun run;
  run.ranks = flags.ranks();
  read_split(flags, run);
  read_degrees(flags, run);
  read_precision(flags, run);
  read_sharding(flags, run);
  read_overlap(flags, run);
  read_recompute(flags, run);
  refuse_without_plan(flags);
  const auto size = flags.take_count("micro-batch-size", 1);
  if (!size) refuse(flags, "micro-batch-size", "is required, as Megatron-LM requires it");
  run.microbatch_size = *size;
  run.global_batch = flags.take_count("global-batch-size", 1);
  run.blocks = flags.take_count("num-layers", 1);
  run.sequence = flags.take_count("seq-length", 1);
  return run;
}

std::string write_megatron_flags(const MegatronRun& run) {
  FlagWriter flags;
  if (run.blocks) flags.add("num-layers", *run.blocks);
  if (run.sequence) flags.add("seq-length", *run.sequence);
  flags.add("pipeline-model-parallel-size", run.pipeline);
  flags.add("pipeline-model-parallel-layout", "'" + write_layout(run.layout->stages) + "'");
  if (run.group) flags.add("microbatch-group-size-per-virtual-pipeline-stage", *run.group);
  flags.add_if(run.pipelines_first, "use-tp-pp-dp-mapping");
  write_degrees(run, flags);
  flags.add("micro-batch-size", run.microbatch_size);
  flags.add("global-batch-size", *run.global_batch);
  write_optimizer(run, flags);
  if (run.recomputes_attention) flags.add("recompute-granularity", "selective");
  if (run.recompute) {
    flags.add("recompute-granularity", "full");
    flags.add("recompute-method", run.recompute->in_segments ? "uniform" : "block");
    flags.add("recompute-num-layers", run.recompute->blocks);
  }
  return flags.text();
}

bool has_flags(OptimizerRecipe recipe, const std::string& precision) {
  const bool is_fp16 = precision == "fp16";
  switch (recipe) {
    case OptimizerRecipe::Fp32:
    case OptimizerRecipe::SgdMomentum: return precision == "fp32";
    case OptimizerRecipe::Mixed: return true;
    case OptimizerRecipe::Mixed16: return !is_fp16;
    case OptimizerRecipe::Mixed16Accumulate32: return is_fp16;
    case OptimizerRecipe::Pure16: return false;
  }
  return false;
}

}  // namespace stagecraft
