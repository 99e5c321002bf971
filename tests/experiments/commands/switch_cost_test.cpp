// What a change of plans costs where the pipeline drains for it: who copies what to whom, and the stall that was
// expected.
#include "tests/experiments/commands/command.hpp"
#include "tests/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

using Json = nlohmann::json;

/// The files of a run that changes its plan.
class Switch {
 public:
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }
  /// A program that answers each question with that plan.
  [[nodiscard]] std::string answering(const std::string& plan) const {
    write("next.json", plan);
    write("next.sh", "#!/bin/sh\ncat >/dev/null; printf '{\"plan\":'; cat '" + path("next.json") + "'; printf '}'\n");
    std::filesystem::permissions(path("next.sh"), std::filesystem::perms::owner_all);
    return "exec:" + path("next.sh");
  }
  [[nodiscard]] Json answer(const std::vector<std::string>& more, int code = 0) const {
    std::vector<std::string> command = {"simulate",   path("plan.json"),     "--model",      path("model.json"),
                                        "--platform", path("platform.json"), "--no-timings", "--json"};
    command.insert(command.end(), more.begin(), more.end());
    const Ran result = run(command);
    CAPTURE(result.out);
    REQUIRE(result.code == code);
    return Json::parse(result.out);
  }

 private:
  test::TemporaryFolder folder_;
};

/// A model, one line for each layer: its name, parameters and the bytes of its output and stash.
struct LayerLine {
  std::string name;
  std::string forward;
  std::string backward;
  std::string parameters;
  std::string output = "0 B";
  std::string stash = "1 MB";
};
std::string model_of(const std::vector<LayerLine>& lines) {
  Json layers;
  for (const LayerLine& line : lines) {
    layers.push_back({{"name", line.name},
                      {"forward", line.forward},
                      {"backward", line.backward},
                      {"parameters", line.parameters},
                      {"output", line.output},
                      {"stash", line.stash}});
  }
  return Json{
      {"schema", "stagecraft/model/1"}, {"model", "m"}, {"device", "A"}, {"microbatch_size", 1}, {"layers", layers}}
      .dump();
}

/// A plan of pipedream, by the layers and the devices of each stage.
std::string plan_of(const std::vector<std::pair<std::vector<std::string>, std::vector<std::string>>>& stages) {
  Json list;
  for (const auto& [layers, devices] : stages) list.push_back({{"layers", layers}, {"devices", devices}});
  return Json{{"schema", "stagecraft/plan/1"},
              {"microbatch_size", 1},
              {"microbatches", 120},
              {"schedule", {{"name", "pipedream"}}},
              {"stages", list}}
      .dump();
}

/// Four equal layers in two stages of four replicas, each on a node whose devices have a NIC each; those of the first
/// stage take four times their time.
void write_replicated(const Switch& files, const std::string& schedule) {
  std::vector<LayerLine> layers;
  for (const std::string name : {"a", "b", "c", "d"}) layers.push_back({name, "1 s", "2 s", "1 GB", "1 kB"});
  files.write("model.json", model_of(layers));
  files.write("platform.json", R"({"schema": "stagecraft/platform/1", "platform": "p",
      "device_kinds": {"A": {"memory": "80 GB"}},
      "node_kinds": {"n": {"devices": {"kind": "A", "count": 4},
                           "interconnect": {"type": "switch", "bandwidth": "1000 GBps", "latency": "0 us"},
                           "nic": {"bandwidth": "1 GBps", "latency": "0 us", "per": "device"}}},
      "nodes": {"kind": "n", "count": 2}, "network": {"type": "switch"}})");
  files.write("plan.json", R"({"schema": "stagecraft/plan/1", "microbatch_size": 1, "microbatches": 256,
      "schedule": {"name": ")" +
                               schedule + R"("},
      "training": {"gradient_copies": 0, "optimizer_copies": 2, "boundary_buffers": 2},
      "stages": [{"layers": ["a", "b"], "devices": ["gpu0", "gpu1", "gpu2", "gpu3"]},
                 {"layers": ["c", "d"], "devices": ["gpu4", "gpu5", "gpu6", "gpu7"]}]})");
  std::string events;
  for (const std::string gpu : {"gpu0", "gpu1", "gpu2", "gpu3"}) {
    events += (events.empty() ? "" : ", ") + std::string(R"({"at": "0 s", "slowdown": 4, "device": ")") + gpu + "\"}";
  }
  files.write("events.json", R"({"schema": "stagecraft/events/1", "events": [)" + events + "]}");
}

}  // namespace

