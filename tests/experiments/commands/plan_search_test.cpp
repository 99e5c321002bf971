// `plan --search`: every row is what `plan` makes with these options, and the best row is its answer.
#include "tests/experiments/commands/shell.hpp"
#include "tests/experiments/commands/toy.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace stagecraft::plan_search_test {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

/// On devices of 1300 MiB, where some of what is tried does not fit.
Ran planned(const std::string& planner, const Words& more) {
  Words words{"plan",
              "--model",
              "gpt2-medium",
              "--sequence",
              "512",
              "--granularity",
              "block",
              "--platform",
              "dgx-a100",
              "--planner",
              planner,
              "--set",
              "platform.device_kinds.A100-SXM4-40GB.memory=1300 MiB",
              "--global-batch",
              "32",
              "--no-timings"};
  const bool searches_size = std::ranges::any_of(
      more, [](const std::string& word) { return word.find("microbatch_size") != std::string::npos; });
  if (!searches_size) words.insert(words.end(), {"--microbatch-size", "2"});
  words.insert(words.end(), more.begin(), more.end());
  return run(words);
}

/// The options with which `plan` alone makes what a row tells.
Words options_of(const Json& row) {
  return {"--tensor", std::to_string(row["tensor"].get<int>()), "--zero", std::to_string(row["zero"].get<int>()),
          "--memory", row["memory"].get<std::string>(),         "--json"};
}

/// The rank of a row: what fits, what lacks memory, refusals.
int kind_of(const Json& row) { return row["outcome"] == "ok" ? 0 : row["outcome"] == "refused" ? 2 : 1; }

}  // namespace

TEST_CASE("--search: each row is what plan makes of its options, and the answer is the best of them") {
  for (const char* planner : {"uniform", "pipedream-sync", "data-parallel"}) {
    CAPTURE(planner);
    const Ran ran = planned(planner, {"--search", "tensor,zero,memory", "--json"});
    CAPTURE(ran.err);
    REQUIRE(ran.code == 0);
    const Json best = Json::parse(ran.out);
    const Json& rows = best["search"];
    REQUIRE(rows.size() == 26);  // groups of 1, 2 and 4 with 8 each, and one of all devices with 2
    double most = 0.0;
    for (const Json& row : rows) {
      CAPTURE(row.dump());
      const Ran alone = planned(planner, options_of(row));
      if (row["outcome"] == "refused") {
        CHECK(alone.code == 2);
        continue;
      }
      const Json answer = Json::parse(alone.out);
      CHECK(alone.code == (row["fits"] ? 0 : 3));
      if (!row["fits"].get<bool>()) {
        CHECK(row["reason"] == answer["reason"]);
        CHECK(row["excess_bytes"] == answer["excess_bytes"]);
        continue;
      }
      CHECK(row["throughput_samples_per_s"] == answer["throughput_samples_per_s"]);
      CHECK(row["iteration_time_s"] == answer["evaluated"]["iteration_time_s"]);
      most = std::max(most, answer["throughput_samples_per_s"].get<double>());
      if (&row == &rows.front()) CHECK(answer["plan"] == best["plan"]);
    }
    CHECK(best["throughput_samples_per_s"] == most);
  }
}

TEST_CASE("--search: the best row is first, then what lacks the least memory, then refusals") {
  const Json rows = Json::parse(planned("uniform", {"--search", "tensor,zero,memory", "--json"}).out)["search"];
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const Json& a = rows[i - 1];
    const Json& b = rows[i];
    REQUIRE(kind_of(a) <= kind_of(b));
    if (kind_of(a) != kind_of(b)) continue;
    if (kind_of(a) == 0) CHECK(a["throughput_samples_per_s"] >= b["throughput_samples_per_s"]);
    if (kind_of(a) == 1) CHECK(a["excess_bytes"] <= b["excess_bytes"]);
  }
  CHECK(kind_of(rows.front()) == 0);
  CHECK(kind_of(rows.back()) == 1);
}

TEST_CASE("--search: the plan that is written is that of the best row") {
  const stagecraft::Folder folder;
  const std::string searched = folder.file("searched.yaml");
  const std::string alone = folder.file("alone.yaml");
  const Ran ran = planned("uniform", {"--search", "tensor,zero,memory", "--json", "-o", searched});
  REQUIRE(ran.code == 0);
  Words options = options_of(Json::parse(ran.out)["search"][0]);
  options.insert(options.end(), {"-o", alone});
  REQUIRE(planned("uniform", options).code == 0);
  CHECK(read(searched) == read(alone));
}

TEST_CASE("--search: one axis is what auto does") {
  const Ran searched = planned("uniform", {"--search", "tensor"});
  const Ran chosen = planned("uniform", {"--tensor", "auto"});
  CHECK(searched.out.starts_with(chosen.out));
  CHECK(searched.out.find("\nsearched tensor: 4 combinations, of which ") != std::string::npos);
}

TEST_CASE("--search: a table has columns for what is searched, and says why rows have no figures") {
  const Ran ran = planned("uniform", {"--search", "context,microbatch_size", "--context-attention", "all-to-all"});
  CHECK(ran.out.find("\ncontext  size  replicas  samples/s ") != std::string::npos);
  const Ran toy = Toy().on("plan", {"--planner", "uniform", "--search", "tensor,recompute"});
  REQUIRE(toy.code == 0);
  CHECK(toy.out.find("\ntensor           policy  replicas ") != std::string::npos);
  CHECK(toy.out.find("\n     1  keep, recompute ") != std::string::npos);
  CHECK(toy.out.find("  refused [1]\n[1] the model 'toy' cannot be divided into a tensor group") != std::string::npos);
}

