#include "experiments/run/run_cost.hpp"

#include "experiments/run/work_rates.hpp"
#include "experiments/view/cost_view.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/report.hpp"
#include "tests/experiments/commands/toy.hpp"
#include "tests/experiments/study/result_reading.hpp"
#include "tests/planners/fixtures.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

using Json = nlohmann::json;

/// Devices of a kind at 2.5 an hour, of one at 4.7, and of the first again.
Platform priced_platform(std::optional<double> second = 4.7) {
  PlatformSpec spec = testing::flat_platform(3).spec;
  spec.device_kinds = {{"cheap", Bytes(1), 1.0, Bytes(0), std::nullopt, {}, {}, {}, 2.5},
                       {"dear", Bytes(1), 1.0, Bytes(0), std::nullopt, {}, {}, {}, second}};
  std::get<ExplicitForm>(spec.form).devices[DeviceId(1)].kind = DeviceKindId(1);
  return build_platform(spec);
}

/// Iterations of half a second with 10 samples per second, on so many devices.
Report half_seconds(std::size_t devices) {
  Report report;
  report.throughput = 10.0;
  report.iterations = {Seconds(0.7), Seconds(0.5)};
  for (std::size_t i = 0; i < devices; ++i) report.devices.emplace_back().device = DeviceId(i);
  for (DeviceReport& device : report.devices) device.bubble_ratio = 0.1;
  return report;
}

/// Two devices at 2 and 5.2 an hour, which are 0.002 a second, and one at 100 that no plan of two stages uses.
struct PricedToy : Toy {
  PricedToy() {
    write(platform, R"(schema: stagecraft/platform/1
platform: priced
device_kinds:
  A: {memory: 100 MB, speed: 1, price: 2}
  B: {memory: 100 MB, speed: 1, price: 5.2}
  C: {memory: 100 MB, speed: 1, price: 100}
devices: [{name: a, kind: A}, {name: b, kind: B}, {name: c, kind: C}]
default_link: {bandwidth: 1 GBps, latency: 0}
)");
  }
};

}  // namespace

// 2.5 + 4.7 an hour are 0.002 a second: 0.001 in half a second, 0.0002 for each sample of a tenth.
TEST_CASE("run cost: the prices of the devices add up over kinds") {
  const RunCost cost = run_cost(priced_platform(), half_seconds(2), WorkRates{.tokens_per_second = 5000.0});
  CHECK(*cost.of_iteration == doctest::Approx(0.001));
  CHECK(*cost.of_million_samples == doctest::Approx(200.0));
  CHECK(*cost.of_billion_tokens == doctest::Approx(400.0));
  CHECK(cost.devices == 2);
  CHECK(cost.of_devices == 3);
}

TEST_CASE("run cost: devices that the measured part does not count cost nothing") {
  Report report = half_seconds(3);
  CHECK(*run_cost(priced_platform(), report, {}).of_iteration == doctest::Approx(9.7 / 3600 * 0.5));
  report.devices[1].bubble_ratio.reset();
  CHECK(*run_cost(priced_platform(), report, {}).of_iteration == doctest::Approx(5.0 / 3600 * 0.5));
  CHECK(*run_cost(priced_platform(std::nullopt), report, {}).of_iteration == doctest::Approx(5.0 / 3600 * 0.5));
}

TEST_CASE("run cost: what is not known is left out, and a price of zero is known") {
  CHECK(run_cost(priced_platform(std::nullopt), half_seconds(2), {}) == RunCost{});
  CHECK(run_cost(priced_platform(), Report(), {}) == RunCost{});
  CHECK(run_cost(priced_platform(0.0), half_seconds(2), {}).of_million_samples ==
        doctest::Approx(2.5 / 3600 / 10 * 1e6));
  Report periodic = half_seconds(2);
  periodic.iterations.clear();
  periodic.period = Seconds(0.1);
  const RunCost cost = run_cost(priced_platform(), periodic, {});
  CHECK_FALSE(cost.of_iteration.has_value());
  CHECK_FALSE(cost.of_billion_tokens.has_value());
  CHECK(*cost.of_million_samples == doctest::Approx(200.0));
}

TEST_CASE("run cost: the line has tokens where they are known, and says how many devices count") {
  CHECK(cost_line({0.001, 400.0, 200.0, 2, 3}) == "cost: 0.001 per iteration, 400 per 10^9 tokens (2 of 3 devices)\n");
  CHECK(cost_line({0.001, std::nullopt, 200.0, 3, 3}) == "cost: 0.001 per iteration, 200 per 10^6 samples\n");
  CHECK(cost_line({std::nullopt, std::nullopt, 200.0, 3, 3}) == "cost: 200 per 10^6 samples\n");
  CHECK(cost_line({}).empty());
}