// b moves from gpu0..gpu3 to gpu4..gpu7: 1 GB and twice as much of optimizer state, over a NIC of 1 GB/s.
TEST_CASE("simulate --replan: replicas of the stage that gives share the copies to those of the one that gets") {
  const Switch files;
  write_replicated(files, "pipedream");
  const Json told = files.answer({"--events", files.path("events.json"), "--replan", "vpipe,window=8"});
  REQUIRE(told["replans"].size() == 1);
  const Json& copies = told["migrations"];
  REQUIRE(copies.size() == 4);
  const std::vector<std::pair<std::string, std::string>> pairs = {
      {"gpu0", "gpu4"}, {"gpu1", "gpu5"}, {"gpu2", "gpu6"}, {"gpu3", "gpu7"}};
  for (const Json& copy : copies) {
    CHECK(std::ranges::count(pairs, std::pair<std::string, std::string>(copy["from"], copy["to"])) == 1);
    CHECK(copy["bytes"] == 3'000'000'000);
    CHECK(copy["start_s"] == copies[0]["start_s"]);
    CHECK(copy["end_s"].get<double>() - copy["start_s"].get<double>() == doctest::Approx(3.0).epsilon(1e-9));
  }
  // The first microbatch takes 12 + 9 s, of which 3 s are a period; the copies are there before its tensor.
  CHECK(told["replans"][0]["stall_s"].get<double>() == doctest::Approx(18.0).epsilon(0.01));
  CHECK(told["replans"][0]["expected_stall_s"].get<double>() == doctest::Approx(18.0).epsilon(0.01));
}

// The copies take 3 s, and the second stage waits 4 s for its first tensor anyway.
TEST_CASE("simulate --replan: copies that the fill of a flushed pipeline hides cost nothing") {
  const Switch files;
  write_replicated(files, "1f1b");
  const Json told =
      files.answer({"--events", files.path("events.json"), "--replan", "vpipe,window=256", "--iterations", "8"});
  REQUIRE(told["replans"].size() == 1);
  CHECK(told["migrations"].size() == 4);
  CHECK(told["replans"][0]["stall_s"] == 0.0);
  CHECK(told["replans"][0]["expected_stall_s"] == 0.0);
}

// a needs b from the second device and c from the third, each over a link of its own: 12 MB in 60 ms, 18 MB in 90 ms.
// They begin when a is done with the plan before, which is the last to be. Then the first microbatch takes 6 times 30
// ms, of which 90 are a period.
TEST_CASE("simulate --replan: a device fetches layers from different devices at once") {
  const Switch files;
  std::vector<LayerLine> layers;
  for (const std::string name : {"a", "b", "c", "d", "e", "f"}) {
    layers.push_back({name, "10 ms", "20 ms", name == "b" ? "4 MB" : name == "c" ? "6 MB" : "0 B"});
  }
  files.write("model.json", model_of(layers));
  files.write("platform.json", R"({"schema": "stagecraft/platform/1", "platform": "p",
      "device_kinds": {"A": {"memory": "4 GB"}},
      "devices": [{"name": "x", "kind": "A"}, {"name": "y", "kind": "A"}, {"name": "z", "kind": "A"}],
      "default_link": {"bandwidth": "0.2 GBps", "latency": 0}})");
  files.write("plan.json", plan_of({{{"a"}, {"x"}}, {{"b"}, {"y"}}, {{"c", "d", "e", "f"}, {"z"}}}));
  const std::string next = files.answering(plan_of({{{"a", "b", "c"}, {"x"}}, {{"d"}, {"y"}}, {{"e", "f"}, {"z"}}}));
  for (const std::string engine : {"replay", "evaluate"}) {
    const Json told =
        files.answer({"--replan", next + ",window=24,migrate=stop-copy", "--run-length", "120", "--engine", engine});
    REQUIRE(told["replans"].size() == 1);
    const Json& change = told["replans"][0];
    CHECK(change["expected_stall_s"].get<double>() == doctest::Approx(0.090 + 0.180 - 0.090).epsilon(1e-9));
    CHECK(change["stall_s"].get<double>() == doctest::Approx(0.180).epsilon(1e-9));
  }
}

