// `simulate --events` with another model from a microbatch on, in both engines.
#include "tests/experiments/commands/command.hpp"
#include "tests/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <fstream>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace stagecraft {
namespace {

using Json = nlohmann::json;

/// Eight layers in four stages of two, forward 1 ms and backward 2 ms each: 6 ms a microbatch. Tensors are empty.
class Search {
 public:
  Search() {
    write_model("first", {"a", "b", "c", "d", "e", "f", "g", "h"}, 1);
    write_model("slow", {"a", "b", "c", "d", "e", "f", "g", "h"}, 2);
    write_model("long", {"a", "x1", "x2", "b", "c", "d", "e", "f", "g", "h"}, 1);
    write_model("other", {"a", "b", "c", "d"}, 1);
    write("four.yaml",
          "schema: stagecraft/platform/1\nplatform: four\ndevice_kinds: {A: {memory: 1 GB}}\n"
          "devices: [{name: p, kind: A}, {name: q, kind: A}, {name: r, kind: A}, {name: s, kind: A}]\n"
          "default_link: {bandwidth: 10 GBps, latency: 0}\n");
    write_plan("plan.yaml", "pipedream", 400);
    write_plan("flushed.yaml", "1f1b", 8);
  }

  [[nodiscard]] Ran ran(const std::string& plan, const std::string& events,
                        const std::vector<std::string>& more) const {
    write("events.yaml", "schema: stagecraft/events/1\nevents: [" + events + "]\n");
    std::vector<std::string> command = {"simulate",         path(plan),          "--model",
                                        path("first.yaml"), "--platform",        path("four.yaml"),
                                        "--events",         path("events.yaml"), "--no-timings"};
    command.insert(command.end(), more.begin(), more.end());
    return run(command);
  }
  [[nodiscard]] Json answer(const std::string& plan, const std::string& events, std::vector<std::string> more) const {
    more.emplace_back("--json");
    const Ran result = ran(plan, events, more);
    CAPTURE(result.out);
    CAPTURE(result.err);
    REQUIRE(result.code == 0);
    return Json::parse(result.out);
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
  void write_plan(const std::string& name, const std::string& schedule, int microbatches, int samples = 2) const {
    write(name, "schema: stagecraft/plan/1\nmicrobatch_size: " + std::to_string(samples) +
                    "\nmicrobatches: " + std::to_string(microbatches) + "\nschedule: {name: " + schedule +
                    "}\nstages:\n  - {layers: [a, b], devices: [p]}\n  - {layers: [c, d], devices: [q]}\n"
                    "  - {layers: [e, f], devices: [r]}\n  - {layers: [g, h], devices: [s]}\n");
  }

 private:
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }
  void write_model(const std::string& name, const std::vector<std::string>& layers, int times) const {
    std::string text =
        "schema: stagecraft/model/1\nmodel: " + name + "\ndevice: A\nmicrobatch_size: 2\nsource: made up\nlayers:\n";
    for (const std::string& layer : layers) {
      text += "  - {name: " + layer + ", forward: " + std::to_string(times) +
              " ms, backward: " + std::to_string(2 * times) + " ms, parameters: 4 MB, output: 0 B, stash: 6 MB}\n";
    }
    write(name + ".yaml", text);
  }
  test::TemporaryFolder folder_;
};

/// The throughput of the last window but one, in samples per second; the last one drains.
double late_throughput(const Json& told) {
  return told["windows"][told["windows"].size() - 2]["throughput_samples_per_s"].get<double>();
}

}  // namespace

// 6 ms, then 12 ms a microbatch; nothing moves.
TEST_CASE("model change: layers that stay where they are do not move, and take their new time") {
  const Search search;
  for (const std::string engine : {"replay", "evaluate"}) {
    CAPTURE(engine);
    const Json told = search.answer("plan.yaml", "{at_microbatch: 100, model: slow.yaml}",
                                    {"--engine", engine, "--run-length", "1000"});
    CHECK_FALSE(told.contains("migrations"));
    REQUIRE(told["replans"].size() == 1);
    CHECK(told["replans"][0]["microbatch"] == 100);
    CHECK(told["windows"][0]["end"] == 100);
    CHECK(late_throughput(told) == doctest::Approx(2 / 0.012));
    // The first 100 microbatches: 4 stages of 6 ms for the first, then 6 ms each.
    CHECK(told["windows"][0]["at_s"].get<double>() == doctest::Approx(0.024 + 99 * 0.006));
    const Json& happened = told["events"]["happened"][0];
    CHECK(happened["kind"] == "model");
    CHECK(happened["value"] == "slow");
    const Json& question = told["questions"][0];
    CHECK(question["asked_by"] == "model");
    CHECK(question["changes_at"] == 100);
    CHECK(question["stages"][3]["layers"] == Json::array({"g", "h"}));
  }
}

