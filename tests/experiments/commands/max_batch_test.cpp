// The verb that looks for the largest microbatch size, and studies whose cells do.
#include "experiments/study/cell_inputs.hpp"
#include "experiments/study/run_cell.hpp"
#include "experiments/study/study_file.hpp"
#include "experiments/study_report/contenders.hpp"
#include "tests/experiments/commands/shell.hpp"
#include "tests/experiments/commands/toy.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace stagecraft {
namespace {

using Json = nlohmann::json;

const std::vector<std::string> kGpipe = {"--planner",      "gpipe", "--set",       "replicas=1",
                                         "--microbatches", "8",     "--no-timings"};

std::vector<std::string> with(std::vector<std::string> options, const std::vector<std::string>& more) {
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

// For b samples a device holds 4 MB of parameters in all copies, two buffers and 8 stashes of b / 4 MB each: 99 MB for
// 38 samples, and 101.5 of 100 MB for 39.
TEST_CASE("max-batch: the text says what was found, what limits it and what was tried") {
  const Toy toy;
  const Ran ran = toy.on("max-batch", kGpipe);
  CHECK(ran.code == 0);
  CHECK(ran.out.starts_with("largest microbatch size: 38 samples\n"));
  CHECK(ran.out.find("memory: least idle 977 KiB of 95.4 MiB on a") != std::string::npos);
  CHECK(ran.out.find("39 samples do not fit, lacking 1.43 MiB on a in stage 0: ") != std::string::npos);
  CHECK(ran.out.find("tried 16 sizes; these fit: 4, 8, 16, 32, 36, 38; these do not: 39 to 46, 48, 64\n") !=
        std::string::npos);
  CHECK(ran.err.find("38 samples lie outside the sizes of the profile") != std::string::npos);
}

TEST_CASE("max-batch: JSON has the plan, its run, the memory, the next size and all tries") {
  const Toy toy;
  const Json answer = Json::parse(toy.on("max-batch", with(kGpipe, {"--json"})).out);
  CHECK(answer["microbatch_size"] == 38);
  CHECK(answer["outcome"] == "planned");
  CHECK(answer["samples_per_update"] == 304);
  CHECK(answer["plan"]["microbatch_size"] == 38);
  CHECK(answer["engine"] == "evaluate");
  // 9 forwards and backwards of 30 ms × 38 / 4, and two tensors of 1 ms × 38 / 4.
  CHECK(answer["throughput_samples_per_s"].get<double>() == doctest::Approx(304 / (0.272 * 9.5)).epsilon(1e-9));
  CHECK(answer["devices"][0] == Json({{"name", "a"},
                                      {"peak_memory_bytes", 99'000'000},
                                      {"memory_bytes", 100'000'000},
                                      {"idle_memory_bytes", 1'000'000}}));
  CHECK(answer["idle_memory_ratio"].get<double>() == doctest::Approx(0.01).epsilon(1e-12));
  CHECK(answer["next"]["microbatch_size"] == 39);
  CHECK(answer["next"]["outcome"] == "does_not_fit");
  CHECK(answer["next"]["device"] == "a");
  CHECK(answer["next"]["stage"] == 0);
  CHECK(answer["next"]["excess_bytes"] == 1'500'000);
  CHECK(answer["tried"].size() == 16);
  CHECK(answer["ended_early"] == false);
  CHECK_FALSE(answer.contains("planning_time_s"));
  const Json replayed = Json::parse(toy.on("max-batch", with(kGpipe, {"--json", "--simulate"})).out);
  CHECK(replayed["engine"] == "replay");
  CHECK(replayed["microbatch_size"] == 38);
}

TEST_CASE("max-batch: where nothing fits, the answer is no and nothing is written") {
  const Toy toy;
  const std::string plan = toy.file("largest.yaml");
  const std::vector<std::string> huge = with(kGpipe, {"--training", "optimizer_copies=200", "-o", plan});
  const Ran ran = toy.on("max-batch", huge);
  CHECK(ran.code == 3);
  CHECK(ran.out.starts_with("no microbatch size fits; with 1 sample: "));
  CHECK(ran.out.find("would fit with at least ") != std::string::npos);
  CHECK(ran.err.find("is not written, because there is no plan") != std::string::npos);
  const Json answer = Json::parse(toy.on("max-batch", with(huge, {"--json"})).out);
  CHECK(answer["microbatch_size"].is_null());
  CHECK(answer["outcome"] == "infeasible");
  CHECK(answer["next"].is_null());
}

TEST_CASE("max-batch: the plan that it writes is the one that check and simulate accept") {
  const Toy toy;
  CHECK(toy.on("max-batch", with(kGpipe, {"-o", toy.plan})).code == 0);
  CHECK(read(toy.plan).find("microbatch_size: 38") != std::string::npos);
  CHECK(toy.on("check").code == 0);
  CHECK(toy.on("simulate").code == 0);
}

TEST_CASE("max-batch --curve: each point is what plan and simulate say of that size") {
  const Toy toy;
  for (const char* engine : {"evaluate", "replay"}) {
    CAPTURE(engine);
    std::vector<std::string> asked = with(kGpipe, {"--curve", "--json"});
    if (engine == std::string("replay")) asked.emplace_back("--simulate");
    const Json answer = Json::parse(toy.on("max-batch", asked).out);
    CHECK(answer["engine"] == engine);
    const Json& row = answer["rows"][0];
    CHECK(row["largest"]["microbatch_size"] == 38);
    CHECK(row["points"].back() == row["largest"]);
    double most = 0.0;
    for (const Json& point : row["points"]) {
      const std::string size = std::to_string(point["microbatch_size"].get<int>());
      CAPTURE(size);
      const std::vector<std::string> plan{"--planner",         "gpipe", "--set", "replicas=1", "--microbatches", "8",
                                          "--microbatch-size", size,    "-o",    toy.plan};
      REQUIRE(toy.on("plan", plan).code == 0);
      const Json run = Json::parse(toy.on("simulate", {"--engine", engine, "--json"}).out);
      CHECK(run["throughput_samples_per_s"] == point["throughput_samples_per_s"]);
      most = std::max(most, point["throughput_samples_per_s"].get<double>());
    }
    CHECK(row["fastest"]["throughput_samples_per_s"] == most);
  }
  const Ran ran = toy.on("max-batch", with(kGpipe, {"--curve"}));
  CHECK(ran.out.find("\ngpipe: fastest at ") != std::string::npos);
}

TEST_CASE("max-batch: an interrupt ends it") {
  const std::string call =
      " max-batch --model bert-large --platform p3.8xlarge-x4 --planner uniform --set stages=2 "
      "--microbatches 10000000 & P=$!; sleep 0.5; kill -INT $P; wait $P";
  CHECK(test::shell("S=\"env --default-signal=INT $S\"; $S" + call).code == 130);
}

/// The rows of a study on the toy model and platform.
std::vector<Row> rows_of(const Toy& toy, const std::string& keys, const std::string& batch = "microbatches: 8") {
  const std::string text =
      "schema: stagecraft/study/1\nstudy: s\nbase: {model: toy.yaml, platform: pair.yaml, "
      "engine: evaluate, " +
      batch + "}\n" + keys;
  const Study study = parse_study(text, toy.file("study.yaml"));
  const Manifest manifest = make_manifest(study, expand(study), {});
  std::vector<Row> rows;
  for (const StudyCell& cell : manifest.cells) {
    const CellSpec spec = read_cell(cell.cell);
    rows.push_back(run_cell(manifest, cell.key, spec, load_inputs(manifest, spec)));
  }
  return rows;
}

std::int64_t size_of(const Row& row) {
  const Detail* size = find_key(row.figures, "resolved_microbatch_size");
  return size == nullptr ? 0 : std::get<std::int64_t>(size->value);
}

TEST_CASE("study: a cell at the largest microbatch size has the figures of the plan there") {
  const Toy toy;
  const std::vector<Row> rows = rows_of(toy,
                                        "matrix: {planner: [{name: gpipe, replicas: 1}, {name: gpipe, replicas: 1, "
                                        "recompute: stage}], microbatch_size: [38, 39, max], "
                                        "profile_noise: [0, 0.1]}\n");
  REQUIRE(rows.size() == 12);
  CHECK(size_of(rows[0]) == 38);
  CHECK(rows[2].status == CellStatus::Infeasible);
  CHECK(rows[4].status == CellStatus::Ok);
  CHECK(size_of(rows[4]) == 38);
  CHECK(rows[4].figures == rows[0].figures);
  CHECK(size_of(rows[5]) == 38);  // planned with errors in the times, run with the true ones
  CHECK(rows[4].message.empty());
  CHECK(size_of(rows[10]) ==
        38);  // recomputed: a checkpoint is the layer's input, as is its stash, so it saves nothing
}

// A profile of 4 samples alone leaves only that size, and profiles of 4 and 16 samples those between them.
TEST_CASE("study: a cell at the fastest microbatch size has the figures of the plan there") {
  const Toy toy;
  std::string two = read(toy.model);
  const std::string layers = two.substr(two.find("layers:"));
  two.replace(two.find("microbatch_size"), std::string::npos, "profiles:\n");
  for (const char* size : {"4", "16"}) {  // as long for 16 samples as for 4
    two += std::string("  - microbatch_size: ") + size + "\n    ";
    for (const char letter : layers) two += letter == '\n' ? "\n    " : std::string(1, letter);
    two.resize(two.find_last_not_of(' ') + 1);
  }
  write(toy.file("two.yaml"), two);
  const std::string keys = "matrix: {planner: [gpipe], model: [toy.yaml, two.yaml], microbatch_size: [4, 16, auto]}\n";
  const std::vector<Row> rows = rows_of(toy, keys, "global_batch: 32");
  REQUIRE(rows.size() == 6);
  CHECK(rows[2].figures == rows[0].figures);
  CHECK(rows[5].figures == rows[4].figures);
  CHECK(size_of(rows[5]) == 16);
  CHECK(rows_of(toy, keys, "global_batch: 34")[2].status == CellStatus::Invalid);  // no divisor of 34 is 4
  CHECK(rows_of(toy, keys)[2].status == CellStatus::Invalid);                      // nothing to divide
}

TEST_CASE("study: a planner may have a microbatch size of its own, which the report takes for the planner's") {
  const Toy toy;
  const std::string keys =
      "matrix: {planner: [{name: gpipe, replicas: 1, microbatch_size: max}, {name: uniform, microbatch_size: 8}]}\n";
  const std::vector<Row> rows = rows_of(toy, keys);
  REQUIRE(rows.size() == 2);
  CHECK(size_of(rows[0]) == 38);
  CHECK(size_of(rows[1]) == 8);
  const Study study = parse_study("schema: stagecraft/study/1\nstudy: s\nbase: {model: m, platform: p}\n" + keys, "s");
  std::vector<StudyCell> cells;
  for (const Cell& cell : expand(study).cells) cells.push_back({cell, ""});
  const SortedCells sorted = sort_cells(cells);
  CHECK(sorted.own_keys == std::vector<std::string>{"microbatch_size"});
  CHECK(sorted.groups.size() == 1);
}

TEST_CASE("study: cells of different microbatch sizes meet different noise, those at the largest the same") {
  const auto seed = [](const std::string& planner, const Detail& size) {
    return noise_seed({{{"model", "m"}, {"platform", "p"}, {"planner", planner}, {"microbatch_size", size}}, 1});
  };
  CHECK(seed("gpipe", 4) != seed("gpipe", 8));
  CHECK(seed("gpipe", "max") == seed("uniform", "max"));
}

}  // namespace
}  // namespace stagecraft
