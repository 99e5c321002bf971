// Runs of Megatron-LM: flags, plans, and back.
#include "sim/base/error.hpp"
#include "sim/io/megatron_export.hpp"
#include "sim/io/megatron_import.hpp"
#include "sim/io/megatron_network.hpp"
#include "sim/io/megatron_run.hpp"
#include "sim/io/megatron_unread.hpp"
#include "sim/io/network_units.hpp"
#include "tests/io/language_chain.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace stagecraft {
namespace {

using Stages = std::vector<LayoutStage>;

const std::string kSize = " --micro-batch-size 1";

/// What a text of flags says, and the flags that say nothing of a plan.
struct Read {
  MegatronFlags flags;
  MegatronRun run;
  explicit Read(const std::string& text) : flags(parse_megatron_flags(text, "f")), run(read_megatron_run(flags)) {}
};

Stages stages_of(const std::string& text, std::int64_t blocks) {
  const Read read(text + kSize);
  return megatron_layout(read.run, read.flags, blocks);
}

/// The plan as the command makes it of the flags: a replica is a group of devices that follow each other.
Plan plan_of(const Read& read, const LayerGraph& graph, std::int64_t devices) {
  const MegatronPlan made = megatron_plan(read.run, read.flags, graph, network_units(graph), devices);
  Plan plan;
  plan.schedule = made.schedule;
  plan.microbatches = made.microbatches;
  plan.microbatch_size = read.run.microbatch_size;
  plan.degrees = read.run.degrees;
  plan.training = training_of(made.training, graph);
  plan.stages = made.stages;
  for (Stage& stage : plan.stages) {
    for (Group& replica : stage.replicas) {
      const auto size = static_cast<std::size_t>(plan.degrees.devices());
      const std::size_t first = replica.lead().value() * size;
      replica.devices.clear();
      for (std::size_t i = 0; i < size; ++i) replica.devices.emplace_back(first + i);
    }
  }
  return plan;
}

/// A random run of a network with `blocks`, all of whose stages have a layer.
struct RandomRun {
  std::mt19937 random;
  std::int64_t blocks = 0;
  MegatronRun run = {};

  explicit RandomRun(unsigned seed) : random(seed) {
    run.pipeline = 1 + up_to(4);
    const std::int64_t chunks = run.pipeline == 1 ? 1 : 1 + up_to(3);
    run.layout = LayoutString{};
    for (std::int64_t s = 0; s < run.pipeline * chunks; ++s) {
      const std::int64_t count = 1 + up_to(5);
      blocks += count;
      run.layout->stages.emplace_back(static_cast<std::size_t>(count), 't');
    }
    run.layout->stages.front().insert(0, 1, 'E');
    run.layout->stages.back() += 'L';
    run.blocks = blocks;
    run.degrees.tensor = std::int64_t{1} << up_to(2);
    run.degrees.context = std::int64_t{1} << up_to(2);
    run.degrees.sequence = run.degrees.tensor == 1 || up_to(2) == 0;
    run.degrees.attention = run.degrees.context == 1 ? ContextAttention::Ring : ContextAttention::AllGather;
    run.degrees.vocabulary_multiple = run.degrees.devices() > 1 ? 1 + up_to(200) : 1;
    run.divides_experts_alone = false;
    const std::int64_t replicas = 1 + up_to(3);
    run.ranks = run.pipeline * replicas * run.degrees.devices();
    run.pipelines_first = run.pipeline > 1 && replicas > 1 && up_to(2) == 0;
    run.microbatch_size = 1 + up_to(4);
    run.global_batch = run.microbatch_size * replicas * run.pipeline * (1 + up_to(4));
    if (chunks > 1 && up_to(2) == 0) run.group = run.pipeline + 1 + up_to(3);
    run.zero = up_to(4);
    run.has_buckets = run.zero < 2 && up_to(2) == 0;
    if (run.has_buckets) run.bucket = 1 + up_to(1000);
    if (up_to(2) == 0) run.recompute = MegatronRecompute{up_to(2) == 0, 1 + up_to(3)};
    run.recomputes_attention = !run.recompute && up_to(2) == 0;
  }

