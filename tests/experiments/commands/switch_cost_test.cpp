// What a change of plans costs where the pipeline drains for it: who copies what to whom, and the stall that was
// expected.
#include "tests/experiments/commands/command.hpp"
#include "tests/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
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
  [[nodiscard]] Json answer(const std::vector<std::string>& more) const {
    std::vector<std::string> command = {"simulate",   path("plan.json"),     "--model",      path("model.json"),
                                        "--platform", path("platform.json"), "--no-timings", "--json"};
    command.insert(command.end(), more.begin(), more.end());
    const Ran result = run(command);
    CAPTURE(result.out);
    REQUIRE(result.code == 0);
    return Json::parse(result.out);
  }

 private:
  test::TemporaryFolder folder_;
};

/// Four equal layers in two stages of four replicas, each on a node whose devices have a NIC each; those of the first
/// stage take four times their time.
void write_replicated(const Switch& files, const std::string& schedule) {
  Json layers;
  for (const std::string name : {"a", "b", "c", "d"}) {
    layers.push_back({{"name", name},
                      {"forward", "1 s"},
                      {"backward", "2 s"},
                      {"parameters", "1 GB"},
                      {"output", "1 kB"},
                      {"stash", "1 MB"}});
  }
  files.write("model.json", Json{{"schema", "stagecraft/model/1"},
                                 {"model", "four"},
                                 {"device", "A"},
                                 {"microbatch_size", 1},
                                 {"layers", layers}}
                                .dump());
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

}  // namespace stagecraft
