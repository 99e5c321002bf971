// Networks in place of model files: how they are computed, and that their plans are found again.
#include "tests/experiments/commands/shell.hpp"
#include "tests/experiments/commands/toy.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace stagecraft {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

/// `plan` of a model on a platform with `uniform`, and the plan's file.
struct PlanOfName : Folder {
  std::string plan = file("plan.yaml");
  Ran ran;
  PlanOfName(const std::string& model, const std::string& platform, const Words& more = {}) {
    Words words{"plan",      "--model", model,      "--platform", platform,
                "--planner", "uniform", "--output", plan,         "--no-timings"};
    words.insert(words.end(), more.begin(), more.end());
    ran = run(words);
  }
  [[nodiscard]] std::string text() const { return read(plan); }
  [[nodiscard]] bool says(const std::string& part) const { return text().find(part) != std::string::npos; }
};

/// The time of an iteration, of a plan file or of a planning.
double time_of(const Words& command) {
  Words words = command;
  words.emplace_back("--json");
  const Ran ran = run(words);
  REQUIRE(ran.code == 0);
  return Json::parse(ran.out).at("iteration_time_s").get<double>();
}

/// A model file without figures, as `stagecraft model --recipe` writes it.
std::string recipe_file(const Folder& folder, const Words& more = {}) {
  const std::string path = folder.file("recipe.yaml");
  Words words{"model", "gpt2-small", "--device", "A100-SXM4-40GB", "--microbatch-size", "1", "--recipe", "-o", path};
  words.insert(words.end(), more.begin(), more.end());
  REQUIRE(run(words).code == 0);
  return path;
}

}  // namespace

TEST_CASE("a network is a model: its figures are those of a model file in bf16") {
  const Folder folder;
  const PlanOfName named("gpt2-small", "dgx-a100");
  REQUIRE(named.ran.code == 0);
  CHECK(named.ran.err.find("gpt2-small is computed for A100-SXM4-40GB in bf16") != std::string::npos);
  const PlanOfName filed(recipe_file(folder, {"--precision", "bf16"}), "dgx-a100");
  CHECK(filed.ran.out == named.ran.out);
}

TEST_CASE("a network is a model: a plan of it is found again without options, and warns of nothing") {
  const std::vector<Words> choices = {
      {}, {"--precision", "tf32"}, {"--sequence", "512"}, {"--granularity", "block", "--microbatch-size", "3"}};
  for (const Words& more : choices) {
    const PlanOfName planned("gpt2-small", "dgx-a100", more);
    CAPTURE(planned.text());
    REQUIRE(planned.ran.code == 0);
    for (const Words& command : {Words{"check", planned.plan}, Words{"simulate", planned.plan},
                                 Words{"export", planned.plan, "--to", "perfetto", "-o", planned.file("run.pftrace")},
                                 Words{"describe", planned.plan}}) {
      const Ran ran = run(command);
      CAPTURE(command.front());
      CHECK(ran.code == 0);
      CHECK(ran.err.find("warning") == std::string::npos);
    }
    const Ran given = run({"check", planned.plan, "--model", "gpt2-small"});
    CHECK(given.code == 0);
    CHECK(given.err.find("warning") == std::string::npos);
  }
}

TEST_CASE("a network is a model: the choices change its figures, and stand in the plan") {
  const PlanOfName usual("gpt2-small", "dgx-a100");
  CHECK(usual.says("architecture: gpt2-small"));
  CHECK(usual.says("device: A100-SXM4-40GB"));
  CHECK(usual.says("precision: bf16"));
  const PlanOfName slow("gpt2-small", "dgx-a100", {"--precision", "fp32"});
  CHECK(slow.says("precision: fp32"));
  const PlanOfName brief("gpt2-small", "dgx-a100", {"--sequence", "256"});
  CHECK(brief.says("sequence: 256"));
  const double time = time_of({"simulate", usual.plan});
  CHECK(time_of({"simulate", slow.plan}) > 1.5 * time);
  CHECK(time_of({"simulate", brief.plan}) < 0.9 * time);
}

