// The table of `compare`: its order, marks, width and columns, and the plans that it keeps.
#include "experiments/view/text_width.hpp"
#include "tests/experiments/commands/toy.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace stagecraft::compare_rows_test {
namespace {

using Json = nlohmann::json;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> on_cluster(const std::vector<std::string>& more) {
  std::vector<std::string> arguments{"compare",     "--model", "vgg16-blocks", "--platform", "pipedream-cluster-a",
                                     "--no-timings"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

/// Where a row belongs: fitting plans first, of these the fastest.
std::pair<std::ptrdiff_t, double> rank_of(const Json& row) {
  const std::vector<std::string> best_first = {"ok", "out_of_memory", "infeasible", "refused"};
  const Json& simulation = row.contains("simulation") ? row["simulation"] : row;
  const auto outcome = std::ranges::find(best_first, simulation["outcome"].get<std::string>());
  REQUIRE(outcome != best_first.end());
  const bool runs = row.contains("simulation");
  return {outcome - best_first.begin(), runs ? -simulation["throughput_samples_per_s"].get<double>() : 0.0};
}

TEST_CASE("compare: the best row is first, whatever order the planners are named in") {
  for (const char* planners : {"data-parallel,spp,pipedream,uniform", "uniform,pipedream,spp,data-parallel"}) {
    CAPTURE(planners);
    const Json model = Json::parse(run(on_cluster({"--planners", planners, "--json"})).out)["models"][0];
    REQUIRE(model["rows"].size() == 4);
    CHECK(std::ranges::is_sorted(model["rows"], {}, &rank_of));
    CHECK(model["best"] == model["rows"][0]["planner"]);
    CHECK_FALSE(model.contains("complete"));
  }
}

TEST_CASE("compare: a line below the table says which plans leave devices idle, where some do") {
  const Toy toy;
  const std::vector<std::string> planners{"--planners", "uniform,data-parallel", "--no-timings"};
  CHECK(toy.on("compare", planners).out.find("stand idle") == std::string::npos);
  std::vector<std::string> one_device = planners;
  one_device.insert(one_device.end(), {"--set", "uniform.stages=1", "--set", "uniform.replicas=1"});
  CHECK(toy.on("compare", one_device).out.find("\nuniform: 1 of 2 devices stand idle\n") != std::string::npos);
}

TEST_CASE("compare: rows without memory or plan come last, and none of them is the best") {
  const Toy toy;
  const std::vector<std::string> huge{"--planners", "uniform,data-parallel", "--training", "optimizer_copies=98",
                                      "--json"};
  const Json model = Json::parse(toy.on("compare", huge).out)["models"][0];
  CHECK(std::ranges::is_sorted(model["rows"], {}, &rank_of));
  const Ran none = toy.on("compare", {"--planners", "uniform", "--microbatch-size", "4000", "--json"});
  CHECK(none.code == 3);
  CHECK(Json::parse(none.out)["models"][0]["best"].is_null());
}

TEST_CASE("compare: the best plan with a flush and the best one without are marked") {
  const Ran ran = run(on_cluster({"--planners", "data-parallel,spp,pipedream,uniform"}));
  std::vector<std::string> marked;
  for (const std::string& line : lines_of(ran.out)) {
    if (line.starts_with("> ") && !line.starts_with("> the most")) marked.push_back(line);
  }
  REQUIRE(marked.size() == 2);
  CHECK(std::ranges::count_if(marked, [](const std::string& line) { return line.starts_with("> pipedream *"); }) == 1);
}

TEST_CASE("compare: rows that show the same samples/s as the best one are marked too") {
  const auto marked = [](const std::string& planners) {
    std::set<std::string> names;
    const Ran ran = run({"compare", "--model", "bert-large", "--platform", "dgx-1-v100", "--planners", planners});
    for (const std::string& line : lines_of(ran.out)) {
      if (line.starts_with("> ") && !line.starts_with("> the most"))
        names.insert(line.substr(2, line.find(' ', 2) - 2));
    }
    CHECK((ran.out.find("; several rows show the same\n") != std::string::npos) == (names.size() > 1));
    return names;
  };
  CHECK(marked("uniform,dapple,gpipe") == std::set<std::string>{"uniform", "dapple"});  // both: the whole model on each
  CHECK(marked("uniform,gpipe") == std::set<std::string>{"uniform"});
}

TEST_CASE("compare: the first screen has eight columns and is at most 100 wide, with --wide come the others") {
  const Ran narrow = run(on_cluster({}));
  REQUIRE(narrow.code == 0);
  for (const std::string& line : lines_of(narrow.out)) {
    CAPTURE(line);
    CHECK(width_of(line) <= 100);
  }
  const auto header_of = [](const Ran& ran) {
    const std::vector<std::string> lines = lines_of(ran.out);
    const auto line = std::ranges::find_if(lines, [](const auto& each) { return each.starts_with("  planner"); });
    REQUIRE(line != lines.end());
    return *line;
  };
  std::istringstream words(header_of(narrow));
  const std::vector<std::string> header{std::istream_iterator<std::string>(words), {}};
  CHECK(header ==
        std::vector<std::string>{"planner", "replicas", "devices", "samples/s", "bubble", "memory", "saves", "claim"});
  const std::string wide = header_of(run(on_cluster({"--wide", "--planners", "spp,uniform"})));
  for (const char* column : {"schedule", "micro", "size", "update", "time", "evaluated", "x best", "outcome"}) {
    CAPTURE(column);
    CHECK(wide.find(column) != std::string::npos);
  }
}

TEST_CASE("compare: what several rows have to say is said once") {
  const Toy toy;
  const Ran none = toy.on("compare", {"--schedule", "interleaved"});
  CHECK(none.code == 2);
  CHECK(none.err.find("unknown schedule") == none.err.rfind("unknown schedule"));
  const Ran lacking = toy.on("compare", {"--planners", "uniform,data-parallel", "--microbatch-size", "4000"});
  CHECK(lacking.code == 3);
  CHECK(lacking.out.find("\nuniform, data-parallel: device 'a' would need ") != std::string::npos);
}

TEST_CASE("compare: rows whose runs were simulated until their state came again say so, and no others") {
  const Toy toy;
  const auto table = [&](const char* microbatches) {
    return toy.on("compare", {"--planners", "uniform,gpipe", "--microbatches", microbatches}).out;
  };
  const std::string line = "simulated until the state of the run came again\n";
  CHECK(table("1024").find("\nuniform: " + line) != std::string::npos);
  CHECK(table("1023").find(line) == std::string::npos);
}

TEST_CASE("compare --save: keeps the plans that plan makes, for each model in a folder of its own") {
  const Toy toy;
  const std::string folder = toy.file("plans");
  const Ran ran = toy.on("compare", {"--planners", "uniform,gpipe", "--save", folder, "--json"});
  REQUIRE(ran.code == 0);
  for (const Json& row : Json::parse(ran.out)["models"][0]["rows"]) {
    const std::string planner = row["planner"];
    CAPTURE(planner);
    CHECK(row["file"] == folder + "/" + planner + ".yaml");
    REQUIRE(toy.on("plan", {"--planner", planner, "-o", toy.file("alone.yaml")}).code == 0);
    CHECK(read(row["file"]) == read(toy.file("alone.yaml")));
  }
  const Ran two = run({"compare", "--model", "bert-large", "--model", "vgg16-blocks", "--platform", "dgx-1-v100",
                       "--planners", "uniform", "--save", toy.file("two")});
  CHECK(two.code == 0);
  CHECK(std::filesystem::exists(toy.file("two/bert-large/uniform.yaml")));
  CHECK(std::filesystem::exists(toy.file("two/vgg16/uniform.yaml")));
}

TEST_CASE("compare --save: where a plan cannot be kept, the rows are printed and the code is 2") {
  const Toy toy;
  const std::string folder = toy.file("plans");
  std::filesystem::create_directory(folder);
  std::filesystem::create_symlink("/dev/full", folder + "/gpipe.yaml");
  const Ran ran = toy.on("compare", {"--planners", "uniform,gpipe", "--save", folder});
  CHECK(ran.code == 2);
  CHECK(ran.out.find("samples/s") != std::string::npos);
  CHECK(ran.err.find("the plan of gpipe is not kept: ") != std::string::npos);
  CHECK(std::filesystem::exists(folder + "/uniform.yaml"));
}

TEST_CASE("compare: the sign of the best row is explained where a row has it") {
  const Toy toy;
  CHECK(toy.on("compare", {"--planners", "uniform"}).out.find("\n> the most samples/s\n") != std::string::npos);
  const Ran none = toy.on("compare", {"--planners", "uniform,pipedream", "--microbatch-size", "4000"});
  CHECK(none.out.find("> the most") == std::string::npos);
}

TEST_CASE("compare --save: refuses before any work what it could not keep") {
  const Toy toy;
  const auto refused = [&](const std::vector<std::string>& more) {
    const Ran ran = toy.on("compare", more);
    CHECK(ran.code == 2);
    CHECK(ran.out.empty());
    return ran.err;
  };
  CHECK(refused({"--save", ""}).find("--save: expected the name of a folder") != std::string::npos);
  CHECK(refused({"--save", toy.model}).find("--save: cannot be made a folder") != std::string::npos);
  CHECK(refused({"--save", toy.file("twice"), "--model", toy.model}).find("two plans would be") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(toy.file("twice")));
  std::filesystem::create_directory(toy.file("kept"));
  write(toy.file("kept/uniform.yaml"), "notes: mine\n");
  CHECK_FALSE(refused({"--save", toy.file("kept"), "--planners", "uniform"}).empty());
  CHECK(read(toy.file("kept/uniform.yaml")) == "notes: mine\n");
}

}  // namespace
}  // namespace stagecraft::compare_rows_test
