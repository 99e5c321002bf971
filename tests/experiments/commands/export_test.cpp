// What `export` has in common for all formats: its files, standard output, and windows.
#include "tests/experiments/commands/told_run.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace stagecraft {
namespace {

TEST_CASE("export: a file has what standard output has, and replaces a file of its kind only") {
  const Toy toy;
  const test::PlanOnDisk plan = test::on_disk(toy);
  const std::string file = toy.file("run.pftrace");
  const auto write_it = [&](const std::string& to) { return run(plan.of("export", {"--to", "perfetto", "-o", to})); };
  CHECK(write_it(file).out == "written to " + file + "\n");
  CHECK(read(file) == plan.exported("perfetto"));
  CHECK(write_it(file).code == 0);
  write(file, "notes\n");
  CHECK(write_it(file).code == 2);
  CHECK(read(file) == "notes\n");
  CHECK(write_it(toy.plan).code == 2);
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
  const Ran ran = run(plan.of("export", {"--to", "perfetto", "-o", "-", "--json"}));
  CHECK(ran.code == 2);
  const std::string message = nlohmann::json::parse(ran.out)["error"]["message"];
  CHECK(message == "--json: a trace is no JSON document, which standard output would be");
  CHECK(run(plan.of("export", {"--to", "perfetto", "-o", toy.file("run.pftrace"), "--json"})).code == 0);
}

TEST_CASE("export: a table of PyTorch runs as the schedule that it was written from, and is written again as it was") {
  const Toy toy;
  const test::PlanOnDisk plan = test::on_disk(toy);
  const std::string table = toy.file("orders.csv");
  const auto exported = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"--to", "pytorch-csv"};
    words.insert(words.end(), more.begin(), more.end());
    return run(plan.of("export", words));
  };
  CHECK(exported({"-o", table}).out == "written to " + table + "\n");
  CHECK(exported({"-o", "-"}).out == read(table));
  CHECK(exported({"-o", "-", "--schedule-file", table}).out == read(table));
  const auto time = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"--json"};
    words.insert(words.end(), more.begin(), more.end());
    return nlohmann::json::parse(run(plan.of("simulate", words)).out).at("iteration_time_s");
  };
  CHECK(time({"--schedule-file", table}) == time({}));
  CHECK(exported({"-o", table}).code == 0);  // it replaces a table
  const Ran json = exported({"-o", "-", "--json"});
  CHECK(json.code == 2);
  CHECK(nlohmann::json::parse(json.out)["error"]["message"] ==
        "--json: a table is no JSON document, which standard output would be");
  const auto answer = nlohmann::json::parse(exported({"-o", table, "--json"}).out);
  CHECK(answer == nlohmann::json{{"format", "pytorch-csv"}, {"files", {table}}});
  CHECK(exported({"-o", table, "--schedule-file", table}).code == 2);  // it is read
}

TEST_CASE("export --sends: a table with sends and receives runs as the plan does under that rule") {
  const Toy toy;
  const test::PlanOnDisk plan = test::on_disk(toy);
  const std::string table = toy.file("orders.csv");
  REQUIRE(run(plan.of("export", {"--to", "pytorch-csv", "--sends", "stream", "-o", table})).code == 0);
  CHECK(read(table).find("0SEND_F0") != std::string::npos);
  const auto time = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"--json"};
    words.insert(words.end(), more.begin(), more.end());
    return nlohmann::json::parse(run(plan.of("simulate", words)).out).at("iteration_time_s").get<double>();
  };
  CHECK(time({"--schedule-file", table}) == time({"--sends", "stream"}));
  CHECK(time({"--schedule-file", table, "--sends", "eager"}) == time({}));
  CHECK(time({"--schedule-file", table, "--sends", "blocking"}) >= time({"--sends", "stream"}));
}

TEST_CASE("export: a plan that runs out of memory is exported with a note") {
  const Toy toy;
  toy.write_plan("200");  // 1 MB of stash each, on devices of 100 MB
  const test::PlanOnDisk plan = test::on_disk(toy);
  REQUIRE(run(plan.of("simulate", {})).code == 3);
  const Ran ran = run(plan.of("export", {"--to", "perfetto", "-o", "-"}));
  CHECK(ran.code == 0);
  CHECK(ran.err.find("note: the plan runs out of memory") != std::string::npos);
}

}  // namespace
}  // namespace stagecraft
