// Logs of Megatron-LM: what is imported is the run that the log is of, to which `validate` then compares.
#include "tests/experiments/commands/toy.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft::import_log_test {
namespace {

using Json = nlohmann::json;

const std::string kNetwork = R"(schema: stagecraft/architecture/1
architecture: small
family: gpt
layers: 8
hidden: 512
heads: 8
sequence: 256
vocabulary: 32768
)";

const std::string kFlags =
    "torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 8 --seq-length 256 --bf16 --micro-batch-size 2 "
    "--global-batch-size 64 --pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 2 "
    "--tensor-model-parallel-size 2 --sequence-parallel --use-distributed-optimizer --recompute-granularity full "
    "--recompute-method uniform --recompute-num-layers 1\n";

/// The arguments that such a run prints, with those that other flags would have set, and the launcher's names of ranks.
const std::string kArguments =
    "[default0]:using world size: 8, data-parallel size: 2\n"
    "[default0]:------------------------ arguments ------------------------\n"
    "[default0]:  accumulate_allreduce_grads_in_fp32 .............. True\n"
    "[default0]:  bf16 ............................................ True\n"
    "[default0]:  context_parallel_size ........................... 1\n"
    "[default0]:  cp_comm_type .................................... ['p2p']\n"
    "[default0]:  cpu_offloading_num_layers ....................... 0\n"
    "[default0]:  data_parallel_sharding_strategy ................. no_shard\n"
    "[default0]:  ddp_bucket_size ................................. None\n"
    "[default0]:  encoder_num_layers .............................. 8\n"
    "[default0]:  expert_tensor_parallel_size ..................... 2\n"
    "[default0]:  fp16 ............................................ False\n"
    "[default0]:  fp8 ............................................. None\n"
    "[default0]:  global_batch_size ............................... 64\n"
    "[default0]:  micro_batch_size ................................ 2\n"
    "[default0]:  microbatch_group_size_per_vp_stage .............. 2\n"
    "[default0]:  num_layers ...................................... 8\n"
    "[default0]:  num_layers_per_virtual_pipeline_stage ........... 2\n"
    "[default0]:  num_query_groups ................................ 1\n"
    "[default0]:  optimizer ....................................... adam\n"
    "[default0]:  pipeline_model_parallel_size .................... 2\n"
    "[default0]:  recompute_granularity ........................... full\n"
    "[default0]:  recompute_method ................................ uniform\n"
    "[default0]:  recompute_num_layers ............................ 1\n"
    "[default0]:  seq_length ...................................... 256\n"
    "[default0]:  sequence_parallel ............................... True\n"
    "[default0]:  tensor_model_parallel_size ...................... 2\n"
    "[default0]:  use_distributed_optimizer ....................... True\n"
    "[default0]:  virtual_pipeline_model_parallel_size ............ 2\n"
    "[default0]:  world_size ...................................... 8\n"
    "[default0]:-------------------- end of arguments ---------------------\n";

std::string iteration(int number, double milliseconds, int skipped = 0) {
  return " [2026-01-01 00:00:00] iteration " + std::to_string(number) +
         "/     100 | consumed samples:  640 | elapsed time " + "per iteration (ms): " + std::to_string(milliseconds) +
         " | learning rate: 1.0E-04 | global batch size:    64 | " +
         "lm loss: 9.0E+00 | number of skipped iterations:   " + std::to_string(skipped) + " |\n";
}

Json ran_json(std::vector<std::string> arguments) {
  arguments.emplace_back("--json");
  const Ran ran = run(arguments);
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  return Json::parse(ran.out);
}

/// Iterations whose median is the one given, behind a slow start and beside a slow one and one without an update.
std::string log_of(double milliseconds) {
  std::string log;
  for (int i = 1; i <= 10; ++i) log += iteration(i, 50.0 * milliseconds);
  for (int i = 11; i <= 19; ++i) log += iteration(i, milliseconds);
  return log + iteration(20, milliseconds / 9.0, 1) + iteration(21, 3.0 * milliseconds);
}

/// Of an iteration of the run that the flags are of.
double simulated_seconds(const Folder& folder) {
  write(folder.file("gpt.yaml"), kNetwork);
  write(folder.file("flags.sh"), kFlags);
  REQUIRE(run({"import", "megatron-flags", folder.file("flags.sh"), "--model", folder.file("gpt.yaml"), "--platform",
               "dgx-a100", "-o", folder.file("plan.yaml")})
              .code == 0);
  return ran_json({"simulate", folder.file("plan.yaml"), "--engine", "evaluate"})["iteration_time_s"].get<double>();
}

}  // namespace