TEST_CASE("--search: where nothing fits, the answer is that of the least lacking memory, and how it would fit") {
  const Words huge{"--training", "optimizer_copies=200", "--search", "tensor,zero"};
  const Ran ran = planned("gpipe", huge);
  CHECK(ran.code == 3);
  CHECK(ran.out.starts_with("no plan: "));
  CHECK(ran.out.find("would fit with at least ") != std::string::npos);
  CHECK(ran.out.find(", of which none fits, 13 do not fit; ") != std::string::npos);
  CHECK(ran.out.find("  lacks ") != std::string::npos);
  Words despite = huge;
  despite.emplace_back("--despite-memory");
  CHECK(planned("gpipe", despite).out.starts_with("gpipe: gpt2-medium on dgx-a100"));
}

TEST_CASE("--search: a long table is cut") {
  const Ran ran = planned("uniform", {"--search", "tensor,context,zero"});
  REQUIRE(ran.code == 0);
  CHECK(ran.out.find(" more: --json has all\n") != std::string::npos);
}

// Six samples are no multiple of the four of a microbatch.
TEST_CASE("--search: if all is refused, so is the search") {
  const Toy toy;
  const Words odd{"--planner", "uniform", "--global-batch", "6"};
  Words searched = odd;
  searched.insert(searched.end(), {"--search", "zero,memory"});
  const Ran ran = toy.on("plan", searched);
  CHECK(ran.code == 2);
  CHECK(ran.err.find("a global batch of 6 samples is not a multiple of the 4 samples") != std::string::npos);
  CHECK(ran.err == toy.on("plan", odd).err);
}

TEST_CASE("--search: it says where exchanges are hidden with some values of zero and not with others") {
  const std::string difference = "--training gradient_bucket=SIZE makes them alike";
  const auto says_so = [&](const Words& more) {
    Words words{"--tensor", "4"};
    words.insert(words.end(), more.begin(), more.end());
    const Ran ran = planned("data-parallel", words);
    CAPTURE(ran.err);
    REQUIRE(ran.code == 0);
    std::string text = ran.out;
    std::ranges::replace(text, '\n', ' ');
    return text.find(difference) != std::string::npos;
  };
  CHECK(says_so({"--search", "zero", "--training", "gradient_bucket=0 B"}));
  CHECK_FALSE(says_so({"--search", "zero", "--training", "gradient_bucket=25 MiB"}));
  CHECK_FALSE(says_so({"--search", "zero=2:3"}));
}

namespace {

/// The run of a search that is interrupted while it plans a second time, with an external planner that first answers
/// what `answer` prints. `$D` is the folder.
test::ShellRun interrupted(const stagecraft::Folder& folder, const std::string& answer, const std::string& more) {
  test::write(folder.file("slow.sh"), "#!/bin/sh\nD=${0%/*}\nif mkdir $D/first 2>/dev/null; then\n" + answer +
                                          "\nelse\n  touch $D/asked\n  exec sleep 5\nfi\n");
  return test::shell(
      "chmod +x $D/slow.sh; env --default-signal=INT $S plan --model vgg16-blocks --platform dgx-1-v100 "
      "--planner exec:$D/slow.sh --search memory --no-timings " +
          more + " & P=$!; until [ -e $D/asked ]; do sleep 0.1; done; kill -INT $P; wait $P",
      folder.path.string());
}

}  // namespace

TEST_CASE("--search: an interrupt prints what was tried so far") {
  const std::string none = R"(echo '{"infeasible": {"reason": "it is a test"}}')";
  const stagecraft::Folder folder;
  const test::ShellRun text = interrupted(folder, none, "-o $D/best.yaml");
  CHECK(text.code == 130);
  CHECK(text.out.find("searched memory: 1 combination, of which none fits, 1 does not fit; ") != std::string::npos);
  CHECK(text.out.find("  no plan [1]\n[1] it is a test\n") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(folder.file("best.yaml")));
  const stagecraft::Folder other;
  const test::ShellRun json = interrupted(other, none, "--json");
  CHECK(json.code == 130);
  CHECK(Json::parse(json.out)["complete"] == false);
}

TEST_CASE("--search: an interrupt leaves the best plan so far in the file for the plan") {
  const stagecraft::Folder folder;
  const Ran plan = run({"plan", "--model", "vgg16-blocks", "--platform", "dgx-1-v100", "--planner", "gpipe", "-o",
                        folder.file("plan.json")});
  REQUIRE(plan.code == 0);
  const test::ShellRun ran = interrupted(folder, R"(echo '{"plan":'; cat $D/plan.json; echo '}')", "-o $D/best.json");
  CHECK(ran.code == 130);
  CHECK(ran.out.find("1 combination, of which 1 fits") != std::string::npos);
  CHECK(Json::parse(test::content_of(folder.file("best.json")))["stages"] ==
        Json::parse(test::content_of(folder.file("plan.json")))["stages"]);
}

}  // namespace stagecraft::plan_search_test