  std::int64_t up_to(std::int64_t end) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(end)); }
};

TEST_CASE("Megatron-LM: 200 random runs become plans, and flags again that make the same plan") {
  int recomputing = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    const RandomRun random(seed);
    const std::string text = write_megatron_flags(random.run);
    CAPTURE(text);
    const std::string launched =
        "torchrun --nnodes=1 --nproc_per_node " + std::to_string(*random.run.ranks) + " pretrain_gpt.py " + text;
    const LayerGraph graph = testing::language_chain(random.blocks, seed % 2 == 0);
    const Read read(launched);
    CHECK(read.flags.left() == std::vector<std::string>(random.run.zero > 1 ? 1 : 0, "--ckpt-format"));
    const Plan plan = plan_of(read, graph, *random.run.ranks + 1);
    const Platform platform = testing::like_devices(static_cast<std::size_t>(*random.run.ranks) + 1);
    const MegatronExport made = megatron_export(plan, graph, platform, random.run.recomputes_attention);
    CHECK(std::ssize(made.devices) == *random.run.ranks);
    CHECK(made.notes.empty());
    recomputing += made.run.recompute ? 1 : 0;
    // N blocks of a stage that has no more are all of them, so what is recomputed decides, not the flag.
    const Plan again = plan_of(Read("torchrun --nproc-per-node " + std::to_string(*random.run.ranks) + " t.py " +
                                    write_megatron_flags(made.run)),
                               graph, *random.run.ranks + 1);
    CHECK(again == plan);
    MegatronRun same = made.run;
    same.recompute = random.run.recompute;
    CHECK(write_megatron_flags(same) == text);
  }
  CHECK(recomputing > 50);
}

TEST_CASE("Megatron-LM: blocks are divided among ranks and virtual stages without a layout") {
  const std::string four = "--pipeline-model-parallel-size 4 ";
  CHECK(stages_of("--num-layers 3", 3) == Stages{"EtttL"});
  CHECK(stages_of(four, 8) == Stages{"Ett", "tt", "tt", "ttL"});
  CHECK(stages_of("--pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 2", 8) ==
        Stages{"Ett", "tt", "tt", "ttL"});
  CHECK(stages_of("--pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 4", 8) ==
        Stages{"Et", "t", "t", "t", "t", "t", "t", "tL"});
  CHECK(stages_of(four + "--decoder-first-pipeline-num-layers 1 --decoder-last-pipeline-num-layers 3", 8) ==
        Stages{"Et", "tt", "tt", "tttL"});
  CHECK(stages_of(four + "--decoder-last-pipeline-num-layers 2", 8) == Stages{"Ett", "tt", "tt", "ttL"});
  CHECK(stages_of("--pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 2 "
                  "--decoder-first-pipeline-num-layers 2",
                  8) == Stages{"Et", "ttt", "t", "tttL"});
  CHECK(stages_of(four + "--account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split", 6) ==
        Stages{"Et", "tt", "tt", "tL"});
  CHECK(stages_of("--pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 2 "
                  "--account-for-loss-in-pipeline-split",
                  7) == Stages{"Ett", "tt", "tt", "tL"});
  CHECK(stages_of(four + "--account-for-embedding-in-pipeline-split", 3) == Stages{"E", "t", "t", "tL"});
}

