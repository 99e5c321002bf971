// What `export` has in common for all formats: its files, standard output, and windows.
#include "tests/experiments/commands/told_run.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace stagecraft {
namespace {

TEST_CASE("export: a trace for Chrome is that of simulate --trace") {
  const Toy toy;
  const test::PlanOnDisk plan = test::on_disk(toy);
  const std::vector<std::string> more{"--trace", "-", "--timeline-window", "15 ms..40 ms", "--engine", "evaluate"};
  CHECK(plan.exported("chrome") == run(plan.of("simulate", {"--trace", "-"})).out);
  CHECK(plan.exported("chrome", {more.begin() + 2, more.end()}) == run(plan.of("simulate", more)).out);
  CHECK(plan.exported("chrome", {"--json"}) == plan.exported("chrome"));
}

TEST_CASE("export: a file has what standard output has, and replaces a file of its kind only") {
  const Toy toy;
  const test::PlanOnDisk plan = test::on_disk(toy);
  for (const std::string format : {"chrome", "perfetto", "paje"}) {
    CAPTURE(format);
    const std::string file = toy.file("run." + format);
    const auto write_it = [&] { return run(plan.of("export", {"--to", format, "-o", file})); };
    const Ran first = write_it();
    CHECK(first.out == "written to " + file + "\n");
    CHECK(read(file) == plan.exported(format));
    CHECK(write_it().code == 0);
    for (const std::string other : {"chrome", "perfetto", "paje"}) {
      if (other == format) continue;
      CHECK(run(plan.of("export", {"--to", other, "-o", file})).code == 2);
    }
    CHECK(read(file) == plan.exported(format));
    write(file, "notes\n");
    CHECK(write_it().code == 2);
    CHECK(read(file) == "notes\n");
    CHECK(run(plan.of("export", {"--to", format, "-o", toy.plan})).code == 2);
  }
  CHECK(read(toy.plan).starts_with("schema: "));
}

TEST_CASE("export: --json names the files") {
  const Toy toy;
  const test::PlanOnDisk plan = test::on_disk(toy);
  const std::string prefix = toy.file("run");
  const auto answer = nlohmann::json::parse(run(plan.of("export", {"--to", "chakra", "-o", prefix, "--json"})).out);
  CHECK(answer == nlohmann::json{{"format", "chakra"}, {"files", {prefix + ".0.et", prefix + ".1.et"}}});
}

TEST_CASE("export: standard output is not both a trace and a JSON document") {
  const Toy toy;
  const test::PlanOnDisk plan = test::on_disk(toy);
  for (const std::string format : {"perfetto", "paje"}) {
    const Ran ran = run(plan.of("export", {"--to", format, "-o", "-", "--json"}));
    CHECK(ran.code == 2);
    const std::string message = nlohmann::json::parse(ran.out)["error"]["message"];
    CHECK(message == "--json: a trace for " + format + " is no JSON document, which standard output would be");
    CHECK(run(plan.of("export", {"--to", format, "-o", toy.file(format), "--json"})).code == 0);
  }
}

TEST_CASE("export: a plan that runs out of memory is exported with a note") {
  const Toy toy;
  toy.write_plan("200");  // 1 MB of stash each, on devices of 100 MB
  const test::PlanOnDisk plan = test::on_disk(toy);
  REQUIRE(run(plan.of("simulate", {})).code == 3);
  const Ran ran = run(plan.of("export", {"--to", "paje", "-o", "-"}));
  CHECK(ran.code == 0);
  CHECK(ran.err.find("note: the plan runs out of memory") != std::string::npos);
}

}  // namespace
}  // namespace stagecraft