TEST_CASE("a network is a model: without bf16 it is computed in fp16, and without both as the device is described") {
  CHECK(PlanOfName("gpt2-small", "dgx-1-v100").says("precision: fp16"));
  const PlanOfName mixed("gpt2-small", "mixed-v100-a100");  // the A100 alone has bf16
  CHECK(mixed.says("precision: fp16"));
  const Folder folder;
  const std::string platform = folder.file("old.yaml");
  write(platform, R"(schema: stagecraft/platform/1
platform: old
device_kinds: {GTX-1080-Ti: {memory: 11 GiB}}
devices: [{name: a, kind: GTX-1080-Ti}, {name: b, kind: GTX-1080-Ti}]
links: [{between: [a, b], bandwidth: 1 GBps, latency: 0}]
)");
  const PlanOfName old("gpt2-small", platform);
  REQUIRE(old.ran.code == 0);
  CHECK(old.ran.err.find("in fp32") != std::string::npos);
  CHECK_FALSE(old.says("precision:"));
}

TEST_CASE("a network is a model: a shipped model of its name comes first") {
  const PlanOfName planned("vgg16", "dgx-1-v100");
  REQUIRE(planned.ran.code == 0);
  CHECK_FALSE(planned.says("computed:"));
}

TEST_CASE("a network is a model: other sequences of a plan's network are another model") {
  const PlanOfName planned("gpt2-small", "dgx-a100", {"--sequence", "512"});
  const Ran changed = run({"check", planned.plan, "--set", "model.computed.sequence=256"});
  CHECK(changed.err.find("warning: the plan was made for another model file") != std::string::npos);
}

TEST_CASE("a model file without figures: options replace its recipe, and the plan repeats them") {
  const Folder folder;
  const std::string model = recipe_file(folder);
  const PlanOfName planned(model, "dgx-a100", {"--precision", "fp32", "--sequence", "256"});
  REQUIRE(planned.ran.code == 0);
  CHECK_FALSE(planned.says("architecture:"));
  const Ran again = run({"check", planned.plan, "--model", model});
  CHECK(again.code == 0);
  CHECK(again.err.empty());
  const PlanOfName same("gpt2-small", "dgx-a100", {"--precision", "fp32", "--sequence", "256"});
  CHECK(time_of({"simulate", planned.plan, "--model", model}) == doctest::Approx(time_of({"simulate", same.plan})));
  const std::string beside = folder.file("beside.yaml");
  std::filesystem::copy_file(planned.plan, beside);
  CHECK(run({"check", beside}).code == 0);  // the file is known by its hash
  CHECK(run({"check", beside}).err.empty());
  // A file with fixed figures in its place is read as it is.
  CHECK(run({"check", planned.plan, "--model", "vgg16"}).err.find("fixed") == std::string::npos);
}

TEST_CASE("an architecture file is a model: it is computed for the platform, and its plan is found again") {
  const Folder folder;
  const std::string model = folder.file("small.yaml");
  write(model, R"(schema: stagecraft/architecture/1
architecture: small
family: gpt
layers: 4
hidden: 256
heads: 4
sequence: 128
vocabulary: 1000
)");
  const PlanOfName planned(model, "dgx-a100", {"--granularity", "block", "--microbatch-size", "2"});
  REQUIRE(planned.ran.code == 0);
  CHECK(planned.says("precision: bf16"));
  std::filesystem::copy_file(planned.plan, folder.file("plan.yaml"));
  const Ran again = run({"check", folder.file("plan.yaml")});
  CHECK(again.code == 0);
  CHECK(again.err.find("warning") == std::string::npos);
  CHECK(run({"check", planned.plan}).code == 2);  // there is no file of that name
  const PlanOfName other(model, "dgx-a100", {"--granularity", "block", "--set", "model.layers=2"});
  CHECK(run({"check", planned.plan, "--model", model, "--set", "model.layers=2"}).code == 3);
  CHECK(other.ran.code == 0);
}

TEST_CASE("a network is a model: compare and max-batch take it too") {
  const Ran compared = run({"compare", "--model", "gpt2-small", "--model", "opt-125m", "--platform", "dgx-a100",
                            "--planners", "uniform", "--granularity", "block"});
  CHECK(compared.code == 0);
  CHECK(compared.err.find("opt-125m is computed for A100-SXM4-40GB in bf16") != std::string::npos);
  const Words search{"max-batch", "--model", "gpt2-small", "--platform", "dgx-a100", "--planner", "gpipe"};
  Words shorter = search;
  shorter.insert(shorter.end(), {"--sequence", "128", "--json"});
  Words longer = search;
  longer.emplace_back("--json");
  const auto size = [](const Words& words) { return Json::parse(run(words).out).at("microbatch_size").get<int>(); };
  CHECK(size(shorter) > size(longer));
}

}  // namespace stagecraft