TEST_CASE("import megatron-log: a log of a simulated run is predicted with no error, with flags or arguments") {
  const Folder folder;
  const double seconds = simulated_seconds(folder);
  write(folder.file("plain.log"), log_of(1e3 * seconds));
  write(folder.file("listed.log"), kArguments + log_of(1e3 * seconds));
  const std::vector<std::string> options = {"--model", folder.file("gpt.yaml"), "--platform", "dgx-a100"};
  for (const bool has_list : {false, true}) {
    CAPTURE(has_list);
    const std::string table = folder.file(has_list ? "listed.csv" : "plain.csv");
    std::vector<std::string> command = {"import", "megatron-log", folder.file(has_list ? "listed.log" : "plain.log"),
                                        "-o", table};
    command.insert(command.end(), options.begin(), options.end());
    if (!has_list) command.insert(command.end(), {"--flags", folder.file("flags.sh")});
    const Json step = ran_json(command)["steps"][0];
    CHECK(step["lines"] == 10);
    CHECK(step["row"]["model"] == "gpt.yaml");  // beside the table
    CHECK(step["row"]["recompute"] == "full");
    CHECK(step["row"]["zero"] == "1");
    CHECK(step["row"]["tensor"] == "2");
    CHECK(step["row"]["data"] == "2");
    CHECK(step["row"]["chunks"] == "2");
    const Json predicted = ran_json({"validate", table})["sites"][0]["steps"][0];
    CHECK(predicted["predicted_s"].get<double>() ==  // the profile of a plan is rounded to the nanosecond
          doctest::Approx(predicted["measured_s"].get<double>()).epsilon(1e-7));
  }
}

TEST_CASE(
    "import megatron-log: the deviation is that of the iterations that are left, and several logs are several rows") {
  const Folder folder;
  write(folder.file("gpt.yaml"), kNetwork);
  write(folder.file("flags.sh"), kFlags);
  write(folder.file("a.log"),
        iteration(5, 9e3) + iteration(10, 9e3) + iteration(15, 100) + iteration(20, 104) + iteration(25, 96));
  write(folder.file("b.log"), " iteration 1/ 9 | elapsed time per iteration (ms): 250.0/251.5 |\n");
  const Ran ran = run({"import", "megatron-log", folder.file("a.log"), "--model", folder.file("gpt.yaml"), "--flags",
                       folder.file("flags.sh"), "--json"});
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  const Json step = Json::parse(ran.out)["steps"][0];
  CHECK(step["lines"] == 3);
  CHECK(step["iteration_time_s"] == 0.1);
  CHECK(step["relative_standard_deviation"].get<double>() == doctest::Approx(0.04));
  CHECK(step["relative_standard_error"].get<double>() == doctest::Approx(0.04 / std::sqrt(3.0)));
  const Json steps = ran_json({"import", "megatron-log", folder.file("a.log"), folder.file("b.log"), "--model",
                               folder.file("gpt.yaml"), "--flags", folder.file("flags.sh"), "--warmup", "0"})["steps"];
  REQUIRE(steps.size() == 2);
  CHECK(steps[0]["iteration_time_s"] == 0.104);
  CHECK(steps[1]["iteration_time_s"] == 0.25);
  CHECK(steps[1]["row"]["name"] == "b");
}

TEST_CASE("import megatron-log: a row has the sizes of its log in place of those of the architecture file") {
  const Folder folder;
  const std::string other =
      "schema: stagecraft/architecture/1\narchitecture: other\nfamily: gpt\nlayers: 24\nhidden: 1024\nheads: 16\n"
      "sequence: 256\n";
  const std::string list =
      "  hidden_size ....... 512\n  num_attention_heads ....... 8\n  ffn_hidden_size ....... 2048\n"
      "  group_query_attention ....... False\n  num_experts ....... None\n";
  std::string arguments = kArguments;
  arguments.insert(arguments.find("[default0]:  world_size"), list);
  write(folder.file("other.yaml"), other);
  const double seconds = simulated_seconds(folder);
  write(folder.file("a.log"),
        arguments + " > padded vocab (size: 32700) with 68 dummy tokens (new size: 32768)\n" + log_of(1e3 * seconds));
  std::string wide = arguments;
  wide.replace(wide.find("2048"), 4, "1536");
  wide.insert(wide.find("[default0]:  world_size"), "  padded_vocab_size ....... 51200\n");
  write(folder.file("b.log"), wide + log_of(100));
  const Json steps =
      ran_json({"import", "megatron-log", folder.file("a.log"), folder.file("b.log"), "--model",
                folder.file("other.yaml"), "--platform", "dgx-a100", "-o", folder.file("steps.csv")})["steps"];
  for (const auto& [column, size] :
       {std::pair{"layers", "8"}, {"hidden", "512"}, {"heads", "8"}, {"vocabulary", "32768"}}) {
    CAPTURE(column);
    CHECK(steps[0]["row"][column] == size);
  }
  CHECK(steps[0]["row"]["feed_forward"] == "");  // as the file has it without one
  CHECK(steps[0]["row"]["key_value_heads"] == "");
  CHECK(steps[1]["row"]["feed_forward"] == "1536");
  CHECK(steps[1]["row"]["vocabulary"] == "51200");
  const Json predicted = ran_json({"validate", folder.file("steps.csv")})["sites"][0]["steps"][0];
  CHECK(predicted["predicted_s"].get<double>() == doctest::Approx(seconds).epsilon(1e-7));
}

