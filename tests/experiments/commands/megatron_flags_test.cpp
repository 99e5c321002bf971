// A plan goes to the flags of Megatron-LM and comes back as the same run.
#include "tests/experiments/commands/command.hpp"
#include "tests/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace stagecraft::megatron_flags_test {
namespace {

using Json = nlohmann::json;

/// Where a plan of gpt2-small is, with four stages in two chunks on tensor groups of two.
struct PlannedRun {
  test::TemporaryFolder folder;
  std::string plan = folder.path() + "/plan.yaml";
  std::string flags = folder.path() + "/flags.txt";

  PlannedRun() {
    REQUIRE(run({"plan",
                 "--model",
                 "gpt2-small",
                 "--platform",
                 "dgx-a100",
                 "--planner",
                 "uniform",
                 "--set",
                 "stages=4,replicas=2",
                 "--schedule",
                 "interleaved-1f1b,chunks=2",
                 "--tensor",
                 "2",
                 "--zero",
                 "1",
                 "--granularity",
                 "block",
                 "--microbatch-size",
                 "2",
                 "--global-batch",
                 "64",
                 "-o",
                 plan})
                .code == 0);
  }

  [[nodiscard]] Ran exported(const std::vector<std::string>& more) const {
    std::vector<std::string> words{"export", plan, "--to", "megatron-flags", "-o"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }

  [[nodiscard]] Ran imported(const std::string& to, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words{"import",     "megatron-flags", flags, "--model", "gpt2-small",
                                   "--platform", "dgx-a100",       "-o",  to};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }
};

std::string read(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

Json report_of(const std::string& plan) {
  const Ran ran = run({"simulate", plan, "--json", "--no-timings"});
  REQUIRE(ran.code == 0);
  return Json::parse(ran.out);
}

TEST_CASE("megatron-flags: a plan is exported, and imported as a plan that runs the same") {
  const PlannedRun planned;
  const Ran out = planned.exported({"-"});
  CHECK(out.out.find("--pipeline-model-parallel-size 2 \\\n--pipeline-model-parallel-layout 'E") != std::string::npos);
  CHECK(out.out.find("--micro-batch-size 2 \\\n--global-batch-size 64 \\\n") != std::string::npos);
  CHECK(out.err == "stagecraft: note: the flags are for 8 ranks\n");
  CHECK(planned.exported({planned.flags}).out == "written to " + planned.flags + "\n");
  CHECK(read(planned.flags) == out.out);
  CHECK(planned.exported({planned.flags}).code == 0);  // it replaces a file of its kind

  const std::string again = planned.folder.path() + "/again.yaml";
  const Ran in = planned.imported(again);
  CHECK(in.code == 0);
  CHECK(in.out == again +
                      ": 4 stages of gpt2-small on dgx-a100, interleaved-1f1b,chunks=2, 32 microbatches of 2 samples; "
                      "data-parallel size 2\n");
  CHECK(in.err.empty());
  const Json before = report_of(planned.plan);
  const Json after = report_of(again);
  CHECK(after["iteration_time_s"] == before["iteration_time_s"]);
  CHECK(after["devices"] == before["devices"]);
}

TEST_CASE("megatron-flags: --json names the file or has the plan, and flags are no JSON document") {
  const PlannedRun planned;
  CHECK(Json::parse(planned.exported({planned.flags, "--json"}).out) ==
        Json{{"format", "megatron-flags"}, {"files", {planned.flags}}});
  const Ran refused = planned.exported({"-", "--json"});
  CHECK(refused.code == 2);
  CHECK(Json::parse(refused.out)["error"]["message"] ==
        "--json: flags are no JSON document, which standard output would be");
  const Json plan = Json::parse(planned.imported("-", {"--json"}).out);
  CHECK(plan["planner"] == "imported-megatron-flags");
  CHECK(plan["stages"].size() == 4);
  CHECK(plan["training"]["zero"] == 1);
}

TEST_CASE("megatron-flags: flags that are not used are told by why") {
  const PlannedRun planned;
  std::ofstream(planned.flags) << "torchrun --nproc-per-node 4 pretrain_gpt.py --lr 1e-4 --bf16 --micro-batch-size 1 "
                                  "--pipeline-model-parallel-size 2 --train-iters 10 --global-batch-size 8 --foo 1 "
                                  "--hidden-size 768 --no-overlap-p2p-communication --hidden-dropout 0.1\n";
  const Ran ran = planned.imported(planned.folder.path() + "/few.yaml");
  CHECK(ran.code == 0);
  CHECK(ran.err ==
        "stagecraft: note: not used, for they change neither time nor memory: --lr, --train-iters\n"
        "stagecraft: note: not compared with the network of the model: --hidden-dropout\n"
        "stagecraft: note: not modelled, though they change time or memory: --no-overlap-p2p-communication\n"
        "stagecraft: note: not read, for this program does not know them: --foo\n"
        "stagecraft: note: imported-megatron-flags: 4 of 8 devices stand idle\n");
}

TEST_CASE("megatron-flags: the sizes of a network are compared where the model says them") {
  const PlannedRun planned;
  const std::string network =
      "--micro-batch-size 1 --hidden-size 768 --ffn-hidden-size 3072 --num-attention-heads 12 "
      "--vocab-size 50257 --max-position-embeddings 1024";
  std::ofstream(planned.flags) << network;
  const Ran same = planned.imported(planned.folder.path() + "/same.yaml");
  CHECK(same.code == 0);
  CHECK(same.err.empty());
  std::ofstream(planned.flags) << "--bf16 --micro-batch-size 1 --hidden-size 1024\n";
  const Ran other = planned.imported(planned.folder.path() + "/other.yaml");
  CHECK(other.code == 2);
  CHECK(other.err.find("--hidden-size: the hidden size of the model 'gpt2-small' is 768, not 1024") !=
        std::string::npos);
  const std::string figures = planned.folder.path() + "/figures.yaml";
  REQUIRE(run({"model", "gpt2-small", "--device", "A100-SXM4-40GB", "--microbatch-size", "1", "--granularity", "block",
               "-o", figures})
              .code == 0);
  const auto with_figures = [&] {
    return run({"import", "megatron-flags", planned.flags, "--model", figures, "--platform", "dgx-a100", "-o",
                planned.folder.path() + "/figured.yaml"});
  };
  CHECK(with_figures().code == 2);  // its key 'computed' names the network
  std::string text = read(figures);
  const std::size_t computed = text.find("computed: {");
  text.erase(computed, text.find('\n', computed) + 1 - computed);
  std::ofstream(figures) << text;
  const Ran fixed = with_figures();
  CHECK(fixed.code == 0);
  CHECK(fixed.err.find("note: not compared with the network of the model: --hidden-size\n") != std::string::npos);
}

}  // namespace
}  // namespace stagecraft::megatron_flags_test
