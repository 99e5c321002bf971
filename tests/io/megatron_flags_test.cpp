// Runs of Megatron-LM: flags, plans, and back.
#include "sim/base/error.hpp"
#include "sim/io/megatron_export.hpp"
#include "sim/io/megatron_import.hpp"
#include "sim/io/megatron_run.hpp"
#include "sim/io/network_units.hpp"
#include "tests/io/language_chain.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
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
  const MegatronPlan made = megatron_plan(read.run, read.flags, graph, devices);
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
    const MegatronExport made = megatron_export(plan, graph, platform);
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

TEST_CASE("Megatron-LM: a flag that seems to mean one that is read is refused, others are told") {
  const auto left = [](const std::string& flag) -> std::string {
    const Read read("--" + flag + kSize);
    try {
      return read.flags.left().front();
    } catch (const InputError& error) {
      CHECK(error.place() == InputPlace{"f", 1, 1, "--" + flag});
      return error.hint();
    }
  };
  for (const std::string mistaken :
       {"pipline-model-parallel-size", "pipeline-parallel-size", "pipeline_model_parallel_size"}) {
    CHECK(left(mistaken) == "did you mean --pipeline-model-parallel-size?");
  }
  CHECK(left("sequence-paralel") == "did you mean --sequence-parallel?");
  for (const std::string other : {"ckpt-format", "recompute-modules", "pipeline-model-parallel-comm-backend",
                                  "ffn-hidden-size", "eval-micro-batch-size", "num-experts", "lr", "fp8-recipe"}) {
    CHECK(left(other) == "--" + other);
  }
}

TEST_CASE("Megatron-LM: a plan that recomputes the embedding and the head says what the flags leave out") {
  const LayerGraph graph = testing::language_chain(4);
  Plan plan = plan_of(Read("--pipeline-model-parallel-size 2" + kSize), graph, 2);
  plan.stages[0].memory = {Recompute{plan.stages[0].layers}};
  plan.stages[1].memory = {Recompute{plan.stages[1].layers}};
  const MegatronExport made = megatron_export(plan, graph, testing::like_devices(2));
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
