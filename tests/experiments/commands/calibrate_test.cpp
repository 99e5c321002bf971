#include "sim/io/device_file.hpp"
#include "sim/workload/catalogue.hpp"
#include "tests/experiments/commands/toy.hpp"
#include "tests/paths.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace stagecraft::calibrate_command_test {
namespace {

using Json = nlohmann::json;

const std::string kHead = "model,microbatch_size,global_batch,data,pipeline,iteration_time_s\n";

/// The time that `plan` evaluates for replicas of gpt2-small on a DGX A100.
double evaluated(const std::string& size, const std::string& batch) {
  const Ran ran =
      run({"plan", "--model", "gpt2-small", "--platform", "dgx-a100", "--planner", "data-parallel", "--microbatch-size",
           size, "--global-batch", batch, "--training", "gradient_bucket=0", "--json"});
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  return Json::parse(ran.out)["evaluated"]["iteration_time_s"];
}

/// Steps of one GPU by a formula, in which small microbatches take longer for each sample.
std::string made_up_steps() {
  std::string text = kHead;
  for (const int size : {1, 2, 4, 8, 16}) {
    text += "gpt2-small," + std::to_string(size) + ",64,1,1," + std::to_string(64.0 * (0.045 / size + 0.016)) + "\n";
  }
  return text;
}

}  // namespace

// The plan has the times of a profile rounded to the nanosecond.
TEST_CASE("calibrate: before the fit steps take what plan evaluates") {
  const Folder folder;
  const double small = evaluated("2", "64");
  const double large = evaluated("8", "128");
  write(folder.file("steps.csv"), kHead + "gpt2-small,2,64,8,1," + std::to_string(small) + "\ngpt2-small,8,128,8,1," +
                                      std::to_string(large) + "\n");
  const Ran ran = run({"calibrate", folder.file("steps.csv"), "--platform", "dgx-a100", "--fit", "linear", "--json"});
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  const Json answer = Json::parse(ran.out);
  CHECK(answer["steps"][0]["before_s"].get<double>() == doctest::Approx(small).epsilon(1e-4));
  CHECK(answer["steps"][1]["before_s"].get<double>() == doctest::Approx(large).epsilon(1e-4));
  CHECK(answer["constants"][0]["after"].get<double>() ==
        doctest::Approx(answer["constants"][0]["before"].get<double>()).epsilon(1e-3));
}

TEST_CASE("calibrate: writes a device that reads back, with which a second fit begins where the first one ended") {
  const Folder folder;
  write(folder.file("steps.csv"), made_up_steps());
  const std::vector<std::string> first = {
      "calibrate", folder.file("steps.csv"),   "--platform", "dgx-a100", "--fit", "linear,launch",
      "-o",        folder.file("device.yaml"), "--json"};
  const Ran ran = run(first);
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  const Json answer = Json::parse(ran.out);
  CHECK(answer["errors"]["after"]["mean"] < answer["errors"]["before"]["mean"]);
  const DeviceDescription device = parse_device(read(folder.file("device.yaml")), "device.yaml");
  CHECK(device.name == "A100-SXM4-40GB");
  CHECK(device.precision == Precision::Bf16);
  CHECK(device.efficiency.linear == answer["constants"][0]["after"]);
  CHECK(device.host.time.value() == answer["constants"][1]["after"]);
  CHECK(device.efficiency.memory == find_device("A100-SXM4-40GB", Precision::Bf16)->efficiency.memory);
  CHECK(device.fit.starts_with("linear, launch fitted to 5 steps of "));

  const Ran again = run({"calibrate", folder.file("steps.csv"), "--platform", "dgx-a100", "--fit", "linear,launch",
                         "--device", folder.file("device.yaml"), "--json"});
  REQUIRE_MESSAGE(again.code == 0, again.err);
  for (const Json& constant : Json::parse(again.out)["constants"]) {
    CHECK(constant["after"].get<double>() == doctest::Approx(constant["before"].get<double>()).epsilon(1e-5));
  }
  CHECK(run({"describe", folder.file("device.yaml")}).out.find("\nconstants: linear, launch fitted to 5 steps of ") !=
        std::string::npos);
  CHECK(run({"model", "gpt2-small", "--device", folder.file("device.yaml"), "--microbatch-size", "4"}).code == 0);
}

TEST_CASE("calibrate: the text has constants, errors and steps, and warnings go beside it") {
  const Folder folder;
  write(folder.file("steps.csv"), made_up_steps());
  const Ran ran =
      run({"calibrate", folder.file("steps.csv"), "--platform", "dgx-a100", "--fit", "linear,convolution,launch"});
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  CHECK(ran.out.starts_with("A100-SXM4-40GB in bf16: 3 constants fitted to 5 steps of "));
  CHECK(ran.out.find("  0.5           -     0  share of the peak that convolutions reach\n") != std::string::npos);
  CHECK(ran.out.find("\nrow 5 ") != std::string::npos);
  CHECK(ran.err.find("warning: no row depends on 'convolution', which stays as it was\n") != std::string::npos);
}

TEST_CASE("calibrate: names of files are relative to the table, and say what was read otherwise than written") {
  const Folder folder;
  std::filesystem::copy_file(STAGECRAFT_SOURCE_DIR "/tests/vectors/good/config_deepseek_v3.json",
                             folder.path / "config.json");
  write(folder.file("steps.csv"), kHead + "config.json,1,8,1,1,40\nconfig.json,1,16,1,1,70\n");
  const Ran ran = run({"calibrate", folder.file("steps.csv"), "--platform", "dgx-a100", "--fit", "linear"});
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  CHECK(ran.err.find("config.json: a sample has 8192 tokens, where the file allows 163840") != std::string::npos);
}

}  // namespace stagecraft::calibrate_command_test
