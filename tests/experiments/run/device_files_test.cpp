// A platform that names device files: networks are computed by them in every command.
#include "experiments/study/manifest.hpp"
#include "sim/io/device_file.hpp"
#include "sim/workload/catalogue.hpp"
#include "tests/experiments/commands/toy.hpp"
#include "tests/paths.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace stagecraft::device_files_test {
namespace {

using Json = nlohmann::json;

const std::string kKind = "A100-SXM4-80GB";

/// A platform of four devices of a kind that the catalogue has, and one whose kind has a device file beside it.
struct Described : Folder {
  std::string known = file("known.yaml");
  std::string own = file("four.yaml");
  std::string device = file("gpus/mine.yaml");
  Described() {
    std::filesystem::create_directory(path / "gpus");
    write(known, platform_text(kKind, ""));
    write(own, platform_text("mine", ", device_file: gpus/mine.yaml"));
    write_device_with([](DeviceDescription&) {});
  }

  static std::string platform_text(const std::string& kind, const std::string& more) {
    return "schema: stagecraft/platform/1\nplatform: four\ndevice_kinds: {" + kind +
           ": {memory: 80 GiB, update_bandwidth: 2 TBps" + more + "}}\nnode_kinds:\n  node: {devices: {kind: " + kind +
           ", count: 4}, interconnect: {type: switch, bandwidth: 300 GBps, latency: 2 us}}\n"
           "nodes: {kind: node, count: 1}\n";
  }

  template <class Change>
  void write_device_with(const Change& change) const {
    DeviceDescription description = find_device(kKind, Precision::Bf16).value();
    change(description);
    write(device, write_device(description));
  }

  [[nodiscard]] std::vector<std::string> words(const std::string& platform) const {
    return {"plan",
            "--model",
            "gpt2-small",
            "--microbatch-size",
            "16",
            "--planner",
            "uniform",
            "--tensor",
            "2",
            "--microbatches",
            "4",
            "--set",
            "stages=2",
            "--platform",
            platform,
            "-o",
            file("plan.yaml")};
  }

  /// The iteration time of a plan on tensor groups, as `simulate` has it.
  [[nodiscard]] double time_on(const std::string& platform) const {
    const Ran planned = run(words(platform));
    REQUIRE_MESSAGE(planned.code == 0, planned.err);
    return simulated(platform);
  }
  [[nodiscard]] double simulated(const std::string& platform) const {
    const Ran ran = run({"simulate", file("plan.yaml"), "--platform", platform, "--json"});
    REQUIRE_MESSAGE(ran.code == 0, ran.err);
    return Json::parse(ran.out)["iteration_time_s"];
  }
};

void halve_linear(DeviceDescription& device) { device.efficiency.linear /= 2; }

}  // namespace

TEST_CASE("device files: one with the constants of a known kind gives the times of that kind, in tensor groups too") {
  const Described platforms;
  CHECK(platforms.time_on(platforms.own) == platforms.time_on(platforms.known));
}

TEST_CASE("device files: a plan is simulated by what its platform's device file says now") {
  const Described platforms;
  const double before = platforms.time_on(platforms.own);
  platforms.write_device_with(halve_linear);
  const double after = platforms.simulated(platforms.own);
  CHECK(after > 1.1 * before);
  const Ran changed = run({"simulate", platforms.file("plan.yaml")});
  CHECK(changed.code == 0);
  CHECK(changed.err.find("the plan was made for another platform file") != std::string::npos);
  CHECK(platforms.time_on(platforms.own) == after);
  CHECK(run({"simulate", platforms.file("plan.yaml")}).err.find("another platform") == std::string::npos);
}

TEST_CASE("device files: steps are predicted by that of their platform as by --device") {
  const Described platforms;
  platforms.write_device_with(halve_linear);
  write(platforms.file("steps.csv"),
        "name,model,microbatch_size,global_batch,pipeline,data,tensor,precision,iteration_time\n"
        "a,gpt2-small,16,64,2,1,2,bf16,1 s\nb,gpt2-small,32,64,1,2,2,bf16,1 s\n");
  const auto predicted = [&](const std::vector<std::string>& options) {
    std::vector<std::string> words{"validate", platforms.file("steps.csv"), "--json"};
    words.insert(words.end(), options.begin(), options.end());
    const Ran ran = run(words);
    REQUIRE_MESSAGE(ran.code == 0, ran.err);
    std::vector<double> times;
    const Json answer = Json::parse(ran.out);
    for (const Json& step : answer["sites"][0]["steps"]) times.push_back(step["predicted_s"]);
    REQUIRE(times.size() == 2);
    return times;
  };
  const std::vector<double> own = predicted({"--platform", platforms.own});
  CHECK(own == predicted({"--platform", platforms.known, "--device", platforms.device}));
  CHECK(own != predicted({"--platform", platforms.known}));
}

