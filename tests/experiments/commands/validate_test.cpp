#include "tests/experiments/commands/toy.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

namespace stagecraft::validate_command_test {
namespace {

using Json = nlohmann::json;

const std::string kNetwork = R"(schema: stagecraft/architecture/1
architecture: small
family: gpt
layers: 4
hidden: 256
heads: 4
sequence: 128
)";

/// The words of a line as a shell has them; quotes stand around whole words.
std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < line.size();) {
    const bool is_quoted = line[at] == '\'';
    const std::size_t begin = at + (is_quoted ? 1 : 0);
    const std::size_t end = std::min(line.find(is_quoted ? '\'' : ' ', begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    at = end + (is_quoted ? 2 : 1);
  }
  return words;
}

}  // namespace

// The profile of a plan has times that are rounded to the nanosecond, those of steps are not.
TEST_CASE("validate: the commands that are saved simulate each step as it was predicted") {
  const Folder folder;
  write(folder.file("gpt.yaml"), kNetwork);
  write(folder.file("steps.csv"),
        "name,model,layers,hidden,sequence,microbatch_size,global_batch,pipeline,data,tensor,chunks,layout,zero,"
        "recompute,"
        "optimizer,platform,iteration_time,peak_memory\n"
        "file,gpt.yaml,,,,2,16,2,2,1,,,,,,dgx-a100,1 s,1 GiB\n"
        "sizes,gpt.yaml,8,512,64,2,16,2,1,2,2,,1,full,,dgx-a100,1 s,1 GiB\n"
        "stages,gpt.yaml,6,,,1,8,2,1,1,,Et|tttttL,,,mixed-16,dgx-a100,1 s,1 GiB\n"
        "known,bert-base,,,64,4,16,1,4,1,,,2,,,dgx-a100,1 s,1 GiB\n"
        "attention,gpt.yaml,,,,4,16,1,2,1,,,,selective,,dgx-a100,1 s,1 GiB\n");
  const Ran ran = run({"validate", folder.file("steps.csv"), "--save", folder.file("runs"), "--json"});
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  const Json steps = Json::parse(ran.out)["sites"][0]["steps"];
  std::istringstream commands(read(folder.file("runs/commands.sh")));
  std::size_t count = 0;
  std::string line;
  for (int comments = 0; comments < 2; ++comments) {
    std::getline(commands, line);
    CHECK(line.starts_with("# "));
  }
  for (; std::getline(commands, line); ++count) {
    std::vector<std::string> words = words_of(line);
    CHECK(words.front() == "stagecraft");
    words.erase(words.begin());
    words.emplace_back("--json");
    const Ran simulated = run(words);
    REQUIRE_MESSAGE(simulated.code == 0, line << '\n' << simulated.err);
    const Json report = Json::parse(simulated.out);
    CHECK(report["iteration_time_s"].get<double>() ==
          doctest::Approx(steps[count]["predicted_s"].get<double>()).epsilon(1e-4));
    std::int64_t peak = 0;
    for (const Json& device : report["devices"]) peak = std::max(peak, device["peak_memory_bytes"].get<std::int64_t>());
    CHECK(peak == steps[count]["predicted_memory_bytes"]);
  }
  CHECK(count == 5);
}

TEST_CASE("validate: names of files are words of a shell in the commands that are saved") {
  const Folder folder;
  const std::string name = "a b$(touch bad)'c.yaml";
  write(folder.file(name), kNetwork);
  write(folder.file("steps.csv"), "model,microbatch_size,global_batch,iteration_time\n" + name + ",2,16,1 s\n");
  const Ran ran =
      run({"validate", folder.file("steps.csv"), "--platform", "dgx-a100", "--save", folder.file("runs of it")});
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  const std::string commands = read(folder.file("runs of it/commands.sh"));
  CHECK(commands.find("simulate '" + folder.file("runs of it") + "/row-1.yaml' --model ") != std::string::npos);
  CHECK(commands.find("/a b$(touch bad)'\\''c.yaml' --platform 'dgx-a100'") != std::string::npos);
}

TEST_CASE("validate: what is saved replaces no file that was read, nor another's") {
  const Folder folder;
  write(folder.file("a.network.yaml"), kNetwork);
  const std::string head = "name,model,layers,microbatch_size,global_batch,iteration_time,platform\n";
  write(folder.file("steps.csv"), head + "a,a.network.yaml,2,2,16,1 s,dgx-a100\n");
  CHECK(run({"validate", folder.file("steps.csv"), "--save", folder.path.string()}).code == 2);
  CHECK(read(folder.file("a.network.yaml")) == kNetwork);
  std::filesystem::create_directory(folder.path / "own");
  write(folder.file("own/commands.sh"), "echo mine\n");
  CHECK(run({"validate", folder.file("steps.csv"), "--save", folder.file("own")}).code == 2);
  CHECK(read(folder.file("own/commands.sh")) == "echo mine\n");
  write(folder.file("two.csv"),
        head + "a,a.network.yaml,2,2,16,1 s,dgx-a100\na.network,bert-base,,2,16,1 s,dgx-a100\n");
  CHECK(run({"validate", folder.file("two.csv"), "--save", folder.file("new")}).code == 2);
}

