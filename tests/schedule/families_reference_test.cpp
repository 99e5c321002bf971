#include "sim/analytic/evaluate_plan.hpp"
#include "tests/paths.hpp"
#include "tests/schedule/chains.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
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

std::string order_of(const Timeline& timeline, std::size_t device) {
  std::string order;
  for (const TimelineEntry& entry : timeline) {
    if (!is_compute(entry.kind) || entry.from.value() != device) continue;
    if (!order.empty()) order += ',';
    order += std::to_string(entry.stage.value()) + (entry.kind == OpKind::Forward ? 'F' : 'B') +
             std::to_string(entry.microbatch);
  }
  return order;
}

/// A stage of one layer for each virtual stage of the record, round the devices.
Plan plan_of(const json& record, const char* schedule) {
  const auto p = record.at("p").get<std::size_t>();
  const std::size_t stages = record.value("virtual_stages", p);
  Plan plan = testing::straight(stages, record.at("m").get<std::int64_t>(), schedule);
  for (std::size_t s = 0; s < stages; ++s) plan.stages[s].replicas = {DeviceId(s % p)};
  if (stages > p) plan.schedule.parameters = {{"chunks", static_cast<std::int64_t>(stages / p)}};
  return plan;
}

void compare(const json& record, const char* schedule) {
  const auto p = record.at("p").get<std::size_t>();
  const auto m = record.at("m").get<std::int64_t>();
  const json& times = record.at("times");
  const Plan plan = plan_of(record, schedule);
  LayerGraph graph = testing::chain(plan.stages.size(), 0, 0);
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    Layer& layer = graph.layers[LayerId(s)];
    layer.forward = duration(times, "F", s);
    layer.backward = duration(times, "B", s) + duration(times, "W", s);
  }
  Timeline timeline;
  const Report report = evaluate_plan(graph, testing::pairwise(p, 1e9, times.at("tC").get<double>()), plan, {}, {},
                                      collect_into(timeline));
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
    CHECK(report.devices[i].in_flight_peak == record.at("peak_chunks_release_at_B")[i].get<std::int64_t>());
    if (record.contains("order")) CHECK(order_of(timeline, i) == record.at("order")[i].get<std::string>());
  }
}

bool is_here() {
  if (std::filesystem::exists(kFolder)) return true;
  MESSAGE("skipped: no reference answers at ", kFolder.string());
  return false;
}

TEST_CASE("1f1b: the orders, times, bubbles and peaks of the original generators") {
  if (!is_here()) return;
  std::size_t compared = 0;
  for (const json& record : entries_of("1f1b.json")) {
    if (record.contains("error")) continue;
    compare(record, "1f1b");
    ++compared;
  }
  CHECK(compared == 135);
}

TEST_CASE("gpipe: the orders, times, bubbles and peaks of the original generator") {
  if (!is_here()) return;
  std::size_t compared = 0;
  for (const json& record : entries_of("gpipe.json")) {
    if (record.contains("error")) continue;
    compare(record, "gpipe");
    ++compared;
  }
  CHECK(compared == 45);
}

TEST_CASE("eager-1f1b: the orders, times, bubbles and peaks of the original generator") {
  if (!is_here()) return;
  std::size_t compared = 0;
  for (const json& record : entries_of("eager_1f1b.json")) {
    if (record.contains("error")) continue;
    compare(record, "eager-1f1b");
    ++compared;
  }
  CHECK(compared == 36);
}

TEST_CASE("interleaved-1f1b: the orders, times, bubbles and peaks of the original generators") {
  if (!is_here()) return;
  std::size_t compared = 0;
  for (const json& record : entries_of("interleaved_1f1b.json")) {
    if (record.contains("error")) continue;
    compare(record, "interleaved-1f1b");
    ++compared;
  }
  CHECK(compared == 225);
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