// x and y run layer a in turn, until x has too little memory. After their last round come its all-reduce and the
// update, 1 s each, and then the copy of a to z: 3 GB of weights and optimizer state over 1 GB/s. Then the first
// microbatch takes 6 s, and with both updates a period takes 8.
TEST_CASE("simulate --replan: the last all-reduce and update of replicas count before what they give is copied") {
  const Switch files;
  files.write("model.json", model_of({{"a", "1 s", "2 s", "1 GB"}, {"b", "1 s", "2 s", "1 GB"}}));
  files.write("platform.json", R"({"schema": "stagecraft/platform/1", "platform": "p",
      "device_kinds": {"A": {"memory": "1 TB", "update_bandwidth": "4 GBps"}},
      "devices": [{"name": "x", "kind": "A"}, {"name": "y", "kind": "A"}, {"name": "z", "kind": "A"}],
      "default_link": {"bandwidth": "1 GBps", "latency": 0}})");
  files.write("plan.json", plan_of({{{"a"}, {"x", "y"}}, {{"b"}, {"z"}}}));
  files.write("events.json", R"({"schema": "stagecraft/events/1",
      "events": [{"at_microbatch": 20, "device": "x", "memory": "1 GB"}]})");
  const std::string next = files.answering(plan_of({{{"a", "b"}, {"z"}}}));
  const Json told =
      files.answer({"--events", files.path("events.json"), "--replan", next + ",window=120,migrate=stop-copy"}, 3);
  REQUIRE(told["replans"].size() == 1);
  const Json& change = told["replans"][0];
  CHECK(change["stall_s"].get<double>() == doctest::Approx(1.0 + 1.0 + 3.0 + 6.0 - 8.0).epsilon(1e-9));
  CHECK(change["expected_stall_s"].get<double>() == doctest::Approx(3.0).epsilon(1e-9));
}

// The second stage gives layers to both others. Both plans fit in what the devices have, but not what the second one
// would keep on the way, so the pipeline drains: 178 ms, and the other plan saves 89.7 ms a microbatch.
TEST_CASE("simulate --replan: a switch that drains for lack of memory is judged by the stall of draining") {
  const Switch files;
  files.write("model.json", model_of({{"l0", "10001 us", "20002 us", "2980651 B", "267766 B", "8000000 B"},
                                      {"l1", "10002 us", "20004 us", "6631249 B", "806838 B", "11000000 B"},
                                      {"l2", "10004 us", "20008 us", "2030073 B", "837922 B", "0 B"},
                                      {"l3", "10008 us", "20016 us", "7295425 B", "0 B", "5000000 B"},
                                      {"l4", "10016 us", "20032 us", "1809404 B", "143968 B", "3000000 B"},
                                      {"l5", "10032 us", "20064 us", "4912579 B", "563214 B", "1000000 B"},
                                      {"l6", "10064 us", "20128 us", "6338027 B", "0 B", "3000000 B"},
                                      {"l7", "10128 us", "20256 us", "5837844 B", "0 B", "9000000 B"}}));
  files.write("platform.json", R"({"schema": "stagecraft/platform/1", "platform": "p",
      "device_kinds": {"A": {"memory": "191619317 B"}},
      "devices": [{"name": "x", "kind": "A"}, {"name": "y", "kind": "A"}, {"name": "z", "kind": "A"}],
      "default_link": {"bandwidth": "1 GBps", "latency": 0}})");
  files.write("plan.json", plan_of({{{"l0"}, {"x"}}, {{"l1", "l2", "l3", "l4", "l5", "l6"}, {"y"}}, {{"l7"}, {"z"}}}));
  const std::string next =
      files.answering(plan_of({{{"l0", "l1", "l2"}, {"x"}}, {{"l3", "l4"}, {"y"}}, {{"l5", "l6", "l7"}, {"z"}}}));
  const auto told = [&](const std::string& more) {
    return files.answer({"--replan", next + ",window=20,migrate=live" + more, "--run-length", "120"});
  };
  const Json answer = told("");
  REQUIRE(answer["replans"].size() == 1);
  const Json& change = answer["replans"][0];
  CHECK(change["live"] == false);
  CHECK(change["reason"].get<std::string>().find("while layers move") != std::string::npos);
  CHECK(change["stall_s"].get<double>() == doctest::Approx(0.178).epsilon(0.01));
  CHECK(change["expected_stall_s"].get<double>() == doctest::Approx(change["stall_s"].get<double>()).epsilon(0.01));
  CHECK(told(",horizon=1").count("replans") == 0);
}

}  // namespace stagecraft
