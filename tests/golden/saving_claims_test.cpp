// What must hold on the rows of the studies of planners that save memory. Run in the folder where their tests have left
// the results.
#include "experiments/study/results.hpp"
#include "tests/golden/study_rows.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <variant>

namespace stagecraft {

using namespace testing;

namespace {

/// The cells of a study that differ only in the planner, by its label.
using Group = std::map<std::string, const CellResult*>;

std::map<std::string, Group> groups_of(const Results& results) {
  std::map<std::string, Group> groups;
  for (const CellResult& result : results.rows) {
    const Keys& keys = results.manifest.cells[result.index].cell.keys;
    const bool is_flushed = label_of(keys).find("flushed") != std::string::npos || label_of(keys) == "GPipe";
    groups[group_of(keys) + (is_flushed ? " flushed" : "")][label_of(keys)] = &result;
  }
  return groups;
}

/// The cell with the first of these words in its label; none if there is none.
const CellResult* cell_of(const Group& group, const std::string& word) {
  const auto found = std::ranges::find_if(group, [&](const auto& entry) { return entry.first.starts_with(word); });
  return found == group.end() ? nullptr : found->second;
}

double throughput(const CellResult& result) { return number(result.row.figures, "throughput_samples_per_s").value(); }

std::int64_t largest_size(const CellResult& result) {
  return std::get<std::int64_t>(find_key(result.row.figures, "resolved_microbatch_size")->value);
}

}  // namespace

TEST_CASE("study vpipe-static: early stages recompute most, the last ones hardly, and vPipe is faster than GPipe") {
  const Results results = load_results({"vpipe-static"});
  REQUIRE(results.is_complete());
  int recomputing = 0;
  for (const auto& [name, group] : groups_of(results)) {
    CAPTURE(name);
    for (const auto& [label, cell] : group) {
      CAPTURE(label);
      CHECK((cell->row.status == CellStatus::Ok ||
             (cell->row.status == CellStatus::Infeasible && label.starts_with("PipeDream"))));
      if (!label.starts_with("vPipe")) continue;
      const Detail::Record details = details_of(cell->row);
      const auto& shares = std::get<Detail::List>(find_key(details, "recompute_share")->value);
      const double first = std::get<double>(shares.front().value);
      const double last = std::get<double>(shares.back().value);
      CHECK(last <= 0.2);
      CHECK(first >= last);
      if (first > 0.4) ++recomputing;
    }
  }
  CHECK(recomputing == 12);  // six networks, both rows of vPipe
  for (const CellResult& result : results.rows) {
    if (label_of(results.manifest.cells[result.index].cell.keys) != "vPipe") continue;
    const Keys& keys = results.manifest.cells[result.index].cell.keys;
    for (const CellResult& other : results.rows) {
      const Keys& others = results.manifest.cells[other.index].cell.keys;
      if (label_of(others) != "GPipe") continue;
      const auto same = [&](const char* key) { return *find_key(keys, key) == *find_key(others, key); };
      if (!same("model") || !same("platform.nodes.count") || !same("microbatch_size")) continue;
      CHECK(throughput(result) > throughput(other));
    }
  }
}

TEST_CASE("study vpipe-straggler: planning anew is faster than keeping the plan") {
  const Results results = load_results({"vpipe-straggler"});
  REQUIRE(results.is_complete());
  std::map<std::string, std::map<std::string, double>> speeds;  // by straggler and model, by planner and re-planner
  for (const CellResult& result : results.rows) {
    const Keys& keys = results.manifest.cells[result.index].cell.keys;
    REQUIRE(result.row.status == CellStatus::Ok);
    speeds[word_of(keys, "events") + word_of(keys, "model")][label_of(keys) + " " + word_of(keys, "replan")] =
        throughput(result);
  }
  CHECK(speeds.size() == 9);
  for (auto& [name, group] : speeds) {
    CAPTURE(name);
    CHECK(group["vPipe vpipe"] > 1.04 * group["vPipe none"]);
    CHECK(group["vPipe vpipe"] > group["PipeDream none"]);
    CHECK(group["vPipe vpipe"] > group["GPipe none"]);
  }
}

TEST_CASE("study vpipe-nas: planning anew for each architecture is faster than keeping the first one's cuts") {
  const Results results = load_results({"vpipe-nas"});
  REQUIRE(results.is_complete());
  std::map<std::string, std::map<std::string, double>> speeds;  // by model, by planner and re-planner
  for (const CellResult& result : results.rows) {
    const Keys& keys = results.manifest.cells[result.index].cell.keys;
    const bool plans_anew = word_of(keys, "replan") != "none";
    const bool ran = result.row.status == CellStatus::Ok;
    if (plans_anew || label_of(keys) == "GPipe") REQUIRE(ran);
    const std::string name = label_of(keys) + (plans_anew ? " anew" : "");
    if (ran) speeds[word_of(keys, "model")][name] = number(result.row.figures, "run_throughput_samples_per_s").value();
  }
  CHECK(speeds.size() == 3);
  for (auto& [model, group] : speeds) {
    CAPTURE(model);
    CHECK(group.size() >= 3);
    for (const auto& [name, speed] : group) {
      if (name != "vPipe anew") CHECK(group["vPipe anew"] > 1.04 * speed);
    }
  }
}

TEST_CASE("study vpipe-pcie: where swaps become slow, a plan that follows recomputes instead") {
  const Results results = load_results({"vpipe-pcie"});
  REQUIRE(results.is_complete());
  std::map<std::string, std::map<std::string, double>> speeds;  // by events, model and size, by planner and re-planner
  int overflows = 0;
  for (const CellResult& result : results.rows) {
    const Keys& keys = results.manifest.cells[result.index].cell.keys;
    const bool plans_anew = word_of(keys, "replan") != "none";
    if (result.row.status != CellStatus::Ok) {  // copies that share links come back later than planned
      CHECK(plans_anew);
      CHECK(result.row.status == CellStatus::OutOfMemory);
      CHECK(std::get<std::int64_t>(find_key(result.row.figures, "overflow_bytes")->value) < 100'000'000);
      ++overflows;
      continue;
    }
    const std::string group =
        word_of(keys, "events") + word_of(keys, "model") + to_json(*find_key(keys, "microbatch_size"), -1);
    speeds[group][label_of(keys) + (plans_anew ? " anew" : "")] =
        number(result.row.figures, "run_throughput_samples_per_s").value();
  }
  CHECK(speeds.size() == 8);
  CHECK(overflows <= 1);
  for (auto& [name, group] : speeds) {
    CAPTURE(name);
    const bool is_slow = name.find("pcie-3") != std::string::npos;
    if (!group.contains("vPipe anew")) continue;
    CHECK(group["vPipe anew"] >= (is_slow ? 1.5 : 0.99) * group["vPipe"]);
    CHECK(group["vPipe anew"] >= 0.92 * group["vPipe without swap"]);
    CHECK(group["vPipe anew"] > group["GPipe"]);
  }
}

TEST_CASE("study vpipe-straggler: live migration stalls less than a fifth of a restart, and no more than a drain") {
  const Results results = load_results({"vpipe-straggler"});
  REQUIRE(results.is_complete());
  std::map<std::string, std::map<std::string, double>> stalls;  // by straggler and model, by way of migrating
  for (const CellResult& result : results.rows) {
    const Keys& keys = results.manifest.cells[result.index].cell.keys;
    if (*find_key(result.row.figures, "replans") == Detail(std::int64_t{0})) continue;
    const std::string replan = word_of(keys, "replan");
    const std::string way = replan.find("restart") != std::string::npos ? "restart"
                            : replan.find("stop") != std::string::npos  ? "stop-copy"
                                                                        : "live";
    stalls[word_of(keys, "events") + word_of(keys, "model")][way] = number(result.row.figures, "stall_s").value();
  }
  CHECK(stalls.size() == 9);
  for (auto& [name, group] : stalls) {
    CAPTURE(name);
    CHECK(group["live"] <= group["stop-copy"]);
    if (group.contains("restart")) CHECK(5.0 * group["live"] < group["restart"]);
  }
}

TEST_CASE("study dawnpiper-batch: DawnPiper's batch is at least vPipe's, and vPipe's at least PipeDream's") {
  const Results results = load_results({"dawnpiper-batch"});
  REQUIRE(results.is_complete());
  int compared = 0;
  for (const auto& [name, group] : groups_of(results)) {
    CAPTURE(name);
    for (const auto& [label, cell] : group) CHECK(cell->row.status == CellStatus::Ok);
    const CellResult* dawnpiper = cell_of(group, "DawnPiper");
    const CellResult* vpipe = cell_of(group, "vPipe");
    const CellResult* pipedream = cell_of(group, "PipeDream");
    REQUIRE(dawnpiper != nullptr);
    REQUIRE(pipedream != nullptr);
    CHECK(largest_size(*dawnpiper) >= 3 * largest_size(*pipedream));
    // The cut that balances computation leaves more than 40 % of the memory of some device idle.
    CHECK(number(pipedream->row.figures, "idle_memory_largest_ratio").value() > 0.4);
    if (vpipe == nullptr) continue;
    ++compared;
    CHECK(largest_size(*dawnpiper) >= largest_size(*vpipe));
    CHECK(largest_size(*vpipe) > largest_size(*pipedream));
  }
  CHECK(compared == 16);
}

TEST_CASE("study dawnpiper-speed: DawnPiper has a plan wherever vPipe has one, at most 5 % slower") {
  const Results results = load_results({"dawnpiper-speed"});
  REQUIRE(results.is_complete());
  int compared = 0;
  for (const CellResult& result : results.rows) {
    CHECK((result.row.status == CellStatus::Ok || result.row.status == CellStatus::Infeasible));
    const Keys& keys = results.manifest.cells[result.index].cell.keys;
    if (label_of(keys) != "DawnPiper") continue;
    for (const CellResult& other : results.rows) {
      const Keys& others = results.manifest.cells[other.index].cell.keys;
      if (!label_of(others).starts_with("vPipe") || other.row.status != CellStatus::Ok) continue;
      const auto same = [&](const char* key) { return *find_key(keys, key) == *find_key(others, key); };
      if (!same("model") || !same("schedule") || !same("microbatch_size")) continue;
      ++compared;
      REQUIRE(result.row.status == CellStatus::Ok);
      CHECK(throughput(result) >= 0.95 * throughput(other));
    }
  }
  CHECK(compared == 32);
}

TEST_CASE("study llm-scale: uniform, dawnpiper and a third reach the recomputing even pipelines on every cluster") {
  std::map<std::string, std::map<std::string, double>> speeds;
  const Results results = load_results({"llm-scale"});
  for (const CellResult& result : results.rows) {
    if (result.row.status != CellStatus::Ok) continue;
    const Keys& keys = results.manifest.cells[result.index].cell.keys;
    const std::string group =
        word_of(keys, "model") + " " + to_json(key_of(results, result, "platform.nodes.count"), -1);
    const bool is_grid = label_of(keys).ends_with("recomputed");
    double& best = speeds[group][is_grid ? "grid" : label_of(keys)];
    best = std::max(best, throughput(result));
  }
  CHECK(speeds.size() == 6);
  for (auto& [group, speed] : speeds) {
    CAPTURE(group);
    const double grid = speed.at("grid");
    CHECK(speed["uniform"] > 0.97 * grid);
    CHECK(speed["dawnpiper"] > 0.97 * grid);
    CHECK(std::ranges::count_if(speed, [&](const auto& of) { return of.second > 0.9 * grid; }) >= 4);  // and the grid
  }
}

}  // namespace stagecraft
