// Periodic schedules, as a user plans and simulates them.
#include "tests/experiments/commands/toy.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace stagecraft {
namespace {

using Json = nlohmann::json;

TEST_CASE("plan: a periodic schedule writes its pattern, which is then judged and simulated") {
  const Toy toy;
  const std::vector<std::string> words = {"--planner", "uniform", "--schedule", "1f1b-star,release=asap",
                                          "-o",        toy.plan,  "--json"};
  const Ran ran = toy.on("plan", words);
  REQUIRE(ran.code == 0);
  const Json json = Json::parse(ran.out);
  CHECK(json["plan"]["schedule"] == Json({{"name", "1f1b-star"}, {"release", "asap"}}));
  CHECK(json["plan"]["pattern"]["release"] == "asap");
  CHECK(json["plan"]["pattern"]["period"] == "0.03 s");
  CHECK(json["plan"]["pattern"]["operations"].size() == 6);
  CHECK(json["plan"]["microbatches"] == 22);
  // The cut takes 2 ms, which do not go into a period with 30 ms: three groups. 2 weights, 1 gradient, 2 optimizer
  // copies, 2 buffers.
  CHECK(json["stages"][0]["in_flight"] == 3);
  CHECK(json["predicted"]["peak_memory_bytes"] == Json({{"a", 10'000'000}, {"b", 8'000'000}}));
  CHECK(json["evaluated"]["peak_memory_bytes"] == json["predicted"]["peak_memory_bytes"]);
  CHECK(toy.on("check").code == 0);
  const Json simulated = Json::parse(toy.on("simulate", {"--json"}).out);
  CHECK(simulated["period_s"].get<double>() == doctest::Approx(0.030).epsilon(1e-9));
  CHECK(simulated["devices"][0]["in_flight_peak"] == 3);
}

TEST_CASE("simulate: a plan of a periodic schedule may leave its pattern out") {
  const Toy toy;
  write(toy.plan, R"(schema: stagecraft/plan/1
microbatch_size: 4
microbatches: 22
schedule: {name: 1f1b-star, period: 32 ms}
stages:
  - {layers: [first], devices: [a]}
  - {layers: [second], devices: [b]}
)");
  CHECK(toy.on("check").code == 0);
  const Json simulated = Json::parse(toy.on("simulate", {"--json"}).out);
  CHECK(simulated["period_s"].get<double>() == doctest::Approx(0.032).epsilon(1e-9));
  CHECK(simulated["devices"][0]["in_flight_peak"] == 2);  // the cut's 2 ms share a group with the last stage
  CHECK(simulated["converged"] == true);
  CHECK(simulated["least_period_s"].get<double>() <= 0.032);
  CHECK(simulated["samples_per_update"] == 4);
  CHECK(simulated["run_length"].get<int>() > 22);
  const Json rarely = Json::parse(toy.on("simulate", {"--json", "--samples-per-update", "12"}).out);
  CHECK(rarely["samples_per_update"] == 12);
  const Json exact = Json::parse(toy.on("simulate", {"--json", "--run-length", "30"}).out);
  CHECK(exact["run_length"] == 30);
  const Ran told = run({"describe", toy.plan, "--model", toy.model, "--platform", toy.platform});
  CHECK(told.code == 0);
}

}  // namespace
}  // namespace stagecraft