TEST_CASE("Megatron-LM: what an optimizer keeps of a parameter") {
  const auto recipe = [](const std::string& text) { return Read(text + kSize).run.recipe; };
  CHECK(recipe("") == OptimizerRecipe::Fp32);
  CHECK(recipe("--optimizer sgd") == OptimizerRecipe::SgdMomentum);
  CHECK(recipe("--bf16") == OptimizerRecipe::Mixed);
  CHECK(recipe("--bf16 --grad-reduce-in-bf16") == OptimizerRecipe::Mixed16);
  CHECK(recipe("--fp16") == OptimizerRecipe::Mixed16Accumulate32);
  CHECK(recipe("--fp16 --accumulate-allreduce-grads-in-fp32") == OptimizerRecipe::Mixed);
  CHECK(Read("--bf16 --fp8-format hybrid" + kSize).run.precision == "fp8");
}

TEST_CASE("Megatron-LM: buckets have its own number of parameters unless a flag says another") {
  const LayerGraph graph = testing::language_chain(4);
  const auto bucket = [&](const std::string& text, std::int64_t devices) {
    return plan_of(Read("--overlap-grad-reduce" + kSize + text), graph, devices).training.gradient_bucket;
  };
  CHECK(bucket("", 8) == Bytes(4 * 40'000'000LL));
  CHECK(bucket("", 64) == Bytes(4 * 64'000'000LL));
  CHECK(bucket(" --ddp-bucket-size 1000", 8) == Bytes(4000));
}

TEST_CASE("Megatron-LM: a launch command has flags between lines, quotes and comments") {
  const Read read(
      "GPUS=8 torchrun --nnodes 2 --nproc_per_node=8 pretrain_gpt.py \\\n"
      "  --pipeline-model-parallel-size=2 \\\r\n  --lr 1e-4 --data-path a b \\\n"
      "  --pipeline-model-parallel-layout \"Et|tL\" --micro-batch-size '2'  # the end\n");
  CHECK(read.run.ranks == 16);
  CHECK(read.run.pipeline == 2);
  CHECK(read.run.microbatch_size == 2);
  CHECK(read.run.layout->stages == Stages{"Et", "tL"});
  CHECK(read.flags.left() == std::vector<std::string>{"--lr", "--data-path"});
  const InputPlace layout = read.flags.value_place("pipeline-model-parallel-layout");
  CHECK(layout == InputPlace{"f", 4, 37, "--pipeline-model-parallel-layout"});
}

/// The flags that are not read, of a run with its network.
UnreadFlags unread_of(const std::string& text) {
  Read read(text + kSize);
  static_cast<void>(read_megatron_network(read.flags));
  return unread_flags(read.flags);
}

TEST_CASE("Megatron-LM: a flag that seems to mean one that is read is refused") {
  const auto meant = [](const std::string& flag) -> std::string {
    try {
      static_cast<void>(unread_of("--" + flag));
    } catch (const InputError& error) {
      CHECK(error.place() == InputPlace{"f", 1, 1, "--" + flag});
      return error.hint();
    }
    return "";
  };
  for (const std::string mistaken :
       {"pipline-model-parallel-size", "pipeline-parallel-size", "pipeline_model_parallel_size"}) {
    CHECK(meant(mistaken) == "did you mean --pipeline-model-parallel-size?");
  }
  CHECK(meant("sequence-paralel") == "did you mean --sequence-parallel?");
  CHECK(meant("hidden-size-x") == "did you mean --hidden-size?");
  CHECK(meant("foo").empty());
}

TEST_CASE("Megatron-LM: flags that are not read are told apart by what they change") {
  using Names = std::vector<std::string>;
  CHECK(unread_of("--lr 1 --lr-warmup-iters 2 --data-path a b --eval-micro-batch-size 1 --ckpt-format torch") ==
        UnreadFlags{.without_effect = {"--lr", "--lr-warmup-iters", "--data-path", "--eval-micro-batch-size",
                                       "--ckpt-format"}});
  CHECK(unread_of("--delay-wgrad-compute --tp-comm-overlap-ag --fp8-recipe delayed --overlap-p2p-communication-warmup-"
                  "flush --pipeline-model-parallel-comm-backend nccl")
            .not_modelled == Names{"--delay-wgrad-compute", "--tp-comm-overlap-ag", "--fp8-recipe",
                                   "--overlap-p2p-communication-warmup-flush",
                                   "--pipeline-model-parallel-comm-backend"});
  CHECK(unread_of("--swiglu --position-embedding-type rope").of_network ==
        Names{"--swiglu", "--position-embedding-type"});
  CHECK(unread_of("--foo 1 --lrx 2 --recompute-parts a").unknown == Names{"--foo", "--lrx", "--recompute-parts"});
}

