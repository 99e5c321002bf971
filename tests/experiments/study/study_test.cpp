// Studies as values: the file, its expansion, settings and filters, the manifest.
#include "experiments/study/cell_spec.hpp"
#include "experiments/study/manifest.hpp"
#include "experiments/study/run_study.hpp"
#include "experiments/study/study_file.hpp"
#include "experiments/study/study_folder.hpp"
#include "sim/base/error.hpp"
#include "sim/io/json.hpp"
#include "tests/experiments/commands/shell.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

const std::string kHead = "schema: stagecraft/study/1\nstudy: s\n";
const std::string kBase = kHead + "base: {model: vgg16, platform: p3.8xlarge-x4, planner: uniform}\n";

Study study_of(const std::string& rest) { return parse_study(rest, "study.yaml"); }

std::vector<std::string> values_of(const Expansion& expansion, const std::string& key) {
  std::vector<std::string> values;
  for (const Cell& cell : expansion.cells) {
    const Detail* value = find_key(cell.keys, key);
    values.push_back(value == nullptr ? "-" : to_json(*value, -1));
  }
  return values;
}

TEST_CASE("study: the first axis varies slowest, then zips, then seeds") {
  const Expansion all = expand(study_of(kBase + "matrix: {microbatch_size: [4, 8], schedule: [1f1b, gpipe]}\n"
                                                "zip: [{microbatches: [16, 32], iterations: [1, 2]}]\n"
                                                "seeds: {count: 2, base: 7}\n"));
  REQUIRE(all.cells.size() == 16);
  CHECK(values_of(all, "microbatch_size")[7] == "4");
  CHECK(values_of(all, "microbatch_size")[8] == "8");
  CHECK(values_of(all, "schedule")[3] == "\"1f1b\"");
  CHECK(values_of(all, "schedule")[4] == "\"gpipe\"");
  CHECK(values_of(all, "microbatches")[1] == "16");
  CHECK(values_of(all, "microbatches")[2] == "32");
  CHECK(values_of(all, "iterations")[2] == "2");
  CHECK(all.cells[0].seed == 7);
  CHECK(all.cells[1].seed == 8);
}

TEST_CASE("study: a schedule may carry its parameters, as a map or as on the command line") {
  const Expansion all = expand(study_of(
      kBase +
      "matrix: {schedule: [1f1b-star, {name: 1f1b-star, release: asap, channels: free}, '1f1b-star,period=1 s', "
      "'1f1b-star,release=asap,channels=free']}\n"));
  CHECK(values_of(all, "schedule") == std::vector<std::string>{"\"1f1b-star\"",
                                                               "\"1f1b-star,channels=free,release=asap\"",
                                                               "\"1f1b-star,period=1 s\""});
  CHECK(all.repeated == 1);
}

TEST_CASE("study: a planner may name its schedule; an external one gets an option of that name") {
  const Expansion all =
      expand(study_of(kBase + "matrix: {planner: [uniform, {name: uniform, label: all at once, schedule: gpipe}, "
                              "{name: 'exec:./own.py', schedule: gpipe}]}\n"));
  CHECK(values_of(all, "schedule") == std::vector<std::string>{"-", "\"gpipe\"", "-"});
  CHECK(values_of(all, "exec:./own.py.schedule")[2] == "\"gpipe\"");
  CHECK_THROWS_WITH_AS(static_cast<void>(study_of(kBase + "matrix: {planner: [{name: uniform, schedule: gpip}]}\n")),
                       doctest::Contains("unknown value 'gpip'"), InputError);
}

TEST_CASE("study: exclude takes away combinations, include adds some that it does not touch") {
  const Expansion all =
      expand(study_of(kBase + "matrix: {planner: [pipedream, uniform], microbatch_size: [4, 8, 16]}\n"
                              "exclude: [{planner: pipedream, microbatch_size: 16}, {microbatch_size: 4}]\n"
                              "include: [{planner: uniform, microbatch_size: 4}]\n"));
  CHECK(values_of(all, "microbatch_size") == std::vector<std::string>{"8", "8", "16", "4"});
}

TEST_CASE("study: options of other planners do not make cells differ") {
  const std::string text =
      kBase + "matrix: {planner: [data-parallel, uniform], uniform.stages: [2, 4], microbatch_size: [4, 8]}\n";
  const Expansion all = expand(study_of(text));
  CHECK(all.cells.size() == 6);
  CHECK(all.repeated == 2);
  CHECK(std::ranges::count(values_of(all, "uniform.stages"), "-") == 2);
}