TEST_CASE("device files: a study's platform has another hash after a change of one") {
  const Described platforms;
  const std::string hash = hash_of("platform", platforms.own);
  platforms.write_device_with(halve_linear);
  CHECK(hash_of("platform", platforms.own) != hash);
  platforms.write_device_with([](DeviceDescription&) {});
  CHECK(hash_of("platform", platforms.own) == hash);
}

TEST_CASE("device files: the values of a study name none, because it could not tell that one has changed") {
  const Described platforms;
  for (const char* values : {"platform.device_kinds.mine.device_file: gpus/mine.yaml",
                             "platform.device_kinds.mine: {memory: 80 GiB, device_file: gpus/mine.yaml}"}) {
    CAPTURE(values);
    write(platforms.file("study.yaml"),
          "schema: stagecraft/study/1\nstudy: s\nbase: {model: gpt2-small, platform: four.yaml, planner: uniform, "
          "microbatches: 4}\nmatrix: {" +
              std::string(values).replace(std::string(values).find(": "), 2, ": [") + "]}\n");
    const Ran ran = run({"run", platforms.file("study.yaml"), "--out", platforms.file("out")});
    CHECK(ran.code == 2);
    CHECK(ran.err.find("the values of a study name no device file") != std::string::npos);
  }
}

TEST_CASE("device files: a platform that is written to another folder still finds its own") {
  const Described platforms;
  std::filesystem::create_directories(platforms.path / "a/b");
  std::filesystem::create_directory_symlink("a/b", platforms.path / "linked");
  const std::string table = STAGECRAFT_SOURCE_DIR "/tests/vectors/commands/nccl_pair.txt";

  const std::string moved = platforms.file("linked/moved.yaml");
  const Ran ran = run({"import", "nccl-tests", table, "--platform", platforms.own, "-o", moved});
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  CHECK(run({"describe", moved}).code == 0);
  CHECK(read(moved).find("../../gpus/mine.yaml") != std::string::npos);
}

TEST_CASE("device files: what is missing or has no use is said") {
  const Described platforms;
  const auto error_of = [](const std::vector<std::string>& words) {
    const Ran ran = run(words);
    CHECK(ran.code == 2);
    return ran.err;
  };
  REQUIRE(run(platforms.words(platforms.own)).code == 0);
  CHECK(error_of({"simulate", platforms.file("plan.yaml"), "--platform", platforms.known})
            .find("neither the platform nor the catalogue describes a device 'mine'") != std::string::npos);
  CHECK(run({"describe", platforms.own}).out.find("gpus/mine.yaml") != std::string::npos);
  std::filesystem::remove(platforms.device);
  for (const char* verb : {"describe", "plan"}) {
    CAPTURE(verb);
    const std::vector<std::string> describing{"describe", platforms.own};
    const std::string error = error_of(verb == std::string("plan") ? platforms.words(platforms.own) : describing);
    CHECK(error.find(platforms.device) != std::string::npos);
  }
}

TEST_CASE("device files: another memory than the platform's is remarked on") {
  const Described platforms;
  CHECK(run({"describe", platforms.own}).err.empty());
  platforms.write_device_with([](DeviceDescription& device) { device.memory = Bytes(1 << 30); });
  CHECK(run({"describe", platforms.own}).err.find("the 80 GiB of the platform count, not 1 GiB") != std::string::npos);
}

TEST_CASE("device files: the figures of a model file stay as they are, and a note says so") {
  const Described platforms;
  const Toy toy;
  const Ran ran = run({"plan", "--model", toy.model, "--platform", platforms.own, "--speed", "A=1", "--speed", "mine=1",
                       "--planner", "uniform"});
  CHECK(ran.code == 0);
  CHECK(ran.err.find("the platform's device files change nothing of") != std::string::npos);
}

}  // namespace stagecraft::device_files_test
