#include "experiments/study_report/summary.hpp"
#include "tests/experiments/study/study_results.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

Keys keys_of(const std::string& planner, int size, const Keys& more = {}) {
  Keys keys{{"model", "m"}, {"planner", planner}, {"microbatch_size", size}};
  keys.insert(keys.end(), more.begin(), more.end());
  return keys;
}

const StudyLine& line_of(const StudySummary& summary, std::size_t group, const std::string& name) {
  const auto& lines = summary.groups.at(group).lines;
  const auto found = std::ranges::find_if(
      lines, [&](const StudyLine& line) { return summary.contenders[line.contender].name == name; });
  REQUIRE(found != lines.end());
  return *found;
}

const OverallLine& overall_of(const StudySummary& summary, const std::string& name) {
  const auto found = std::ranges::find_if(
      summary.overall, [&](const OverallLine& line) { return summary.contenders[line.contender].name == name; });
  REQUIRE(found != summary.overall.end());
  return *found;
}

TEST_CASE("study summary: groups, speed-ups, the best, and what did not run") {
  StudyMaker maker;
  maker.results.manifest.baseline = Keys{{"planner", "base"}};
  maker.cell(keys_of("base", 4)).ok(100.0);
  maker.cell(keys_of("fast", 4)).ok(200.0);
  maker.cell(keys_of("big", 4)).row(CellStatus::Infeasible, {{"smallest_memory_bytes", 77}}, "too big");
  maker.cell(keys_of("base", 8)).ok(100.0);
  maker.cell(keys_of("fast", 8)).ok(50.0);
  maker.cell(keys_of("big", 8));
  const StudySummary summary = summarise_study(maker.results);

  CHECK(summary.cells == 6);
  CHECK(summary.rows == 5);
  CHECK(summary.counts.of(CellStatus::Ok) == 4);
  CHECK(summary.counts.not_run == 1);
  CHECK(summary.constant == Keys{{"model", "m"}});
  REQUIRE(summary.groups.size() == 2);
  CHECK(summary.groups[0].keys == Keys{{"microbatch_size", 4}});
  CHECK(line_of(summary, 0, "base").speed_up->mean == 1.0);
  CHECK(line_of(summary, 0, "fast").speed_up->mean == 2.0);
  CHECK_FALSE(line_of(summary, 0, "fast").speed_up->interval);
  CHECK(line_of(summary, 0, "fast").is_best);
  CHECK_FALSE(line_of(summary, 0, "base").is_best);
  CHECK_FALSE(line_of(summary, 0, "big").speed_up);
  CHECK(line_of(summary, 0, "big").smallest_memory_bytes == 77);
  CHECK(line_of(summary, 1, "base").is_best);
  CHECK(line_of(summary, 1, "big").counts.not_run == 1);

  const OverallLine& fast = overall_of(summary, "fast");
  CHECK(std::abs(fast.speed_up->mean - 1.0) < 1e-12);  // of 2 and 1/2
  CHECK_FALSE(fast.speed_up->interval);
  CHECK(fast.speed_ups == std::vector<double>{2.0, 0.5});
  CHECK(fast.groups_won == 1);
  const OverallLine& big = overall_of(summary, "big");
  CHECK_FALSE(big.speed_up);
  CHECK(big.counts.of(CellStatus::Infeasible) == 1);
  CHECK(big.counts.not_run == 1);
  REQUIRE(summary.reasons.size() == 1);
  CHECK(summary.reasons[0].message == "too big");
  CHECK(summary.notes.empty());
}