TEST_CASE("import megatron-log: flags of a file are read, and told of, as import megatron-flags does") {
  const Folder folder;
  const std::string network = folder.file("gpt.yaml");
  write(network, kNetwork);
  write(folder.file("a.log"), log_of(100));
  write(folder.file("b.log"), log_of(200));
  write(folder.file("flags.sh"), kFlags + "--tp-comm-overlap --zorp --swiglu --lr 1\n");
  const Ran plan = run({"import", "megatron-flags", folder.file("flags.sh"), "--model", network, "--platform",
                        "dgx-a100", "-o", folder.file("plan.yaml")});
  const Ran log = run({"import", "megatron-log", folder.file("a.log"), folder.file("b.log"), "--model", network,
                       "--flags", folder.file("flags.sh"), "-o", folder.file("steps.csv")});
  REQUIRE_MESSAGE(log.code == 0, log.err);
  for (const std::string note : {"not modelled, though they change time or memory: --tp-comm-overlap\n",
                                 "does not know them: --zorp\n", "memory: --lr\n", "of the model: --swiglu\n"}) {
    CAPTURE(note);
    CHECK(plan.err.find(note) != std::string::npos);
    const std::size_t first = log.err.find(note);
    REQUIRE(first != std::string::npos);
    CHECK(log.err.find(note, first + 1) == std::string::npos);  // once for both logs
  }
}

TEST_CASE("import megatron-log: gradients that are exchanged in buckets without the weights are told, not refused") {
  const Folder folder;
  const std::string network = folder.file("gpt.yaml");
  write(network, kNetwork);
  const auto listed = [&](const std::string& name, const std::string& more) {
    std::string arguments = kArguments;
    arguments.insert(arguments.find("[default0]:  world_size"), more);
    write(folder.file(name), arguments + log_of(100));
  };
  listed("apart.log", "  overlap_grad_reduce ....... True\n  overlap_param_gather ....... False\n");
  listed("both.log", "  overlap_grad_reduce ....... True\n  overlap_param_gather ....... True\n");
  listed("neither.log", "");
  const std::string told = "as with --overlap-param-gather";
  const Ran ran = run({"import", "megatron-log", folder.file("apart.log"), folder.file("both.log"),
                       folder.file("neither.log"), "--model", network, "--json"});
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  CHECK(ran.err.find(told) != std::string::npos);
  const Json steps = Json::parse(ran.out)["steps"];
  REQUIRE(steps.size() == 3);
  CHECK(steps[0]["row"]["gradient_bucket"] == steps[1]["row"]["gradient_bucket"]);
  CHECK(steps[0]["row"]["gradient_bucket"] != "0 B");
  CHECK(steps[2]["row"]["gradient_bucket"] == "0 B");
  for (const char* name : {"both.log", "neither.log"}) {
    CHECK(run({"import", "megatron-log", folder.file(name), "--model", network}).err.find(told) == std::string::npos);
  }
}

TEST_CASE("import megatron-log: logs of the same name are rows of their own, whose plans can be saved") {
  const Folder folder;
  write(folder.file("gpt.yaml"), kNetwork);
  for (const char* name : {"a", "b"}) {
    std::filesystem::create_directory(folder.path / name);
    write(folder.file(std::string(name) + "/run.log"), kArguments + log_of(100));
  }
  const std::vector<std::string> logs = {folder.file("a/run.log"), folder.file("b/run.log")};
  const Json steps = ran_json({"import", "megatron-log", logs[0], logs[1], "--model", folder.file("gpt.yaml"),
                               "--platform", "dgx-a100", "-o", folder.file("steps.csv")})["steps"];
  REQUIRE(steps.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) CHECK(steps[i]["row"]["name"] == logs[i]);
  const Ran saved = run({"validate", folder.file("steps.csv"), "--save", folder.file("plans")});
  CHECK_MESSAGE(saved.code == 0, saved.err);
  const Ran twice = run({"import", "megatron-log", logs[0], logs[0], "--model", folder.file("gpt.yaml")});
  CHECK(twice.code == 2);
  CHECK(twice.err.find("expected each log once, found '" + logs[0] + "' again") != std::string::npos);
}

TEST_CASE("import megatron-log: a table below a link to a folder finds its files") {
  const Folder folder;
  write(folder.file("gpt.yaml"), kNetwork);
  write(folder.file("run.log"), kArguments + log_of(100));
  std::filesystem::create_directories(folder.path / "a/b");
  std::filesystem::create_directory_symlink("a/b", folder.path / "linked");
  const std::string table = folder.file("linked/steps.csv");
  const Json steps = ran_json({"import", "megatron-log", folder.file("run.log"), "--model", folder.file("gpt.yaml"),
                               "--platform", "dgx-a100", "-o", table})["steps"];
  CHECK(steps[0]["row"]["model"] == "../../gpt.yaml");
  const Ran validated = run({"validate", table});
  CHECK_MESSAGE(validated.code == 0, validated.err);
}

}  // namespace stagecraft::import_log_test