TEST_CASE("validate: what was saved may be saved again, networks too, and is whole or not there") {
  const Folder folder;
  write(folder.file("tiny.yaml"), kNetwork);
  const std::string head = "name,model,layers,microbatch_size,global_batch,iteration_time,platform\n";
  write(folder.file("steps.csv"), head + "a,tiny.yaml,2,2,16,1 s,dgx-a100\n");
  const std::vector<std::string> words = {"validate", folder.file("steps.csv"), "--save", folder.file("runs")};
  REQUIRE(run(words).code == 0);
  const std::string network = read(folder.file("runs/a.network.yaml"));
  write(folder.file("steps.csv"), head + "a,tiny.yaml,3,2,16,1 s,dgx-a100\n");
  const Ran again = run(words);
  CHECK_MESSAGE(again.code == 0, again.err);
  CHECK(read(folder.file("runs/a.network.yaml")) != network);

  const std::string plan = read(folder.file("runs/a.yaml"));
  write(folder.file("runs/a.network.yaml"), "a list: [of mine]\n");
  write(folder.file("steps.csv"), head + "a,tiny.yaml,1,4,16,1 s,dgx-a100\n");
  const Ran refused = run(words);
  CHECK(refused.code == 2);
  CHECK(refused.err.find("a.network.yaml: cannot be written: it exists and is no architecture file") !=
        std::string::npos);
  CHECK(read(folder.file("runs/a.yaml")) == plan);
}

TEST_CASE("validate: a saved network replaces none that another step reads") {
  const Folder folder;
  std::filesystem::create_directory(folder.path / "runs");
  write(folder.file("tiny.yaml"), kNetwork);
  write(folder.file("runs/a.network.yaml"), kNetwork);
  write(folder.file("steps.csv"),
        "name,model,layers,microbatch_size,global_batch,iteration_time\n"
        "a,tiny.yaml,2,2,16,1 s\nb,runs/a.network.yaml,,2,16,1 s\n");
  const Ran ran = run({"validate", folder.file("steps.csv"), "--platform", "dgx-a100", "--save", folder.file("runs")});
  CHECK(ran.code == 2);
  CHECK(ran.err.find("a.network.yaml: cannot be written: the command reads it") != std::string::npos);
  CHECK(read(folder.file("runs/a.network.yaml")) == kNetwork);
  CHECK_FALSE(std::filesystem::exists(folder.path / "runs/a.yaml"));
}

TEST_CASE("validate: tables of one name would have one folder, so none is saved") {
  const Folder folder;
  const std::string table = "model,microbatch_size,global_batch,iteration_time\nbert-base,2,16,1 s\n";
  std::vector<std::string> words = {"validate", "--platform", "dgx-a100", "--save", folder.file("runs")};
  for (const char* site : {"here", "there"}) {
    std::filesystem::create_directory(folder.path / site);
    write(folder.file(std::string(site) + "/steps.csv"), table);
    words.push_back(folder.file(std::string(site) + "/steps.csv"));
  }
  const Ran ran = run(words);
  CHECK(ran.code == 2);
  CHECK(ran.err.find("the plans of two tables would be in") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(folder.path / "runs"));
}

TEST_CASE("validate: the plans of several sites have a folder each") {
  const Folder folder;
  write(folder.file("steps.csv"),
        "name,model,microbatch_size,global_batch,iteration_time,platform,precision\n"
        "a,bert-base,2,16,1 s,dgx-a100,bf16\na,bert-base,2,16,1 s,dgx-h100,fp8\n");
  const Ran ran = run({"validate", folder.file("steps.csv"), "--save", folder.file("runs")});
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  CHECK(std::filesystem::exists(folder.path / "runs/steps-dgx-a100-bf16/a.yaml"));
  CHECK(std::filesystem::exists(folder.path / "runs/steps-dgx-h100-fp8/commands.sh"));
}

TEST_CASE("validate: several tables have a line each, a single one its steps, and rows that are left out are named") {
  const Folder folder;
  write(folder.file("a.csv"),
        "name,model,microbatch_size,global_batch,iteration_time,left_out,source\n"
        "one,bert-base,2,16,0.2 s,,a page\ntwo,bert-base,,,,no batch is given,another\n");
  write(folder.file("b.csv"), "model,microbatch_size,global_batch,iteration_time\nbert-base,2,32,0.4 s\n");
  const Ran alone = run({"validate", folder.file("a.csv"), "--platform", "dgx-a100"});
  REQUIRE_MESSAGE(alone.code == 0, alone.err);
  CHECK(alone.out.find("\none ") != std::string::npos);
  CHECK(alone.out.find("\ntwo       no batch is given\n") != std::string::npos);
  const Ran both = run({"validate", folder.file("a.csv"), folder.file("b.csv"), "--platform", "dgx-a100"});
  REQUIRE_MESSAGE(both.code == 0, both.err);
  CHECK(both.out.find("\nb      dgx-a100  bf16       time ") != std::string::npos);
  CHECK(both.out.find("\none ") == std::string::npos);
  CHECK(both.out.find("\nrow 1 ") == std::string::npos);
}

}  // namespace stagecraft::validate_command_test
