#include "experiments/view/svg_timeline.hpp"

#include "tests/experiments/commands/toy.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <regex>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

using Json = nlohmann::json;

struct Drawn {
  std::string kind;
  double x = 0.0;
  double width = 0.0;
};

/// The operations of a picture; its legend has no width of two decimals.
std::vector<Drawn> operations_in(const std::string& svg) {
  const std::regex pattern(R"re(<rect class="([a-z])" x="([0-9.]+)" y="[0-9.]+" width="([0-9]+\.[0-9]{2})")re");
  std::vector<Drawn> found;
  for (auto it = std::sregex_iterator(svg.begin(), svg.end(), pattern); it != std::sregex_iterator(); ++it) {
    found.push_back({(*it)[1], std::stod((*it)[2]), std::stod((*it)[3])});
  }
  return found;
}

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

std::string drawn(const Toy& toy, std::vector<std::string> choices = {}) {
  const std::string file = toy.file("run.svg");
  choices.insert(choices.end(), {"--picture", file});
  REQUIRE(toy.on("simulate", choices).code == 0);
  return read(file);
}

}  // namespace

TEST_CASE("--picture: every computation of each device, where it ran") {
  const Toy toy;
  const std::string svg = drawn(toy);
  const Json told = Json::parse(toy.on("simulate", {"--json", "--timeline"}).out);
  std::vector<double> expected;
  double end = 0.0;
  for (const Json& op : told["timeline"]) end = std::max(end, op["end_s"].get<double>());
  for (const Json& op : told["timeline"]) {
    if (op["op"] != "forward" && op["op"] != "backward") continue;
    expected.push_back(100 + 892 * op["start_s"].get<double>() / end);
  }
  std::vector<double> starts;
  for (const Drawn& operation : operations_in(svg)) {
    if (operation.kind == "f" || operation.kind == "b") starts.push_back(operation.x);
  }
  std::ranges::sort(expected);
  std::ranges::sort(starts);
  REQUIRE(starts.size() == expected.size());
  for (std::size_t i = 0; i < starts.size(); ++i) CHECK(starts[i] == doctest::Approx(expected[i]).epsilon(1e-3));
  for (const Json& device : told["devices"])
    CHECK(occurrences(svg, ">" + device["name"].get<std::string>() + "<") == 1);
}

TEST_CASE("--picture: a window has its part, and long runs stay small") {
  const Toy toy;
  const std::string part = drawn(toy, {"--timeline-window", "15 ms..16 ms"});
  CHECK(operations_in(part).size() < operations_in(drawn(toy)).size());
  CHECK(drawn(toy, {"--iterations", "4000"}).size() < 40'000);
}

TEST_CASE("--picture: of more than 24 devices, the replicas of a stage share a row") {
  const Toy toy;
  const auto picture = [&](const std::string& replicas) {
    const std::string plan = toy.file("wide.yaml");
    REQUIRE(run({"plan", "--model", "bert-large", "--platform", "dgx-a100-80gb", "--planner", "gpipe", "--microbatches",
                 "64", "--set", "stages=4,replicas=" + replicas, "-o", plan})
                .code == 0);
    const std::string file = toy.file("wide.svg");
    REQUIRE(run({"simulate", plan, "--engine", "evaluate", "--picture", file}).code == 0);
    return read(file);
  };
  const std::string many = picture("16");  // 64 devices
  CHECK(occurrences(many, "class=\"row\"") == 4);
  CHECK(occurrences(many, " +15</text>") == 4);
  const std::string few = picture("6");  // 24 devices
  CHECK(occurrences(few, "class=\"row\"") == 24);
}

/// The units that each kind takes in each row of a folded picture, by class and row, and the shapes that it has.
struct Folded {
  std::map<std::pair<std::string, std::string>, int> units;
  std::size_t shapes = 0;

  explicit Folded(const std::string& svg) {
    const std::regex path(R"re(<path class="([a-z])" d="(M[^"]*)"/>)re");
    const std::regex shape(R"re(M[0-9]+ ([0-9]+)h([0-9]+)v20h-([0-9]+)z)re");
    for (auto it = std::sregex_iterator(svg.begin(), svg.end(), path); it != std::sregex_iterator(); ++it) {
      const std::string shown = (*it)[2];
      for (auto at = std::sregex_iterator(shown.begin(), shown.end(), shape); at != std::sregex_iterator(); ++at) {
        CHECK((*at)[2] == (*at)[3]);
        units[{(*it)[1], (*at)[1]}] += std::stoi((*at)[2]);
        ++shapes;
      }
    }
  }
};

TEST_CASE("--picture: a long run has a bounded number of shapes, as wide as its kinds are long") {
  const Toy toy;
  constexpr int kUnits = 892;
  for (const int iterations : {100, 2000}) {
    const std::vector<std::string> length{"--iterations", std::to_string(iterations)};
    const Folded folded(drawn(toy, length));
    CHECK(folded.shapes > 0);
    CHECK(folded.shapes <= 2 * kUnits);  // two devices
    CHECK(folded.units.size() == 4);     // each computes forwards and backwards
    const Json told = Json::parse(toy.on("simulate", {length[0], length[1], "--json"}).out);
    const double whole = told["iteration_time_s"].get<double>() * iterations;
    for (const auto& [which, units] : folded.units) {
      const double busy = iterations * 8 * (which.first == "f" ? 0.01 : 0.02);
      CHECK(std::abs(units - kUnits * busy / whole) <= 2);
    }
  }
}

TEST_CASE("--picture: names with markup are texts") {
  const Toy toy;
  toy.rename_device("</text><script>&");
  const std::string svg = drawn(toy);
  CHECK(occurrences(svg, "&lt;/text&gt;&lt;script&gt;&amp;") == 1);
  CHECK(occurrences(svg, "<script") == 0);
}

}  // namespace stagecraft
