#include "sim/analytic/evaluate_plan.hpp"
#include "tests/paths.hpp"
#include "tests/schedule/compiled.hpp"
#include "tests/schedule/fixed_plans.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

namespace stagecraft {
namespace {

using nlohmann::json;

const std::filesystem::path kFolder = std::filesystem::path(STAGECRAFT_SHARED_DIR) / "reference/schedules";

json entries_of(const char* file) {
  std::ifstream in(kFolder / file);
  json document = json::parse(in);
  return document.is_array() ? document : document.at("entries");
}

/// A stage's durations, of the record's time tuple or of its own list.
Seconds duration(const json& times, const char* kind, std::size_t stage) {
  if (times.contains("per_stage")) return Seconds(times["per_stage"][kind][stage].get<double>());
  return Seconds(times.at(std::string("t") + kind).get<double>());
}

/// `3F0`, or `2F1'` for what runs in the second of two pipelines, whose stages and microbatches the records count anew.
std::string action_text(const Action& action, const Plan& plan) {
  const std::map<ActionKind, char> letters = {{ActionKind::Forward, 'F'},
                                              {ActionKind::Backward, 'B'},
                                              {ActionKind::BackwardInput, 'I'},
                                              {ActionKind::BackwardWeight, 'W'}};
  const std::int64_t pipelines = Replicas(plan).pipelines();
  const bool is_second = plan.stages[action.stage.value()].pipeline == 1;
  return std::to_string(action.stage.value() - (is_second ? testing::layers_of(plan) : 0)) + letters.at(action.kind) +
         std::to_string(action.microbatch / pipelines) + (is_second ? "'" : "");
}

std::string order_of(const std::vector<Action>& actions, const Plan& plan) {
  std::string order;
  for (std::size_t i = 0; i < actions.size(); ++i) {
    if (!order.empty()) order += ',';
    const std::string text = action_text(actions[i], plan);
    const bool is_pair = i + 1 < actions.size() && actions[i + 1].joined;
    order += is_pair ? "(" + text + ";" + action_text(actions[++i], plan) + ")OVERLAP_F_B" : text;
  }
  return order;
}

/// A stage of one layer for each virtual stage of the record, where the schedule places them.
Plan plan_of(const json& record, const char* schedule) {
  ScheduleChoice choice{schedule, {}};
  const auto chunks = record.value("chunks_per_device", std::int64_t{1});
  if (std::ranges::find(require_family(schedule).parameters, "chunks", &OptionInfo::name) !=
      require_family(schedule).parameters.end()) {
    choice.parameters = {{"chunks", chunks}};
  }
  return testing::fixed_plan(choice, record.at("p").get<std::size_t>(), record.at("m").get<std::int64_t>());
}

LayerGraph chain_of(std::size_t layers, const json& times) {
  LayerGraph graph = testing::chain(layers, 0, 0);
  for (std::size_t s = 0; s < layers; ++s) {
    Layer& layer = graph.layers[LayerId(s)];
    layer.forward = duration(times, "F", s);
    layer.backward = duration(times, "B", s) + duration(times, "W", s);
    layer.backward_weight = duration(times, "W", s);
  }
  return graph;
}

/// The report of the record's times and sizes with another schedule.
Report report_of(const json& record, const ScheduleChoice& choice) {
  const auto p = record.at("p").get<std::size_t>();
  const json& times = record.at("times");
  return evaluate_plan(chain_of(p, times), testing::pairwise(p, 1e9, times.at("tC").get<double>()),
                       testing::fixed_plan(choice, p, record.at("m").get<std::int64_t>()));
}

void compare(const json& record, const char* schedule) {
  const auto p = record.at("p").get<std::size_t>();
  const auto m = record.at("m").get<std::int64_t>();
  const json& times = record.at("times");
  const Plan plan = plan_of(record, schedule);
  const LayerGraph graph = chain_of(testing::layers_of(plan), times);
  const Platform platform = testing::pairwise(p, 1e9, times.at("tC").get<double>());
  const ScheduleProgram program = require_schedule(graph, platform, plan);
  const Schedule orders = program.orders({0, plan.microbatches});
  const Report report = evaluate_program(graph, platform, program);
  CAPTURE(record.at("tool").get<std::string>());
  CAPTURE(p);
  CAPTURE(m);
  CAPTURE(times.dump());
  // The records are rounded to nine decimals.
  CHECK(report.iterations.back().value() == doctest::Approx(record.at("iteration_time").get<double>()).epsilon(1e-9));
  CHECK(report.bubble_ratio == doctest::Approx(record.at("bubble_makespan").get<double>()).epsilon(1e-8));
  CHECK(report.span_bubble_ratio == doctest::Approx(record.at("bubble_span").get<double>()).epsilon(1e-8));
  if (record.contains("bubble_over_ideal")) {
    CHECK(report.ideal_bubble_ratio == doctest::Approx(record.at("bubble_over_ideal").get<double>()).epsilon(1e-8));
  }
  for (std::size_t i = 0; i < p; ++i) {
    CHECK(report.devices[i].in_flight_peak == record.at("peak_chunks_release_at_W")[i].get<std::int64_t>());
    if (record.contains("order"))
      CHECK(order_of(orders.devices[i].actions, plan) == record.at("order")[i].get<std::string>());
  }
}

bool is_here() {
  if (std::filesystem::exists(kFolder)) return true;
  MESSAGE("skipped: no reference answers at ", kFolder.string());
  return false;
}

/// The answers of the file that the tool gave: of all tools, if it has no name.
void compare_file(const char* file, const char* schedule, std::size_t expected, const std::string& tool = "") {
  if (!is_here()) return;
  std::size_t compared = 0;
  for (const json& record : entries_of(file)) {
    if (record.contains("error") || !record.at("tool").get<std::string>().starts_with(tool)) continue;
    compare(record, schedule);
    ++compared;
  }
  CHECK(compared == expected);
}

TEST_CASE("1f1b: the orders, times, bubbles and peaks of the original generators") {
  compare_file("1f1b.json", "1f1b", 135);
}

TEST_CASE("gpipe: the orders, times, bubbles and peaks of the original generator") {
  compare_file("gpipe.json", "gpipe", 45);
}

TEST_CASE("eager-1f1b: the orders, times, bubbles and peaks of the original generator") {
  compare_file("eager_1f1b.json", "eager-1f1b", 36);
}

TEST_CASE("interleaved-1f1b: the orders, times, bubbles and peaks of the original generators") {
  compare_file("interleaved_1f1b.json", "interleaved-1f1b", 225);
}

TEST_CASE("looped-bfs: the orders, times, bubbles and peaks of the original generator") {
  compare_file("looped_bfs.json", "looped-bfs", 45);
}

TEST_CASE("zb-h1: the orders, times, bubbles and peaks of the fixed original generator") {
  compare_file("zb_h1.json", "zb-h1", 45, "zbpp_light");
}

/// The original's other answers are of orders that it found for their times.
TEST_CASE("zb-h2: the orders, times, bubbles and peaks of the original generator for equal times without latency") {
  if (!is_here()) return;
  const json equal = {{"tF", 1}, {"tB", 1}, {"tW", 1}, {"tC", 0}};
  std::size_t compared = 0;
  for (const json& record : entries_of("zb_h2.json")) {
    if (record.at("times") != equal) continue;
    compare(record, "zb-h2");
    ++compared;
  }
  CHECK(compared == 9);
}

/// Other orders than the original's, whose answers are those of its scheduler.
TEST_CASE("zb-auto: no iteration is longer than that of the original scheduler with the same limit") {
  if (!is_here()) return;
  std::size_t compared = 0;
  for (const char* file : {"zb_h1.json", "zb_h15.json", "zb_h2.json"}) {
    for (const json& record : entries_of(file)) {
      const std::string tool = record.at("tool").get<std::string>();
      if (tool.find("heuristic") == std::string::npos) continue;
      const auto p = record.at("p").get<std::int64_t>();
      const std::int64_t limit = tool.find("1.5p") != std::string::npos ? p * 3 / 2
                                 : tool.find("2p") != std::string::npos ? 2 * p
                                                                        : p;
      const Report report = report_of(record, {"zb-auto", {{"limit", limit}}});
      CAPTURE(tool);
      CAPTURE(record.at("m").get<std::int64_t>());
      CHECK(report.iterations.back().value() <= record.at("iteration_time").get<double>() * (1 + 1e-9));
      for (const auto& device : report.devices) CHECK(device.in_flight_peak <= limit);
      ++compared;
    }
  }
  CHECK(compared == 135);
}

/// Their measure is the longest span of a device. With the memory of 1f1b that of the first device is the iteration.
TEST_CASE("zb-auto: the optima of an integer program for small sizes in the memory of 1f1b") {
  if (!is_here()) return;
  std::size_t compared = 0;
  for (const json& record : entries_of("zb_ilp_optimum.json")) {
    if (record.at("limit") != record.at("p")) continue;
    CAPTURE(record.dump());
    CHECK(report_of(record, {"zb-auto", {}}).iterations.back().value() <=
          record.at("ilp_best_time").get<double>() * (1 + 1e-9));
    ++compared;
  }
  CHECK(compared == 10);
}

TEST_CASE("1f1b-v: the orders, times, bubbles and peaks of the original generator") {
  compare_file("1f1b_v.json", "1f1b-v", 45);
}

TEST_CASE("zb-v: the orders, times, bubbles and peaks of both fixed original generators") {
  compare_file("zb_v.json", "zb-v", 45, "zero-bubble.handcrafted_zb_v");
  compare_file("zb_v.json", "zb-v", 45, "torch.");
}

TEST_CASE("v-half, v-min: the orders, times, bubbles and peaks of the original generator") {
  compare_file("v_half.json", "v-half", 45);
  compare_file("v_min.json", "v-min", 45);
}

TEST_CASE("dualpipe, dualpipe-v: the orders, times, bubbles and peaks of the original generators") {
  compare_file("dualpipe.json", "dualpipe", 30);
  compare_file("dualpipev.json", "dualpipe-v", 60);
}

TEST_CASE("chimera: the orders, times, bubbles and peaks of the original generator") {
  compare_file("chimera.json", "chimera", 30);
}

TEST_CASE("dualpipe, dualpipe-v: what the original generators refuse is refused") {
  if (!is_here()) return;
  std::size_t refused = 0;
  for (const auto& [file, schedule] :
       {std::pair("dualpipe.json", "dualpipe"), std::pair("dualpipev.json", "dualpipe-v")}) {
    for (const json& record : entries_of(file)) {
      if (!record.contains("error")) continue;
      CHECK_FALSE(testing::refusal_of(plan_of(record, schedule)).empty());
      ++refused;
    }
  }
  CHECK(refused == 45);
}

TEST_CASE("interleaved-zb-h1: the orders, times, bubbles and peaks of the original generator") {
  compare_file("interleaved_zb1p.json", "interleaved-zb-h1", 45);
}

TEST_CASE("gpipe and 1f1b: the answers for stages of unequal times") {
  if (!is_here()) return;
  std::set<std::string> seen;
  for (const json& record : entries_of("heterogeneous_stage_times.json")) {
    const std::string family = record.at("family").get<std::string>();
    if (record.contains("error") || (family != "gpipe" && family != "1f1b")) continue;
    compare(record, family.c_str());
    seen.insert(family);
  }
  CHECK(seen.size() == 2);
}

}  // namespace
}  // namespace stagecraft