TEST_CASE("study summary: says in how many groups samples per update differ, and whose period still moves") {
  StudyMaker maker;
  const auto row = [](std::int64_t samples, Detail converged) {
    return Detail::Record{{"throughput_samples_per_s", 100.0},
                          {"resolved_samples_per_update", samples},
                          {"converged", std::move(converged)}};
  };
  maker.cell(keys_of("flush", 4)).row(CellStatus::Ok, row(64, Detail()));
  maker.cell(keys_of("pipe", 4)).row(CellStatus::Ok, row(16, std::int64_t{0}));
  maker.cell(keys_of("flush", 8)).row(CellStatus::Ok, row(64, Detail()));
  maker.cell(keys_of("pipe", 8)).row(CellStatus::Ok, row(64, std::int64_t{1}));
  maker.cell(keys_of("flush", 16)).row(CellStatus::Infeasible, {});
  maker.cell(keys_of("pipe", 16)).row(CellStatus::Ok, row(64, std::int64_t{1}));
  const StudySummary summary = summarise_study(maker.results);
  CHECK(updates_differ(summary.groups.at(0)));
  CHECK(!updates_differ(summary.groups.at(1)));
  CHECK(!updates_differ(summary.groups.at(2)));  // the other line has no update
  CHECK(summary.notes == std::vector<std::string>{
                             "samples per update differ between the lines of 1 of 3 groups, which do not train alike",
                             "the period of 1 cell has not converged (column converged)"});
}

TEST_CASE("study summary: says how many plans leave devices unused, at most how many, and whose they are") {
  StudyMaker maker;
  const auto row = [](std::int64_t unused) {
    return Detail::Record{{"throughput_samples_per_s", 100.0}, {"devices_unused", unused}};
  };
  maker.cell(keys_of("a", 4)).row(CellStatus::Ok, row(0));
  maker.cell(keys_of("b", 4)).row(CellStatus::Ok, row(3));
  maker.cell(keys_of("a", 8)).row(CellStatus::Infeasible, {});
  CHECK(summarise_study(maker.results).notes ==
        std::vector<std::string>{
            "1 of 2 plans leaves devices of the platform unused, at most 3 (column devices_unused): b"});
  for (const char* planner : {"c", "d", "e", "f", "g", "h"}) {
    maker.cell(keys_of(planner, 4)).row(CellStatus::OutOfMemory, row(5));
  }
  CHECK(summarise_study(maker.results).notes ==
        std::vector<std::string>{
            "7 of 8 plans leave devices of the platform unused, at most 5 (column devices_unused): b, c, d, e, f and "
            "2 others"});
}

TEST_CASE("study summary: says in how many groups the lines exchange gradients in different buckets") {
  StudyMaker maker;
  const auto row = [](Detail bucket) {
    return Detail::Record{{"throughput_samples_per_s", 100.0}, {"resolved_gradient_bucket_bytes", std::move(bucket)}};
  };
  maker.cell(keys_of("a", 4)).row(CellStatus::Ok, row(std::int64_t{0}));
  maker.cell(keys_of("b", 4)).row(CellStatus::Ok, row(std::int64_t{1024}));
  maker.cell(keys_of("a", 8)).row(CellStatus::Ok, row(Detail()));  // no replicas
  maker.cell(keys_of("b", 8)).row(CellStatus::Ok, row(std::int64_t{1024}));
  const StudySummary summary = summarise_study(maker.results);
  REQUIRE(summary.notes.size() == 1);
  CHECK(summary.notes.front().starts_with("the lines of 1 of 2 groups exchange gradients in buckets of different"));
}