/// The flags of a network that are not compared with these sizes; the name of the flag that is refused.
std::vector<std::string> compared(const std::string& text, const std::optional<NetworkSizes>& known) {
  Read read(text + kSize);
  const MegatronNetwork network = read_megatron_network(read.flags);
  LayerGraph graph = testing::language_chain(4);
  graph.work.tokens = 2048;
  try {
    return compare_network(network, read.run, read.flags, known, graph);
  } catch (const InputError& error) {
    return {"refused", error.place().key};
  }
}

TEST_CASE("Megatron-LM: the network of the flags is compared with that of the model") {
  using Names = std::vector<std::string>;
  const NetworkSizes dense{.hidden = 512,
                           .heads = 8,
                           .key_value_heads = 8,
                           .head_size = 64,
                           .feed_forward = 2048,
                           .vocabulary = 50304,
                           .positions = 2048,
                           .experts = 0,
                           .active_experts = 0};
  const std::string same = "--hidden-size 512 --num-attention-heads 8 --max-position-embeddings 2048 ";
  CHECK(compared(same, dense).empty());
  CHECK(compared(same + "--vocab-size 50304", dense).empty());
  CHECK(compared(same + "--vocab-size 50257", dense).empty());  // padded to a multiple of 128
  CHECK(compared(same + "--vocab-size 50257 --make-vocab-size-divisible-by 1", dense) ==
        Names{"refused", "--vocab-size"});
  CHECK(compared(same + "--vocab-size 50257 --tensor-model-parallel-size 4", dense) ==
        Names{"refused", "--vocab-size"});  // 50688
  CHECK(compared(same + "--vocab-size 50257 --padded-vocab-size 50304", dense).empty());
  CHECK(compared("--padded-vocab-size 50257", dense) == Names{"refused", "--padded-vocab-size"});
  CHECK(compared("--padded-vocab-size 50304", NetworkSizes{.vocabulary = 50257}).empty());
  CHECK(compared("--padded-vocab-size 50432", NetworkSizes{.vocabulary = 50257}) ==
        Names{"refused", "--padded-vocab-size"});
  Read padded("--vocab-size 50257 --tensor-model-parallel-size 4" + kSize);
  CHECK(padded_vocabulary(read_megatron_network(padded.flags), padded.run) == 50688);
  CHECK(compared("--num-experts 8", dense) == Names{"refused", "--num-experts"});
  CHECK(compared("--moe-router-topk 2", dense) == Names{"refused", "--moe-router-topk"});
  CHECK(compared("--hidden-size 256", dense) == Names{"refused", "--hidden-size"});
  CHECK(compared("--max-position-embeddings 4096", dense) == Names{"refused", "--max-position-embeddings"});
  CHECK(compared("--max-position-embeddings 1024", std::nullopt) == Names{"refused", "--max-position-embeddings"});
  CHECK(compared("--hidden-size 512 --kv-channels 64", std::nullopt) == Names{"--hidden-size", "--kv-channels"});
  CHECK(compared("--kv-lora-rank 64", dense) == Names{"--kv-lora-rank"});
  CHECK(compared("--max-position-embeddings 4096", NetworkSizes{.positions = 0}).empty());  // no table of them
  CHECK(compared("--max-position-embeddings 4096", NetworkSizes{}) == Names{"--max-position-embeddings"});
}