TEST_CASE("study: a planner may carry its options and a label; equal cells have one label") {
  const Study study = study_of(
      kBase + "matrix: {planner: [{name: uniform, label: two, stages: 2}, {name: uniform, label: four, stages: 4}]}\n");
  CHECK(values_of(expand(study), "label") == std::vector<std::string>{"\"two\"", "\"four\""});
  const Study unclear = study_of(
      kBase + "matrix: {planner: [{name: uniform, label: two, stages: 2}, {name: uniform, label: four, stages: 2}]}\n");
  CHECK_THROWS_WITH_AS(static_cast<void>(expand(unclear)), doctest::Contains("'two' and 'four'"), InputError);
}

TEST_CASE("study: what is set from outside comes before all else") {
  Study study = study_of(kBase + "matrix: {microbatch_size: [4, 8]}\ninclude: [{microbatch_size: 2}]\n");
  apply_settings(study,
                 {"microbatch_size=16", "limits.time=3 s", "seeds.count=3", "platform.network.bandwidth=10 Gbps"});
  const Expansion all = expand(study);
  CHECK(values_of(all, "microbatch_size") == std::vector<std::string>(3, "16"));
  CHECK(values_of(all, "platform.network.bandwidth")[0] == "\"10 Gbps\"");
  CHECK(study.limits.time == Seconds(3));
  CHECK_THROWS_WITH_AS(apply_settings(study, {"microbatchsize=16"}), doctest::Contains("microbatch_size"), InputError);
  CHECK_THROWS_AS(apply_settings(study, {"limits.tim=3 s"}), InputError);
}

TEST_CASE("study: an option of a planner is one key, as a key, in the planner's map and as a setting") {
  const Expansion as_key = expand(study_of(kBase + "matrix: {uniform.stages: [2, 4], gpipe.replicas: [1]}\n"));
  const Expansion as_map =
      expand(study_of(kBase + "matrix: {planner: [{name: uniform, stages: 2}, {name: uniform, stages: 4}]}\n"));
  CHECK(as_key.cells == as_map.cells);
  Study study = study_of(kBase);
  apply_settings(study, {"uniform.stages=2"});
  CHECK(expand(study).cells.front() == as_key.cells.front());
  CHECK(read_cell(as_key.cells[1]).planning.options == GivenOptions{{"stages", "4"}});
}

TEST_CASE("study: a comma in --set ends a value only before the name of a key") {
  Study study = study_of(kBase);
  apply_settings(study, {"schedule=spp-pe,inflight_cap=double,microbatches=8", "limits.retries=0",
                         "label=\"x,iterations=2\", uniform.stages=2", "seeds.count=2,replan=vpipe,memory=keep"});
  CHECK(study.fixed == Keys{{"schedule", "spp-pe,inflight_cap=double"},
                            {"microbatches", 8},
                            {"label", "x,iterations=2"},
                            {"uniform.stages", 2},
                            {"replan", "vpipe,memory=keep"}});
}

TEST_CASE("study: --set does not set a key twice, however it is spelled") {
  for (const auto& [first, second] :
       std::vector<std::pair<std::string, std::string>>{{"nodes=2", "platform.nodes.count=2"},
                                                        {"planner={name: uniform, stages: 2}", "uniform.stages=2"},
                                                        {"training={stash: input}", "training.stash=input"},
                                                        {"limits.retries=0", "limits.retries=1"}}) {
    Study study = study_of(kBase);
    CHECK_THROWS_WITH_AS(apply_settings(study, {first, second}), doctest::Contains("given twice"), InputError);
  }
}

TEST_CASE("study: filters of one key are alternatives, of several keys conditions") {
  const Keys keys{{"planner", "uniform"}, {"microbatch_size", 8}};
  const std::vector<Keys> both{parse_filter("planner=uniform"), parse_filter("planner=pipedream")};
  CHECK(is_wanted(keys, {}));
  CHECK(is_wanted(keys, both));
  CHECK(!is_wanted(keys, {both[0], parse_filter("microbatch_size=4")}));
  CHECK(!is_wanted(keys, {both[1]}));
}

TEST_CASE("study: too many cells, none, and cells without a planner are refused") {
  std::string seven;
  for (const char* key : {"microbatches", "microbatch_size", "iterations"}) {
    seven += (seven.empty() ? "" : ", ") + std::string(key) + ": [";
    for (int i = 1; i <= 60; ++i) seven += (i == 1 ? "" : ", ") + std::to_string(i);
    seven += "]";
  }
  CHECK_THROWS_WITH_AS(static_cast<void>(expand(study_of(kBase + "matrix: {" + seven + "}\n"))),
                       doctest::Contains("more than 100000 cells"), InputError);
  CHECK_THROWS_WITH_AS(static_cast<void>(expand(study_of(kBase + "exclude: [{planner: uniform}]\n"))),
                       doctest::Contains("no cells"), InputError);
  CHECK_THROWS_WITH_AS(static_cast<void>(expand(study_of(kHead + "base: {model: vgg16, platform: x}\n"))),
                       doctest::Contains("no planner"), InputError);
}