TEST_CASE("study summary: speed-ups are paired seed by seed") {
  StudyMaker maker;
  maker.results.manifest.baseline = Keys{{"planner", "base"}};
  const std::vector<double> noise = {100.0, 400.0, 900.0};
  for (std::size_t i = 0; i < noise.size(); ++i) maker.cell(keys_of("base", 4), i + 1).ok(noise[i]);
  for (std::size_t i = 0; i < noise.size(); ++i) maker.cell(keys_of("twice", 4), i + 1).ok(2.0 * noise[i]);
  const std::vector<double> ratios = {std::exp(-0.1), 1.0, std::exp(0.1)};
  for (std::size_t i = 0; i < noise.size(); ++i) maker.cell(keys_of("other", 4), i + 1).ok(ratios[i] * noise[i]);
  maker.cell(keys_of("lame", 4), 1).ok(500.0);
  maker.cell(keys_of("lame", 4), 2).row(CellStatus::Timeout, {}, "120 s are up");
  maker.cell(keys_of("lame", 4), 3).ok(9000.0);
  const StudySummary summary = summarise_study(maker.results);

  CHECK(summary.seeds == 3);
  const StudyLine& twice = line_of(summary, 0, "twice");
  CHECK(twice.speed_up->mean == 2.0);  // the same at every seed: nothing varies
  CHECK_FALSE(twice.speed_up->interval);
  CHECK(twice.speed_up->pairs == 3);
  const StudyLine& other = line_of(summary, 0, "other");
  CHECK(std::abs(other.speed_up->mean - 1.0) < 1e-12);
  CHECK(std::abs(std::log(other.speed_up->interval->high) - 0.1 / std::sqrt(3.0) * 4.302653) < 1e-7);
  const StudyLine& lame = line_of(summary, 0, "lame");
  CHECK(lame.speed_up->pairs == 2);
  CHECK(std::abs(lame.speed_up->mean - std::sqrt(50.0)) < 1e-12);  // of 5 and 10
  CHECK(*lame.throughput == 4750.0);
  CHECK_FALSE(lame.is_best);  // highest mean, but one seed did not end
  CHECK(twice.is_best);
}

TEST_CASE("study summary: equal throughputs share the first place, a line alone has none") {
  StudyMaker maker;
  for (const char* planner : {"a", "b", "c"}) maker.cell(keys_of(planner, 4)).ok(planner[0] == 'c' ? 1.0 : 3.0);
  maker.cell(keys_of("a", 8)).ok(1.0);
  const StudySummary summary = summarise_study(maker.results);
  CHECK(line_of(summary, 0, "a").is_best);
  CHECK(line_of(summary, 0, "b").is_best);
  CHECK_FALSE(line_of(summary, 0, "c").is_best);
  CHECK_FALSE(line_of(summary, 1, "a").is_best);
  CHECK_FALSE(line_of(summary, 0, "a").speed_up);  // no baseline was asked for
}

TEST_CASE("study summary: planners that share a name are told apart by what differs") {
  StudyMaker maker;
  maker.results.manifest.baseline = Keys{{"planner", "p"}};
  maker.cell(keys_of("p", 4, {{"p.grid", 11}, {"p.states", "grid"}})).ok(10.0);
  maker.cell(keys_of("p", 4, {{"p.grid", 51}, {"p.states", "grid"}})).ok(20.0);
  maker.cell(keys_of("p", 4, {{"p.grid", 51}, {"label", "fine"}})).ok(40.0);
  const StudySummary summary = summarise_study(maker.results);
  REQUIRE(summary.contenders.size() == 3);
  CHECK(summary.contenders[0].name == "p (grid 11)");
  CHECK(summary.contenders[1].name == "p (grid 51)");
  CHECK(summary.contenders[2].name == "fine");
  CHECK(line_of(summary, 0, "fine").speed_up->mean == 4.0);  // of three that fit the pattern, the first
  REQUIRE(summary.notes.size() == 1);
  CHECK(summary.notes[0].find("fits 3 planners; the first of them is used: p (grid 11)") != std::string::npos);
}

TEST_CASE("study summary: the schedules of one planner are ranked without labels, with what each has for itself") {
  StudyMaker maker;
  maker.results.manifest.baseline = Keys{{"schedule", "1f1b"}};
  for (const int size : {4, 8}) {
    maker.cell(keys_of("p", size, {{"schedule", "1f1b"}, {"p.stages", 4}, {"microbatches", 16}})).ok(2.0 * size);
    maker.cell(keys_of("p", size, {{"schedule", "zb-v"}, {"p.stages", 4}, {"microbatches", 32}})).ok(3.0 * size);
  }
  const StudySummary one = summarise_study(maker.results);
  REQUIRE(one.groups.size() == 2);
  REQUIRE(one.contenders.size() == 2);
  for (std::size_t group = 0; group < 2; ++group) {
    const StudyLine& better = line_of(one, group, "p (microbatches 32, schedule zb-v)");
    CHECK(better.is_best);
    CHECK(better.speed_up->mean == 1.5);
    CHECK_FALSE(line_of(one, group, "p (microbatches 16, schedule 1f1b)").is_best);
  }
  CHECK(one.notes.empty());
  // With a second planner, whose best schedule is another, planners are compared for each schedule.
  maker.results.manifest.baseline.reset();
  maker.cell(keys_of("q", 4, {{"schedule", "1f1b"}})).ok(9.0);
  maker.cell(keys_of("q", 4, {{"schedule", "zb-v"}})).ok(8.0);
  const StudySummary two = summarise_study(maker.results);
  CHECK(two.contenders.size() == 2);
  CHECK(two.groups.size() == 6);  // microbatches are a key like others now
}