TEST_CASE("Megatron-LM: a network that the flags describe has its defaults for what they leave out") {
  using Names = std::vector<std::string>;
  const std::string sizes = "--hidden-size 4096 --num-attention-heads 32 ";
  NetworkSizes known{
      .hidden = 4096, .heads = 32, .key_value_heads = 32, .head_size = 128, .feed_forward = 16384, .experts = 0};
  CHECK(compared(sizes, known).empty());
  CHECK(compared(sizes + "--swiglu", known) == Names{"refused", "--ffn-hidden-size"});
  known.feed_forward = 10880;  // 2/3 of it, as a multiple of 64
  CHECK(compared(sizes + "--swiglu", known).empty());
  known.key_value_heads = 8;
  CHECK(compared(sizes + "--swiglu", known) == Names{"refused", "--num-query-groups"});
  CHECK(compared(sizes + "--swiglu --group-query-attention", known) == Names{"refused", "--num-query-groups"});
  CHECK(compared(sizes + "--swiglu --group-query-attention --num-query-groups 8", known).empty());
  known = {.hidden = 4096, .experts = 8, .active_experts = 2, .expert_feed_forward = 14336, .shared_feed_forward = 0};
  CHECK(compared("--hidden-size 4096", known) == Names{"refused", "--num-experts"});
  CHECK(compared("--hidden-size 4096 --num-experts 8", known) == Names{"refused", "--moe-ffn-hidden-size"});
  CHECK(compared("--hidden-size 4096 --num-experts 8 --ffn-hidden-size 14336", known).empty());
  known.active_experts = 4;
  CHECK(compared("--num-experts 8", known) == Names{"refused", "--moe-router-topk"});
  CHECK(compared("--num-experts 8 --moe-router-topk 4", known).empty());
}

TEST_CASE("Megatron-LM: attention with latent vectors is compared, too") {
  using Names = std::vector<std::string>;
  const NetworkSizes latent{.hidden = 512, .heads = 8, .query_rank = 0, .key_value_rank = 64, .nope = 32};
  const std::string sizes = "--hidden-size 512 --num-attention-heads 8 ";
  CHECK(compared(sizes, latent) == Names{"refused", "--multi-latent-attention"});
  CHECK(compared(sizes + "--multi-latent-attention --kv-lora-rank 64", latent).empty());
  CHECK(compared(sizes + "--multi-latent-attention --kv-lora-rank 32", latent) == Names{"refused", "--kv-lora-rank"});
  CHECK(compared("--multi-latent-attention", NetworkSizes{.key_value_rank = 0}) ==
        Names{"refused", "--multi-latent-attention"});
}

TEST_CASE("Megatron-LM: a plan that recomputes the embedding and the head says what the flags leave out") {
  const LayerGraph graph = testing::language_chain(4);
  Plan plan = plan_of(Read("--pipeline-model-parallel-size 2" + kSize), graph, 2);
  plan.stages[0].memory = {Recompute{plan.stages[0].layers}};
  plan.stages[1].memory = {Recompute{plan.stages[1].layers}};
  const MegatronExport made = megatron_export(plan, graph, testing::like_devices(2), false);
  CHECK(made.run.recompute == MegatronRecompute{true, 2});
  CHECK(made.notes == std::vector<std::string>{"Megatron-LM recomputes blocks alone, not the embedding nor the head"});
}

TEST_CASE("Megatron-LM: the units of a network") {
  const NetworkUnits units = network_units(testing::language_chain(3));
  CHECK(units.embedding == std::vector<LayerId>{LayerId(0)});
  CHECK(units.blocks.size() == 3);
  CHECK(units.blocks[1] == std::vector<LayerId>{LayerId(3), LayerId(4)});
  CHECK(units.head == std::vector<LayerId>{LayerId(7)});
  LayerGraph other = testing::language_chain(3);
  other.layers[LayerId(3)].name = "block2.attention";
  CHECK_THROWS_AS(static_cast<void>(network_units(other)), InputError);
}

}  // namespace
}  // namespace stagecraft