// The first stage gets two layers more: 12 ms a microbatch. Ten layers on four devices take 9 ms at best.
TEST_CASE("model change: a static plan keeps its cuts, and a re-planner moves layers") {
  const Search search;
  for (const std::string engine : {"replay", "evaluate"}) {
    CAPTURE(engine);
    const std::string event = "{at_microbatch: 100, model: long.yaml}";
    const std::vector<std::string> length = {"--engine", engine, "--run-length", "1000"};
    const Json kept = search.answer("plan.yaml", event, length);
    CHECK(late_throughput(kept) == doctest::Approx(2 / 0.012));
    CHECK(kept["questions"][0]["stages"][0]["layers"] == Json::array({"a", "x1", "x2", "b"}));
    std::vector<std::string> with = length;
    with.insert(with.end(), {"--replan", "vpipe,granularity=layers,window=64"});
    const Json moved = search.answer("plan.yaml", event, with);
    CHECK(late_throughput(moved) == doctest::Approx(2 / 0.009));
    Json change;
    for (const Json& question : moved["questions"]) {
      if (question["asked_by"] == "model") change = question;
    }
    CHECK(change["changes_at"] == 100);
    CHECK(change["keeping_s"].get<double>() == doctest::Approx(0.012));
    CHECK(change["changing_s"].get<double>() == doctest::Approx(0.009));
    // Only layers that have been trained before are copied.
    std::int64_t bytes = 0;
    for (const Json& migration : moved["migrations"]) {
      for (const Json& layer : migration["layers"]) CHECK(layer.get<std::string>().front() != 'x');
      CHECK(migration["bytes"].get<std::int64_t>() ==
            12'000'000 * static_cast<std::int64_t>(migration["layers"].size()));
      bytes += migration["bytes"].get<std::int64_t>();
    }
    CHECK(bytes > 0);
    CHECK(bytes == moved["replans"][0]["moved_bytes"].get<std::int64_t>());
  }
}

TEST_CASE("model change: every microbatch has one forward and one backward in each stage, and of its own model") {
  const Search search;
  const std::string events = "{at_microbatch: 20, model: slow.yaml}, {at_microbatch: 50, model: long.yaml}";
  for (const std::string engine : {"replay", "evaluate"}) {
    const Json told = search.answer("plan.yaml", events, {"--engine", engine, "--timeline", "--run-length", "100"});
    REQUIRE(told["replans"].size() == 2);
    std::map<std::tuple<int, int, std::string>, std::pair<int, double>> passes;  // by microbatch, place, kind
    for (const Json& op : told["timeline"]) {
      if (op["op"] != "forward" && op["op"] != "backward") continue;
      auto& [count, time] =
          passes[{op["microbatch"].get<int>(), op["stage"].get<int>() % 4, op["op"].get<std::string>()}];
      ++count;
      time += op["end_s"].get<double>() - op["start_s"].get<double>();
    }
    CHECK(passes.size() == 100 * 4 * 2);
    for (const auto& [key, pass] : passes) {
      const auto& [microbatch, stage, kind] = key;
      const double layers = microbatch >= 50 && stage == 0 ? 4 : 2;
      const double each = (microbatch >= 20 && microbatch < 50 ? 2e-3 : 1e-3) * (kind == "forward" ? 1 : 2);
      CHECK(pass.first == 1);
      CHECK(pass.second == doctest::Approx(layers * each));
    }
  }
}

TEST_CASE("model change: a flushed schedule changes its model between two iterations") {
  const Search search;
  // Microbatch 20 is in the third iteration of eight.
  const Json told = search.answer("flushed.yaml", "{at_microbatch: 20, model: slow.yaml}", {"--iterations", "6"});
  REQUIRE(told["iterations_s"].size() == 6);
  CHECK(told["replans"][0]["microbatch"] == 24);
  for (int i = 0; i < 6; ++i) {
    CHECK(told["iterations_s"][i].get<double>() == doctest::Approx((i < 3 ? 1 : 2) * 0.006 * (8 + 3)));
  }
}