TEST_CASE("study: what all cells hold together is bounded before any is made") {
  std::string list = "&a [0";
  for (int i = 1; i < 20; ++i) list += ", " + std::to_string(i);
  const std::string text = kBase + "matrix: {platform.a: [" + list + "], [*a]], platform.b: [*a]}\n" +
                           "include: [{platform.c: *a}]\nseeds: {count: ";
  CHECK(expand(study_of(text + "10000}\n")).cells.size() == 30'000);
  const std::string expected = "more than two million values together";
  CHECK_THROWS_WITH_AS(static_cast<void>(expand(study_of(text + "20000}\n"))), doctest::Contains(expected.c_str()),
                       InputError);
  const std::string label = "include: [{label: " + std::string(64'000, 'x') + "}]\nseeds: {count: 3000}\n";
  CHECK_THROWS_WITH_AS(static_cast<void>(expand(study_of(kBase + label))), doctest::Contains(expected.c_str()),
                       InputError);
}

Manifest manifest_of(const Study& study) { return make_manifest(study, expand(study), {"stagecraft", "run"}); }

TEST_CASE("study: a manifest reads back as it was written, and keys tell cells apart") {
  const Manifest manifest = manifest_of(
      study_of(kBase + "matrix: {microbatch_size: [4, 8]}\nseeds: {count: 3}\nbaseline: {planner: uniform}\n"
                       "limits: {time: 5 s, memory: 1 GiB, retries: 2}\n"));
  CHECK(parse_manifest(to_text(manifest), "m") == manifest);
  std::set<std::string> keys;
  for (const StudyCell& cell : manifest.cells) keys.insert(cell.key);
  CHECK(keys.size() == 6);
  CHECK(!difference(manifest, manifest));
}

TEST_CASE("study: a cell's key follows the content of its files, not where they lie") {
  const test::TemporaryFolder folder;
  const auto key_of = [&](const std::string& platform, const std::string& content) {
    test::write(folder / platform, content);
    const std::string text = kHead + "base: {model: vgg16, platform: ./" + platform + ", planner: uniform}\n";
    return manifest_of(parse_study(text, folder / "s.yaml")).cells.front().key;
  };
  const std::string first = key_of("p.yaml", "one");
  CHECK(key_of("p.yaml", "one") == first);
  CHECK(key_of("p.yaml", "two") != first);
}

TEST_CASE("study: damaged manifests are refused with their line") {
  const std::string good = to_text(manifest_of(study_of(kBase)));
  for (const std::string& bad : {std::string(), std::string("{}\n"), good.substr(0, good.size() / 2), good + "{}\n",
                                 std::string("null\n"), std::string("[1]\n")}) {
    CHECK_THROWS_AS(static_cast<void>(parse_manifest(bad, "m")), InputError);
  }
}

TEST_CASE("study: all planners meet the same noise, other cells another") {
  const Cell one{{{"planner", "uniform"}, {"uniform.stages", 2}, {"microbatches", 8}}, 1};
  const Cell same{{{"microbatches", 8}, {"planner", "pipedream"}, {"label", "x"}, {"schedule", "1f1b"}}, 1};
  const Cell own{{{"microbatches", 16}, {"planner", "pipedream"}, {"run_length", 99}}, 1};
  const Cell other_seed{one.keys, 2};
  const Cell other_cell{{{"planner", "uniform"}, {"microbatches", 8}, {"model", "other"}}, 1};
  CHECK(noise_seed(one) == noise_seed(same));
  CHECK(noise_seed(one) == noise_seed(own));
  CHECK(noise_seed(one) != noise_seed(other_seed));
  CHECK(noise_seed(one) != noise_seed(other_cell));
}

TEST_CASE("study: no name leads out of the folder of results") {
  CHECK(default_folder("quick start") == "stagecraft-results/quick_start");
  CHECK(default_folder("../../etc/passwd") == "stagecraft-results/______etc_passwd");
  CHECK(default_folder("$(rm -rf ~)\n'\"") == "stagecraft-results/__rm_-rf______");
}

}  // namespace
}  // namespace stagecraft
