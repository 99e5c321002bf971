// `compare --vary`, run as a user runs it.
#include "tests/experiments/commands/toy.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace stagecraft {
namespace {

using Json = nlohmann::json;

std::vector<std::string> vary(const std::string& planners, std::vector<std::string> more = {}) {
  more.insert(more.end(), {"--planners", planners, "--vary", "--no-timings", "--json"});
  return more;
}

/// The throughput of a planner in the ranking of that name.
double throughput(const Json& rankings, const std::string& variation, const std::string& planner) {
  for (const Json& ranking : rankings) {
    if (ranking["variation"] != variation) continue;
    for (const Json& plan : ranking["plans"]) {
      if (plan["planner"] == planner) return plan["throughput_samples_per_s"].get<double>();
    }
  }
  return 0.0;
}

}  // namespace

// GPipe's plan has one layer on each device: 9 forwards and backwards of 30 ms one after the other, and a tensor of
// 1 MB there and back, 1 ms each. Batches of 8 microbatches of 4 samples.
TEST_CASE("compare --vary: figures by hand on an explicit platform, with both engines") {
  const Toy toy;
  for (const char* engine : {"evaluate", "replay"}) {
    CAPTURE(engine);
    const Ran ran = toy.on("compare", vary("gpipe,data-parallel",
                                           {"--set", "gpipe.replicas=1", "--engine", engine, "--microbatches", "8"}));
    REQUIRE(ran.code == 0);
    const Json json = Json::parse(ran.out)["models"][0]["sensitivity"];
    const auto time = [&](const std::string& name) { return 32 / throughput(json["variations"], name, "gpipe"); };
    CHECK(time("bandwidth x 0.5") == doctest::Approx(0.27 + 2 * 0.002).epsilon(1e-9));
    CHECK(time("bandwidth x 2") == doctest::Approx(0.27 + 2 * 0.0005).epsilon(1e-9));
    CHECK(time("compute x 0.8") == doctest::Approx(0.27 * 1.25 + 2 * 0.001).epsilon(1e-9));
    CHECK(time("compute x 1.25") == doctest::Approx(0.27 * 0.8 + 2 * 0.001).epsilon(1e-9));
    CHECK(time("collective efficiency x 0.5") == doctest::Approx(0.27 + 2 * 0.001).epsilon(1e-9));
    CHECK(json["variations"].size() == 10);  // no nodes, and no latency that could be ten times as long
    // 4 microbatches of 60 ms on each device, then an all-reduce of 2 MB: a half of it, twice, over 1 GB/s each way.
    const auto other = [&](const std::string& name) {
      return 32 / throughput(json["variations"], name, "data-parallel");
    };
    CHECK(other("compute x 0.8") == doctest::Approx(0.3 + 0.002).epsilon(1e-9));
    CHECK(other("bandwidth x 0.5") == doctest::Approx(0.24 + 0.004).epsilon(1e-9));
    CHECK(other("collective efficiency x 0.5") == doctest::Approx(0.24 + 0.004).epsilon(1e-9));
    CHECK(json["winner"] == "data-parallel");
    CHECK(json["survives"] == true);
    CHECK(json["survived"] == 10);
    CHECK(json["given"]["survives"] == true);
    CHECK(json["given"]["lead"].get<double>() == doctest::Approx(0.272 / 0.242 - 1).epsilon(1e-9));
    CHECK(json["given"]["regret"] == 1.0);
  }
}

TEST_CASE("compare --vary: the variation is what a platform file with other links says") {
  const Toy toy;
  const std::vector<std::string> choices = vary("uniform,data-parallel", {"--microbatches", "8"});
  const Json varied = Json::parse(toy.on("compare", choices).out)["models"][0]["sensitivity"];
  std::string text = read(toy.platform);
  text.replace(text.find("1 GBps"), 6, "2 GBps");
  write(toy.platform, text);
  const Json wider = Json::parse(toy.on("compare", choices).out)["models"][0];
  for (const Json& row : wider["rows"]) {
    const double expected = row["simulation"]["throughput_samples_per_s"].get<double>();
    CHECK(throughput(varied["variations"], "bandwidth x 2", row["planner"].get<std::string>()) ==
          doctest::Approx(expected).epsilon(1e-9));
  }
}

TEST_CASE("compare --vary: without it there is no sensitivity, and with fewer than two plans it is null") {
  const Toy toy;
  const Json without = Json::parse(toy.on("compare", {"--planners", "gpipe,data-parallel", "--json"}).out)["models"][0];
  CHECK_FALSE(without.contains("sensitivity"));
  std::string text = read(toy.platform);
  text.replace(text.find("100 MB"), 6, "1 MB");
  write(toy.platform, text);
  const Ran none = toy.on("compare", vary("gpipe,data-parallel"));
  CHECK(none.code == 3);
  CHECK(Json::parse(none.out)["models"][0]["sensitivity"].is_null());
  const Ran told = toy.on("compare", {"--planners", "gpipe,data-parallel", "--vary"});
  CHECK(
      told.out.ends_with("there is no sensitivity to show, since fewer than two plans run with sufficient memory.\n"));
}

TEST_CASE("compare --vary: the last line says whether the winner survives") {
  const Toy toy;
  const Ran ran =
      toy.on("compare", {"--planners", "gpipe,data-parallel", "--set", "gpipe.replicas=1", "--vary", "--no-timings"});
  CHECK(ran.out.ends_with("\ndata-parallel survives all 10 variations.\n"));
}

}  // namespace stagecraft
