// What must hold on the rows of the studies of schedules. Run in the folder where their tests have left the results.
#include "experiments/study/results.hpp"
#include "tests/golden/study_rows.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <string>
#include <variant>

namespace stagecraft {

using namespace testing;

namespace {

/// The rows of a group by the label of the schedule.
using Schedules = std::map<std::string, const CellResult*>;

/// By the tags of the group.
std::map<std::string, Schedules> schedules_of(const Results& results) {
  std::map<std::string, Schedules> groups;
  for (const CellResult& result : results.rows) {
    REQUIRE(result.row.status == CellStatus::Ok);
    const Keys& keys = results.manifest.cells[result.index].cell.keys;
    std::string name;
    for (const auto& [key, value] : keys) {
      if (key.starts_with("tag.")) name += (name.empty() ? "" : ", ") + to_json(value, -1);
    }
    groups[name][label_of(keys)] = &result;
  }
  return groups;
}

double samples_per_s(const Schedules& group, const std::string& label) {
  return number(group.at(label)->row.figures, "throughput_samples_per_s").value();
}

double peak(const Schedules& group, const std::string& label) {
  const Detail* bytes = find_key(group.at(label)->row.figures, "peak_memory_bytes");
  return static_cast<double>(std::get<std::int64_t>(bytes->value));
}

double ideal_bubble(const Schedules& group, const std::string& label) {
  return number(group.at(label)->row.figures, "ideal_bubble_ratio").value();
}

bool is_faster(const Schedules& group, const std::string& one, const std::string& other) {
  return samples_per_s(group, one) > samples_per_s(group, other);
}

std::int64_t tag(const Results& results, const Schedules& group, const char* name) {
  return std::get<std::int64_t>(key_of(results, *group.begin()->second, name).value);
}

bool has_latency(const std::string& group) { return group.find("no latency") == std::string::npos; }

/// Bubble over ideal time for p equal stages and m microbatches, if a forward takes as long as each half of a backward
/// and transfers take no time.
std::map<std::string, double> closed_forms(std::int64_t p, std::int64_t m) {
  const double bubble = static_cast<double>(p - 1) / static_cast<double>(m);
  return {{"gpipe", bubble},       {"1f1b", bubble},       {"eager-1f1b", bubble},
          {"zb-h1", bubble / 3.0}, {"zb-v", bubble / 6.0}, {"interleaved-1f1b", bubble / 2.0},
          {"pipedream", 0.0},      {"pipedream-2bw", 0.0}, {"interleaved-1f1b,chunks=4", bubble / 4.0}};
}

}  // namespace

TEST_CASE("study schedules: bubbles without latency are those of the closed forms") {
  const Results results = load_results({"schedules"});
  REQUIRE(results.is_complete());
  const std::map<std::string, Schedules> groups = schedules_of(results);
  REQUIRE(groups.size() == 8);
  for (const auto& [name, group] : groups) {
    if (has_latency(name)) continue;
    CAPTURE(name);
    for (const auto& [label, bubble] : closed_forms(tag(results, group, "tag.p"), tag(results, group, "tag.m"))) {
      CAPTURE(label);
      CHECK(ideal_bubble(group, label) >= bubble - 1e-9);
      CHECK(ideal_bubble(group, label) < bubble + 0.006);  // a transfer takes a hundredth of a stage's forward
    }
  }
}

TEST_CASE("study schedules: what the page says of speed and memory") {
  const Results results = load_results({"schedules"});
  for (const auto& [name, group] : schedules_of(results)) {
    CAPTURE(name);
    CHECK(is_faster(group, "v-half", "1f1b"));
    CHECK(peak(group, "v-half") < peak(group, "1f1b"));
    CHECK(is_faster(group, "zb-v", "1f1b"));
    CHECK(peak(group, "zb-v") < 1.2 * peak(group, "1f1b"));
    CHECK(samples_per_s(group, "zb-h2") >= samples_per_s(group, "zb-h1"));
    CHECK(peak(group, "zb-h2") > 1.5 * peak(group, "1f1b"));
    if (has_latency(name)) {
      CHECK(is_faster(group, "1f1b", "v-min"));
      CHECK(is_faster(group, "1f1b", "1f1b-v"));
      CHECK(is_faster(group, "interleaved-1f1b", "interleaved-1f1b,chunks=4"));
    } else {
      CHECK(peak(group, "v-min") < peak(group, "v-half"));
      CHECK(is_faster(group, "interleaved-1f1b,chunks=4", "interleaved-1f1b"));
    }
    if (tag(results, group, "tag.m") == 64) CHECK(is_faster(group, "1f1b", "chimera"));
    for (const auto& [label, cell] : group) {
      CAPTURE(label);
      const bool is_flushed = label != "pipedream" && label != "pipedream-2bw" && label != "1f1b-star";
      if (!has_latency(name) && is_flushed) CHECK(samples_per_s(group, label) <= 1.001 * samples_per_s(group, "zb-v"));
      if (has_latency(name) && is_flushed) CHECK(samples_per_s(group, label) <= 1.002 * samples_per_s(group, "zb-h2"));
      CHECK(peak(group, label) <= 1.01 * peak(group, "looped-bfs"));
    }
  }
}

TEST_CASE("study zero-bubble: what the page says of speed and memory") {
  const Results results = load_results({"zero-bubble"});
  REQUIRE(results.is_complete());
  const std::map<std::string, Schedules> groups = schedules_of(results);
  REQUIRE(groups.size() == 4);
  for (const auto& [name, group] : groups) {
    CAPTURE(name);
    for (const auto& [label, cell] : group) CHECK(samples_per_s(group, label) <= samples_per_s(group, "zb-v"));
    for (const char* label : {"zb-h1", "zb-auto", "interleaved-zb-h1", "zb-v"}) {
      CAPTURE(label);
      CHECK(is_faster(group, label, "1f1b"));
      CHECK(peak(group, label) < 1.01 * peak(group, "1f1b"));
    }
    CHECK(is_faster(group, "zb-auto", "zb-h1"));
    CHECK(is_faster(group, "zb-h2", "zb-auto"));
    const std::string wide = name.starts_with("\"28.3B") ? "48" : name.starts_with("\"14.6B") ? "24" : "12";
    const bool is_as_fast = samples_per_s(group, "zb-auto,limit=" + wide) > 0.999 * samples_per_s(group, "zb-h2");
    CHECK(is_as_fast == !name.starts_with("\"1.5B"));
    CHECK(peak(group, "zb-auto,limit=" + wide) < peak(group, "zb-h2"));
    CHECK(peak(group, "zb-h2") > 1.5 * peak(group, "1f1b"));
    CHECK(is_faster(group, "v-half", "1f1b"));
    CHECK(peak(group, "v-half") < 0.8 * peak(group, "1f1b"));
    CHECK(is_faster(group, "1f1b", "v-min"));
    CHECK(peak(group, "v-min") < peak(group, "v-half"));
  }
}

}  // namespace stagecraft