TEST_CASE("run cost: commands print the iteration time times the prices of the plan's devices") {
  const PricedToy toy;
  const std::string line = " (2 of 3 devices)\n";
  const Json simulated = Json::parse(toy.on("simulate", {"--json"}).out);
  const double samples_per_second = simulated["throughput_samples_per_s"];
  CHECK(simulated["cost_per_iteration"].get<double>() ==
        doctest::Approx(simulated["iteration_time_s"].get<double>() * 0.002));
  CHECK(simulated["cost_per_million_samples"].get<double>() == doctest::Approx(0.002 / samples_per_second * 1e6));
  CHECK_FALSE(simulated.contains("cost_per_billion_tokens"));
  CHECK(toy.on("simulate").out.find(" per 10^6 samples" + line) != std::string::npos);
  const std::vector<std::string> two = {"--planner", "uniform", "--set", "uniform.stages=2", "--microbatches", "8"};
  std::vector<std::string> as_json = two;
  as_json.emplace_back("--json");
  for (const char* verb : {"plan", "max-batch"}) {
    CAPTURE(verb);
    CHECK(toy.on(verb, two).out.find("\ncost: ") != std::string::npos);
    const Json told = Json::parse(toy.on(verb, as_json).out);
    CHECK(told["cost_per_iteration"].get<double>() ==
          doctest::Approx(told["evaluated"]["iteration_time_s"].get<double>() * 0.002));
  }
}

TEST_CASE("run cost: a comparison has columns of costs with --wide, and only with prices") {
  const auto asked = [](const Toy& toy, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"--planners", "uniform", "--microbatches", "8"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return toy.on("compare", arguments).out;
  };
  PricedToy priced;
  CHECK(asked(priced, {}).find("cost") == std::string::npos);
  const std::string wide = asked(priced, {"--wide"});
  CHECK(wide.find("  cost/iteration  cost/10^6 samples  ") != std::string::npos);
  CHECK(wide.find("tokens") == std::string::npos);
  CHECK(wide.find("\ncost: of the devices that the plan uses") != std::string::npos);
  std::string known = read(priced.model);
  write(priced.model, known.replace(known.find("input:"), 0, "tokens: 500\n"));
  CHECK(asked(priced, {"--wide"}).find("  cost/iteration  cost/10^9 tokens  ") != std::string::npos);
  const Json row = Json::parse(asked(priced, {"--json"}))["models"][0]["rows"][0]["simulation"];
  CHECK(row["cost_per_billion_tokens"].get<double>() ==
        doctest::Approx(row["cost_per_million_samples"].get<double>() * 1e3 / 500));
  CHECK(asked(Toy(), {"--wide"}).find("cost") == std::string::npos);
}

TEST_CASE("run cost: results of studies have it where devices have prices") {
  const PricedToy toy;
  write(toy.file("study.yaml"), R"(schema: stagecraft/study/1
study: prices
base: {model: toy.yaml, platform: pair.yaml, microbatches: 8, planner: {name: uniform, stages: 2}}
matrix: {platform.device_kinds.A.price: [2, 9.2]}
columns: [cost_per_iteration]
)");
  REQUIRE(run({"run", toy.file("study.yaml"), "--out", toy.file("out")}).code == 0);
  CHECK(run({"report", toy.file("out")}).out.find("  cost per iteration  ") != std::string::npos);
  const std::vector<std::vector<std::string>> rows = read_csv(read(toy.file("out/results.csv")));
  REQUIRE(rows.size() == 3);
  const auto field = [&](std::size_t row, const std::string& name) {
    const auto column = std::ranges::find(rows[0], name) - rows[0].begin();
    return rows[row].at(static_cast<std::size_t>(column));
  };
  for (const auto& [row, of_second] : {std::pair(std::size_t{1}, 0.002), std::pair(std::size_t{2}, 0.004)}) {
    CHECK(std::stod(field(row, "cost_per_iteration")) ==
          doctest::Approx(std::stod(field(row, "iteration_time_s")) * of_second));
    CHECK(field(row, "cost_per_billion_tokens").empty());
    CHECK(std::stod(field(row, "cost_per_million_samples")) ==
          doctest::Approx(1e6 * of_second / std::stod(field(row, "throughput_samples_per_s"))));
  }
}

TEST_CASE("run cost: nothing is printed of devices without a price") {
  const Toy toy;
  CHECK(toy.on("simulate").out.find("cost: ") == std::string::npos);
  CHECK_FALSE(Json::parse(toy.on("simulate", {"--json"}).out).contains("cost_per_iteration"));
  const PricedToy priced;
  CHECK(run({"describe", priced.platform}).out.find("price/h") != std::string::npos);
  CHECK(run({"describe", toy.platform}).out.find("price/h") == std::string::npos);
  CHECK(Json::parse(run({"describe", priced.platform, "--json"}).out)["devices"][1]["price_per_hour"] == 5.2);
}

}  // namespace stagecraft
