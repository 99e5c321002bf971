// `--output`: which files are replaced, and what `-` prints.
#include "tests/experiments/commands/toy.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace stagecraft {
namespace {

Ran planned(const Toy& toy, const std::string& output, std::vector<std::string> more = {}) {
  more.insert(more.end(), {"--planner", "gpipe", "--microbatches", "4", "--no-timings", "-o", output});
  return toy.on("plan", more);
}

}  // namespace

TEST_CASE("--output: a file of another kind stays as it is") {
  const Toy toy;
  const std::string notes = toy.file("notes.txt");
  write(notes, "a schema: of my own\n");
  for (const std::string& file : {toy.platform, notes}) {
    const std::string before = read(file);
    CHECK(planned(toy, file).code == 2);
    CHECK(read(file) == before);
  }
}

TEST_CASE("--output: a plan replaces a plan in either notation, and an empty file") {
  const Toy toy;
  const std::string yaml = toy.file("other.yaml");
  const std::string json = toy.file("other.json");
  write(yaml, "");
  write(json, "");
  for (int round = 0; round < 2; ++round) {
    CHECK(planned(toy, yaml).code == 0);
    CHECK(planned(toy, json).code == 0);
  }
  CHECK(read(yaml).starts_with("schema: stagecraft/plan/"));
  CHECK(nlohmann::json::parse(read(json)).contains("stages"));
}

TEST_CASE("--output -: the plan is all that standard output gets") {
  const Toy toy;
  const std::string file = toy.file("other.yaml");
  REQUIRE(planned(toy, file).code == 0);
  const Ran printed = planned(toy, "-");
  CHECK(printed.code == 0);
  CHECK(printed.out == read(file));
  CHECK(nlohmann::json::parse(planned(toy, "-", {"--json"}).out).contains("stages"));
}

TEST_CASE("--output -: without a plan standard output stays empty") {
  const Toy toy;
  const Ran none = planned(toy, "-", {"--microbatch-size", "1000000", "--memory", "keep"});
  CHECK(none.code == 3);
  CHECK(none.out.empty());
  CHECK(none.err.find("no plan") != std::string::npos);
}

}  // namespace stagecraft
