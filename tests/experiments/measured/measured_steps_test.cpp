#include "experiments/measured/measured_steps.hpp"

#include "experiments/measured/measured_plan.hpp"
#include "experiments/run/inputs.hpp"
#include "sim/workload/build_model.hpp"
#include "sim/workload/catalogue.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace stagecraft::measured_steps_file_test {
namespace {

std::string refusal(const std::string& text) {
  try {
    static_cast<void>(parse_measured_steps(text, "s.csv"));
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

const std::string kHead = "model,microbatch_size,global_batch,iteration_time";

}  // namespace

TEST_CASE("measured steps: only the network, the batch and the time are required") {
  const std::vector<MeasuredStep> steps = parse_measured_steps(kHead + "\nbert-large,4,64,1.5 s\n", "s.csv").steps;
  REQUIRE(steps.size() == 1);
  const MeasuredStep& step = steps.front();
  CHECK(step.name == "row 1");
  CHECK(step.model == "bert-large");
  CHECK(step.microbatch_size == 4);
  CHECK(step.global_batch == 64);
  CHECK(step.pipeline * step.data * step.chunks * step.degrees.devices() == 1);
  CHECK(step.time == Seconds(1.5));
  CHECK(step.place == InputPlace{"s.csv", 2, 0, ""});
}

TEST_CASE("measured steps: columns say the run, in any order, and an empty field is as none") {
  const std::vector<MeasuredStep> steps =
      parse_measured_steps(
          "iteration_time_s,tensor,name,pipeline,data,chunks,zero,recompute,sequence_parallel,gradient_bucket,sequence,"
          "microbatch_size,model,global_batch\n"
          "0.25,2,a,4,8,3,1,full,false,40 MiB,512,2,gpt.yaml,96\n"
          "0.5,,,,,,,,,,,2,gpt.yaml,96\n",
          "s.csv")
          .steps;
  REQUIRE(steps.size() == 2);
  const MeasuredStep& step = steps.front();
  CHECK(step.name == "a");
  CHECK(step.degrees == Degrees{.tensor = 2, .sequence = false});
  CHECK(step.pipeline == 4);
  CHECK(step.data == 8);
  CHECK(step.chunks == 3);
  CHECK(step.training.zero == 1);
  CHECK(step.training.recompute == RecomputedPart::Blocks);
  CHECK(step.training.gradient_bucket == Bytes(std::int64_t{40} << 20));
  CHECK(step.sequence == 512);
  CHECK(step.time == Seconds(0.25));
  CHECK(steps[1].name == "row 2");
  CHECK(steps[1].pipeline == 1);
  CHECK(steps[1].training.recompute == RecomputedPart::Nothing);
  CHECK_FALSE(steps[1].sequence);
}

TEST_CASE("measured steps: sizes, layouts, where it ran, memory, and rows that are left out") {
  const MeasuredTable table = parse_measured_steps(
      kHead +
          ",layers,vocabulary,layout,optimizer,platform,precision,peak_memory,left_out,framework,source\n"
          "gpt.yaml,1,8,1 s,6,512,Et*2|t*4L,mixed-16,p.yaml,fp16,2 GiB,,ours,a page\n"
          "gpt.yaml,,,,,,,,,,,no time is given,,another\n",
      "s.csv");
  REQUIRE(table.steps.size() == 1);
  const MeasuredStep& step = table.steps.front();
  CHECK(step.sizes == FileValues{{"layers", std::int64_t{6}}, {"vocabulary", std::int64_t{512}}});
  CHECK(step.layout.value().stages == std::vector<LayoutStage>{"Ett", "ttttL"});
  CHECK(step.training.optimizer == OptimizerRecipe::Mixed16);
  CHECK(step.platform == "p.yaml");
  CHECK(step.precision == "fp16");
  CHECK(step.peak_memory == Bytes(std::int64_t{2} << 30));
  CHECK(step.framework == "ours");
  REQUIRE(table.left_out.size() == 1);
  CHECK(table.left_out.front().name == "row 2");
  CHECK(table.left_out.front().reason == "no time is given");
}

TEST_CASE("measured steps: wrong tables are refused at their place") {
  CHECK(refusal("model,microbatch_size,global_batch\nx,1,1\n").find("the column 'iteration_time' is missing") !=
        std::string::npos);
  CHECK(refusal(kHead + ",pipline\nx,1,1,1 s,2\n").find("did you mean 'pipeline'?") != std::string::npos);
  CHECK(refusal(kHead + "\nx,1,1,1\n").find("s.csv:2: iteration_time: expected a time") != std::string::npos);
  CHECK(refusal(kHead + "\nx,0,1,1 s\n").find("s.csv:2: microbatch_size: expected a whole number from 1") !=
        std::string::npos);
  CHECK(refusal(kHead + ",model\nx,1,1,1 s,x\n").find("the column 'model' comes twice") != std::string::npos);
}

// 24 blocks on 2 devices of 3 chunks: 4 blocks each, the embedding with the first and the head with the last.
TEST_CASE("measured plan: stages have equally many blocks, and chunks go round the devices") {
  const Platform platform = build_platform(load_platform_spec("dgx-a100"));
  MeasuredStep step =
      parse_measured_steps(kHead + ",tensor,pipeline,data,chunks\nbert-large,4,64,1 s,2,2,2,3\n", "s.csv")
          .steps.front();
  const DeviceDescription device = find_device("A100-SXM4-40GB", Precision::Bf16).value();
  const LayerGraph graph =
      build_model(*find_architecture("bert-large"), device, 4, Granularity::Block, step.degrees).profiles.front();
  const Plan plan = measured_plan(step, graph, platform);
  CHECK(plan.microbatches == 16);
  CHECK(plan.schedule == ScheduleChoice{"interleaved-1f1b", {{"chunks", std::int64_t{3}}}});
  REQUIRE(plan.stages.size() == 6);
  CHECK(plan.stages[0].layers.size() == 5);
  CHECK(plan.stages[3].layers.size() == 4);
  CHECK(plan.stages[5].layers.size() == 5);
  for (std::size_t s = 0; s < 6; ++s) {
    REQUIRE(plan.stages[s].replicas.size() == 2);
    const std::size_t first = s % 2 * 4;
    CHECK(plan.stages[s].replicas[0].devices == std::vector<DeviceId>{DeviceId(first), DeviceId(first + 1)});
    CHECK(plan.stages[s].replicas[1].devices == std::vector<DeviceId>{DeviceId(first + 2), DeviceId(first + 3)});
  }
  step.training.recompute = RecomputedPart::Blocks;
  CHECK(layers_with<Recompute>(measured_plan(step, graph, platform)) == 24);
}

}  // namespace stagecraft::measured_steps_file_test