// Twice the samples take twice the time: 4 samples in 12 ms in place of 2 in 6 ms. Microbatch k is done at 24 + 6 k ms
// up to 149, and at 966 + 12 (k - 150) ms from 150 on; the measured part is from 10 to 289.
TEST_CASE("microbatch size: times and samples change with their microbatch") {
  const Search search;
  for (const std::string engine : {"replay", "evaluate"}) {
    CAPTURE(engine);
    const Json told = search.answer("plan.yaml", "{at_microbatch: 150, microbatch_size: 4}",
                                    {"--engine", engine, "--run-length", "300"});
    CHECK_FALSE(told.contains("migrations"));
    const Json& windows = told["windows"];
    REQUIRE(windows.size() == 2);
    CHECK(windows[0]["end"] == 150);
    CHECK(windows[0]["microbatch_size"] == 2);
    CHECK(windows[0]["throughput_samples_per_s"].get<double>() == doctest::Approx(150 * 2 / 0.918));
    CHECK(windows[1]["microbatch_size"] == 4);
    CHECK(windows[1]["throughput_samples_per_s"].get<double>() == doctest::Approx(150 * 4 / (0.048 + 149 * 0.012)));
    CHECK(told["throughput_samples_per_s"].get<double>() == doctest::Approx((139 * 2 + 140 * 4) / (2.634 - 0.084)));
    const Json& question = told["questions"][0];
    CHECK(question["asked_by"] == "model");
    CHECK(question["changes_at"] == 150);
    CHECK(question["reason"] == "microbatches of 4 samples begin");
    const Json& happened = told["events"]["happened"][0];
    CHECK(happened["kind"] == "microbatch_size");
    CHECK(happened["value"] == 4);
    CHECK(happened["name"].is_null());
  }
}

TEST_CASE("microbatch size: the run goes on as a plan with that size runs, in time and in memory") {
  const Search search;
  search.write_plan("four_samples.yaml", "pipedream", 400, 4);
  const Json plain = search.answer("four_samples.yaml", "", {"--run-length", "300"});
  const Json changed = search.answer("plan.yaml", "{at_microbatch: 10, microbatch_size: 4}", {"--run-length", "600"});
  CHECK(changed["throughput_samples_per_s"].get<double>() ==
        doctest::Approx(plain["throughput_samples_per_s"].get<double>()));
  for (std::size_t d = 0; d < 4; ++d) {
    CHECK(changed["devices"][d]["peak_memory_bytes"] == plain["devices"][d]["peak_memory_bytes"]);
  }
}

TEST_CASE("microbatch size: a flushed schedule changes it between two iterations, and its updates grow") {
  const Search search;
  const Json told = search.answer("flushed.yaml", "{at_microbatch: 20, microbatch_size: 6}", {"--iterations", "6"});
  CHECK(told["windows"][0]["end"] == 24);
  for (int i = 0; i < 6; ++i) {
    CHECK(told["iterations_s"][i].get<double>() == doctest::Approx((i < 3 ? 1 : 3) * 0.006 * (8 + 3)));
  }
  CHECK(told["throughput_samples_per_s"].get<double>() == doctest::Approx(8 * 6 / (3 * 0.006 * (8 + 3))));
}

TEST_CASE("microbatch size: it holds for the models that follow, and another model may begin with it") {
  const Search search;
  const auto sizes_and_rates = [&](const std::string& events) {
    const Json told = search.answer("plan.yaml", events, {"--run-length", "2000"});
    return std::pair(told["windows"].back()["microbatch_size"].get<int>(), late_throughput(told));
  };
  const std::pair<int, double> slow_at_8(8, 8 / 0.048);
  for (const std::string events :
       {"{at_microbatch: 50, microbatch_size: 8}, {at_microbatch: 100, model: slow.yaml}",
        "{at_microbatch: 100, model: slow.yaml}, {at_microbatch: 50, microbatch_size: 8}",
        "{at_microbatch: 50, model: slow.yaml}, {at_microbatch: 100, microbatch_size: 8}",
        "{at_microbatch: 100, microbatch_size: 8}, {at_microbatch: 100, model: slow.yaml}"}) {
    CAPTURE(events);
    const auto [size, rate] = sizes_and_rates(events);
    CHECK(size == slow_at_8.first);
    CHECK(rate == doctest::Approx(slow_at_8.second));
  }
}

