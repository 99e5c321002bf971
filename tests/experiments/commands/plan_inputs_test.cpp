// Commands that take a plan find its model and its platform.
#include "sim/io/sha256.hpp"
#include "tests/experiments/commands/shell.hpp"
#include "tests/experiments/commands/toy.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace stagecraft {
namespace {

using Json = nlohmann::json;

/// A toy whose plan names its inputs, with the hashes of its files where they are given.
struct Named : Toy {
  explicit Named(const std::string& more = {}) { name("toy", "pair", more); }
  void name(const std::string& of_model, const std::string& of_platform, const std::string& more = {}) const {
    write(plan, "schema: stagecraft/plan/1\nmodel: " + of_model + "\nplatform: " + of_platform + "\n" + more +
                    "microbatch_size: 4\nmicrobatches: 8\nschedule: {name: gpipe}\nstages:\n"
                    "  - {layers: [first], devices: [a]}\n  - {layers: [second], devices: [b]}\n");
  }
  [[nodiscard]] std::vector<std::vector<std::string>> commands() const {
    return {{"check", plan},
            {"simulate", plan},
            {"export", plan, "--to", "perfetto", "-o", file("run.pftrace")},
            {"describe", plan}};
  }
};

/// The current folder until the end of the block.
class Inside {
 public:
  explicit Inside(const std::filesystem::path& folder) : old_(std::filesystem::current_path()) {
    std::filesystem::current_path(folder);
  }
  ~Inside() { std::filesystem::current_path(old_); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  std::filesystem::path old_;
};

std::vector<std::string> extended(std::vector<std::string> command, const std::vector<std::string>& more) {
  command.insert(command.end(), more.begin(), more.end());
  return command;
}

}  // namespace

TEST_CASE("a plan names its inputs: their files are found beside it, and in the current folder") {
  const Named named;
  for (const std::vector<std::string>& command : named.commands()) {
    CAPTURE(command.front());
    const Ran found = run(command);
    CHECK(found.code == 0);
    CHECK(found.err.empty());
    const Ran given = run(extended(command, {"--model", named.model, "--platform", named.platform}));
    if (command.front() != "simulate") CHECK(given.out == found.out);  // its times differ
  }
  const Folder elsewhere;
  const std::string moved = elsewhere.file("moved.yaml");
  std::filesystem::rename(named.plan, moved);
  CHECK(run({"check", moved}).code == 2);
  const Inside inside(named.path);
  CHECK(run({"check", moved}).code == 0);
}

TEST_CASE("a plan names its inputs: a shipped name is found, and another one is refused with the option that helps") {
  const Named named;
  named.name("vgg16", "dgx-1-v100");
  const Ran ran = run({"describe", named.plan});  // whose layers are not those of the plan
  CHECK(ran.code == 2);
  CHECK(ran.err.find("the model 'vgg16' has no layer 'first'") != std::string::npos);
  // Of shipped files with one name inside, the one for which the plan was made.
  const std::string blocks = named.file("blocks.yaml");
  REQUIRE(
      run({"plan", "--model", "vgg16-blocks", "--platform", "dgx-1-v100", "--planner", "uniform", "-o", blocks}).code ==
      0);
  CHECK(read(blocks).find("model: vgg16\n") != std::string::npos);
  const Ran of_blocks = run({"check", blocks});
  CHECK(of_blocks.code == 0);
  CHECK(of_blocks.err.empty());
  named.name("nosuch", "pair");
  const std::string no_model =
      "the plan is for the model 'nosuch', which is neither a file nor shipped, and there is "
      "no model file 'nosuch.yaml' beside the plan or in the current folder "
      "(name its file with --model)";
  for (const std::vector<std::string>& command : named.commands()) {
    const Ran refused = run(command);
    CHECK(refused.code == 2);
    CHECK(refused.err.find(named.plan + ": " + no_model) != std::string::npos);
  }
  named.name("toy", "toy");  // toy.yaml is a model
  CHECK(run({"check", named.plan}).err.find("toy.yaml' lacks 'schema: stagecraft/platform/1'") != std::string::npos);
  CHECK(run({"check", named.plan, "--platform", named.platform}).code == 0);
  named.write_plan("8");  // names nothing
  CHECK(run({"check", named.plan}).err.find("does not say for which model (name it with --model)") !=
        std::string::npos);
  CHECK(run({"check", named.plan, "--model", named.model})
            .err.find("does not say for which platform (name it with --platform)") != std::string::npos);
}

TEST_CASE(
    "a plan names its inputs: a refusal names a file that has the name inside but was changed, or lacks a schema") {
  const Named named("platform_hash: " + sha256("another text") + "\n");
  const std::string renamed = named.file("cluster.yaml");
  std::filesystem::rename(named.platform, renamed);
  CHECK(run({"check", named.plan})
            .err.find("'" + renamed + "' has this name but was changed since the plan was made; --platform " + renamed +
                      " takes it") != std::string::npos);
  CHECK(run({"check", named.plan, "--platform", renamed}).code == 0);
  write(named.platform, "platform: pair\n");
  CHECK(run({"check", named.plan}).err.find("'" + named.platform + "' lacks 'schema: stagecraft/platform/1'") !=
        std::string::npos);
}

TEST_CASE("a plan names its inputs: the file with the plan's hash comes first, and a warning says if none has it") {
  const Named named;
  const std::string hash = sha256(read(named.model));
  const Folder elsewhere;
  const std::string plan = elsewhere.file("plan.yaml");
  named.name("toy", "pair", "model_hash: " + hash + "\n");
  std::filesystem::rename(named.plan, plan);
  // Beside the plan is another model of the name, whose layers take twice as long.
  std::string slower = read(named.model);
  for (std::size_t at = 0; (at = slower.find("10 ms", at)) != std::string::npos;) slower.replace(at, 5, "40 ms");
  write(elsewhere.file("toy.yaml"), slower);
  const auto time_of = [](const Ran& ran) { return Json::parse(ran.out)["iteration_time_s"].get<double>(); };
  const auto simulated = [&] { return run({"simulate", plan, "--json", "--platform", named.platform}); };
  const Ran beside = simulated();
  CHECK(beside.err.find("warning: the plan was made for another model file") != std::string::npos);
  CHECK(time_of(beside) == doctest::Approx(9 * 0.060 + 2 * 0.001));
  const auto is_found = [&] {
    const Ran fitting = simulated();
    CHECK(fitting.err.empty());
    CHECK(time_of(fitting) == doctest::Approx(9 * 0.030 + 2 * 0.001));
  };
  {
    const Inside inside(named.path);
    is_found();
  }
  std::filesystem::copy_file(named.model, elsewhere.file("of-another-name.yaml"));
  is_found();
}

TEST_CASE("a plan names its inputs: a plan in another folder finds files of other names in the current one") {
  const Toy toy;
  std::filesystem::rename(toy.model, toy.file("mine.yaml"));
  std::filesystem::rename(toy.platform, toy.file("ours.yaml"));
  const Inside inside(toy.path);
  REQUIRE(
      run({"compare", "--model", "mine.yaml", "--platform", "ours.yaml", "--planners", "uniform", "--save", "plans"})
          .code == 0);
  const Ran found = run({"simulate", "plans/uniform.yaml"});
  CHECK(found.code == 0);
  CHECK(found.err.empty());
}

TEST_CASE("a plan names its inputs: a plan from a pipe is read once") {
  const Named named;
  for (const char* command : {"check", "simulate --no-timings", "describe", "export --to perfetto -o $D/run.pftrace"}) {
    CAPTURE(command);
    const std::string script = "cd \"$D\" && cat plan.yaml | \"$S\" " + std::string(command) + " /dev/stdin";
    const test::ShellRun piped = test::shell(script, named.path.string());
    CHECK(piped.code == 0);
    CHECK(piped.err.empty());
  }
}

TEST_CASE("a plan names its inputs: no output takes the place of a file that was found") {
  const Named named;
  for (const std::string& input : {named.model, named.platform, named.plan}) {
    const std::string before = read(input);
    const Ran exported = run({"export", named.plan, "--to", "perfetto", "-o", input});
    CHECK(exported.code == 2);
    CHECK(exported.err.find(input + ": cannot be written: the command reads it") != std::string::npos);
    CHECK(run({"simulate", named.plan, "--trace", input}).err.find("the command reads it") != std::string::npos);
    CHECK(read(input) == before);
  }
}

}  // namespace stagecraft
