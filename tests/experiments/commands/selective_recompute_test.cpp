// Selective recomputation as a choice of a computed model: of options, plans, model files and flags of Megatron-LM.
#include "tests/experiments/commands/shell.hpp"
#include "tests/experiments/commands/toy.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <string>
#include <vector>

namespace stagecraft::selective_recompute_commands_test {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

Words joined(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// `plan` of two stages, whose file is `path`.
Ran planned(const std::string& model, const std::string& path, const Words& more = {}) {
  return run(joined({"plan", "--model", model, "--platform", "dgx-a100", "--planner", "uniform", "--set", "stages=2",
                     "--granularity", "block", "--microbatches", "8", "-o", path, "--no-timings"},
                    more));
}

Json report_of(const std::string& plan) {
  const Ran ran = run({"simulate", plan, "--json", "--no-timings"});
  REQUIRE(ran.code == 0);
  return Json::parse(ran.out);
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("selective recomputation: a plan keeps the choice, takes longer and needs less memory") {
  const Folder folder;
  const std::string plain = folder.file("plain.yaml");
  const std::string selective = folder.file("selective.yaml");
  REQUIRE(planned("gpt2-small", plain).code == 0);
  const Ran ran = planned("gpt2-small", selective, {"--selective-recompute"});
  REQUIRE(ran.code == 0);
  CHECK(has(ran.err, "sequence 1024; attention is recomputed selectively\n"));
  CHECK(has(read(selective), "selective_recompute: true"));
  CHECK(!has(read(plain), "selective_recompute"));
  const Json before = report_of(plain);
  const Json after = report_of(selective);
  CHECK(after["iteration_time_s"] > before["iteration_time_s"]);
  CHECK(after["devices"][0]["peak_memory_bytes"] < before["devices"][0]["peak_memory_bytes"]);
}

TEST_CASE("selective recomputation: files without figures state it, and an option replaces what they leave open") {
  const Folder folder;
  const std::string recipe = folder.file("recipe.yaml");
  const std::string open = folder.file("open.yaml");
  const Words model{"model", "gpt2-small", "--device",      "A100-SXM4-40GB", "--microbatch-size",
                    "1",     "--recipe",   "--granularity", "block",          "-o"};
  REQUIRE(run(joined(model, {recipe, "--selective-recompute"})).code == 0);
  REQUIRE(run(joined(model, {open})).code == 0);
  CHECK(has(read(recipe), "selective_recompute: true"));
  const std::string stated = folder.file("stated.yaml");
  const std::string chosen = folder.file("chosen.yaml");
  REQUIRE(planned(recipe, stated).code == 0);
  REQUIRE(planned(open, chosen, {"--selective-recompute"}).code == 0);
  CHECK(report_of(stated)["iteration_time_s"] == report_of(chosen)["iteration_time_s"]);
  const Ran figures = run({"model", "gpt2-small", "--device", "A100-SXM4-40GB", "--microbatch-size", "1",
                           "--granularity", "block", "--selective-recompute", "-o", folder.file("figures.yaml")});
  REQUIRE(figures.code == 0);
  CHECK(run({"describe", folder.file("figures.yaml")}).code == 0);  // its figures are those of its recipe
}

TEST_CASE("selective recomputation: fused attention is told of, and nothing changes") {
  const Folder folder;
  const Words words{"model", "llama3-8b", "--device", "A100-SXM4-80GB", "--microbatch-size", "1", "-o"};
  const Ran plain = run(joined(words, {folder.file("plain.json")}));
  const Ran selective = run(joined(words, {folder.file("selective.json"), "--selective-recompute"}));
  REQUIRE(selective.code == 0);
  CHECK(has(selective.err, "selective recomputation changes nothing"));
  Json after = Json::parse(read(folder.file("selective.json")));
  CHECK(after["computed"].erase("selective_recompute") == 1);
  CHECK(after == Json::parse(read(folder.file("plain.json"))));
}

TEST_CASE("selective recomputation: flags of Megatron-LM become a plan with it, and flags again") {
  const Folder folder;
  const std::string flags = folder.file("flags.txt");
  const std::string plan = folder.file("plan.yaml");
  const auto imported = [&](const std::string& text, const std::string& model) {
    std::ofstream(flags) << "--bf16 --micro-batch-size 1 --global-batch-size 32 --pipeline-model-parallel-size 2 " +
                                text + "\n";
    return run({"import", "megatron-flags", flags, "--model", model, "--platform", "dgx-a100", "-o", plan});
  };
  const std::string selective = "--recompute-granularity selective";
  for (const std::string& text :
       {selective, selective + " --recompute-modules core_attn", std::string("--recompute-activations")}) {
    REQUIRE(imported(text, "gpt2-small").code == 0);
    CHECK(has(read(plan), "selective_recompute: true"));
    const Ran ran = run({"export", plan, "--to", "megatron-flags", "-o", "-"});
    CHECK(has(ran.out, selective + "\n"));
  }
  REQUIRE(imported("", "gpt2-small").code == 0);
  CHECK(!has(run({"export", plan, "--to", "megatron-flags", "-o", "-"}).out, "recompute"));
  // Figures that are fixed are either those of the flags, or refused.
  const std::string figures = folder.file("figures.yaml");
  const Words model{"model",         "gpt2-small", "--device", "A100-SXM4-40GB", "--microbatch-size", "1",
                    "--granularity", "block",      "-o",       figures};
  REQUIRE(run(model).code == 0);
  CHECK(has(imported(selective, figures).err, "are those without recomputation"));
  REQUIRE(run(joined(model, {"--selective-recompute"})).code == 0);
  CHECK(imported(selective, figures).code == 0);
  CHECK(has(imported("", figures).err, "are those of selective recomputation"));
  std::string measured = read(figures);
  const std::size_t computed = measured.find("computed: {");
  measured.erase(computed, measured.find('\n', computed) + 1 - computed);
  std::ofstream(figures) << measured;
  const Ran unknown = imported(selective, figures);
  CHECK(unknown.code == 0);
  CHECK(has(unknown.err, "not compared with the network of the model: --recompute-granularity\n"));
}

}  // namespace stagecraft::selective_recompute_commands_test