// An iteration has 8 microbatches. Of the events at 3 and 5 that change the model, the latter holds from 8 on; the size
// of 3 holds with it. That of 9 would begin with 16, where the run ends.
TEST_CASE("model change: a model or a size that never begins has not happened") {
  const Search search;
  const std::string events =
      "{at_microbatch: 3, model: slow.yaml}, {at_microbatch: 3, microbatch_size: 4}, {at_microbatch: 5, model: "
      "first.yaml}, {at_microbatch: 9, microbatch_size: 2}, {at_microbatch: 9, device: p, slowdown: 1}, "
      "{at: 100 s, device: p, slowdown: 2}";
  for (const char* engine : {"replay", "evaluate"}) {
    CAPTURE(engine);
    const auto told = [&](const std::string& iterations) {
      return search.answer("flushed.yaml", events, {"--iterations", iterations, "--engine", engine})["events"];
    };
    CHECK(told("1")["never_happen"] == Json({0, 1, 2, 3, 4, 5}));
    CHECK(told("2")["never_happen"] == Json({0, 3, 5}));
    CHECK(told("3")["never_happen"] == Json({0, 5}));
    const Json happened = told("2")["happened"];
    REQUIRE(happened.size() == 3);
    CHECK(happened[0]["event"] == 1);
    CHECK(happened[1]["event"] == 2);
    CHECK(happened[2]["event"] == 4);
  }
  const std::string begins =
      "a model or a size begins with the next iteration or round, unless the run ends before or another one begins "
      "with it\n";
  const std::string one = "{at_microbatch: 3, microbatch_size: 4}";
  CHECK(search.ran("flushed.yaml", one, {})
            .out.find("events: 1, of which 1 never happens (at microbatch 3): " + begins) != std::string::npos);
  const std::string both = search.ran("flushed.yaml", one + ", {at: 100 s, device: p, slowdown: 2}", {}).out;
  CHECK(both.find(
            "events: 2, of which 2 never happen (at microbatch 3, at 100 s): the run ends after 8 microbatches, at ") !=
        std::string::npos);
  CHECK(both.find("; " + begins) != std::string::npos);
}

TEST_CASE("model change: what cannot be is refused") {
  const Search search;
  const auto refused = [&](const std::string& events, const std::vector<std::string>& more = {}) {
    const Ran result = search.ran("plan.yaml", events, more);
    CHECK(result.code == 2);
    CHECK(result.out.empty());
    return result.err;
  };
  CHECK(refused("{at_microbatch: 10, model: other.yaml}").find("stage 2 of the plan has none") != std::string::npos);
  CHECK(refused("{at_microbatch: 10, model: nowhere.yaml}").find("events.yaml:2:") != std::string::npos);
  CHECK(refused("{at_microbatch: 0, model: slow.yaml}").find("at least 1") != std::string::npos);
  CHECK(refused("{at: 1 s, model: slow.yaml}").find("at_microbatch") != std::string::npos);
  CHECK(refused("{at_microbatch: 9, model: slow.yaml}, {at_microbatch: 9, model: long.yaml}").find("two models") !=
        std::string::npos);
  CHECK(refused("{at: 1 s, microbatch_size: 4}").find("at_microbatch") != std::string::npos);
  CHECK(refused("{at_microbatch: 9, microbatch_size: 4}, {at_microbatch: 9, microbatch_size: 8}").find("two sizes") !=
        std::string::npos);
  search.write("wide.yaml",
               "schema: stagecraft/model/1\nmodel: wide\ndevice: A\nmicrobatch_size: 2\nsource: made up\n"
               "input: 3 MB\nlayers:\n  - {name: a, forward: 1 ms, backward: 2 ms, parameters: 1 MB, output: 0 B}\n");
  CHECK(refused("{at_microbatch: 10, model: wide.yaml}").find("other inputs") != std::string::npos);
  search.write("divided.yaml",
               "schema: stagecraft/plan/1\nmicrobatch_size: 2\nmicrobatches: 40\nschedule: {name: pipedream}\nstages:\n"
               "  - {layers: [a, b, c, d], devices: [p, q], replication: split}\n"
               "  - {layers: [e, f, g, h], devices: [r]}\n");
  const Ran divided = search.ran("divided.yaml", "{at_microbatch: 10, microbatch_size: 1}", {});
  CHECK(divided.code == 2);
  CHECK(divided.err.find("stage 0 of the plan divides microbatches over 2 devices") != std::string::npos);
}

}  // namespace stagecraft