TEST_CASE("study summary: what each planner has for itself does not tear groups apart") {
  const std::vector<std::pair<std::string, std::pair<Detail, Detail>>> own_keys = {
      {"schedule", {"1f1b", "pipedream"}},
      {"microbatches", {16, 4}},
      {"samples_per_update", {1024, 256}},
      {"run_length", {100, 1000}},
  };
  for (const auto& [key, values] : own_keys) {
    CAPTURE(key);
    StudyMaker maker;
    maker.results.manifest.baseline = Keys{{"planner", "a"}};
    maker.cell(keys_of("a", 4, {{key, values.first}})).ok(1.0);
    maker.cell(keys_of("b", 4, {{key, values.second}})).ok(3.0);
    const StudySummary own = summarise_study(maker.results);
    CHECK(own.groups.size() == 1);
    CHECK(line_of(own, 0, "b").speed_up->mean == 3.0);
    maker.cell(keys_of("b", 4, {{key, values.first}})).ok(2.0);  // now it is a key of the study like others
    const StudySummary shared = summarise_study(maker.results);
    CHECK(shared.groups.size() == 2);
    CHECK_FALSE(line_of(shared, 1, "b").speed_up);
    CHECK(line_of(shared, 0, "b").speed_up->mean == 2.0);
    REQUIRE(shared.notes.size() == 1);
    CHECK(shared.notes[0].starts_with("1 line has no speed-up"));
  }
}

TEST_CASE("study summary: a baseline of another group, one that failed, one that fits nothing") {
  StudyMaker maker;
  maker.results.manifest.baseline = Keys{{"microbatch_size", 4}};
  maker.cell(keys_of("a", 4)).ok(10.0);
  maker.cell(keys_of("a", 8)).ok(15.0);
  CHECK(line_of(summarise_study(maker.results), 1, "a").speed_up->mean == 1.5);
  maker.results.rows[0].row.status = CellStatus::Crashed;
  const StudySummary failed = summarise_study(maker.results);
  CHECK_FALSE(line_of(failed, 1, "a").speed_up);
  REQUIRE(failed.notes.size() == 1);
  maker.results.manifest.baseline = Keys{{"planner", "nobody"}};
  const StudySummary none = summarise_study(maker.results);
  REQUIRE(none.notes.size() == 1);
  CHECK(none.notes[0].starts_with("no cell is the baseline"));
}

TEST_CASE("study summary: reasons once each, the most frequent first; damaged figures are no figures") {
  StudyMaker maker;
  maker.cell(keys_of("a", 1)).row(CellStatus::Invalid, {}, "rare");
  maker.cell(keys_of("a", 2)).row(CellStatus::Crashed, {}, "often");
  maker.cell(keys_of("a", 3)).row(CellStatus::Crashed, {}, "often");
  maker.cell(keys_of("a", 4)).row(CellStatus::Ok, {{"throughput_samples_per_s", "quick"}});
  maker.cell(keys_of("a", 5)).row(CellStatus::Ok, {{"throughput_samples_per_s", Detail()}});
  const StudySummary summary = summarise_study(maker.results);
  REQUIRE(summary.reasons.size() == 2);
  CHECK(summary.reasons[0].message == "often");
  CHECK(summary.reasons[0].count == 2);
  CHECK_FALSE(summary.groups[3].lines[0].throughput);
  CHECK_FALSE(summary.groups[4].lines[0].throughput);
}

}  // namespace
}  // namespace stagecraft
