// The command import kineto: its model, its JSON, and the memory that it takes.
#include "tests/experiments/commands/shell.hpp"
#include "tests/paths.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>

namespace stagecraft::import_kineto_test {
namespace {

using test::shell;

const std::string kTrace =
    (std::filesystem::path(STAGECRAFT_SOURCE_DIR) / "tests/vectors/commands/kineto_mlp.json").string();

TEST_CASE("import kineto: a model with the times and sizes of the trace") {
  const test::TemporaryFolder folder;
  const auto made =
      shell("$S import kineto " + kTrace + " --microbatch-size 64 --device A -o $D/a.json --json", folder.path());
  REQUIRE(made.code == 0);
  const auto said = nlohmann::json::parse(made.out);
  CHECK(said["written"]["layers"] == 2);
  CHECK(said["traces"][0]["kernels"]["time_s"].get<double>() == doctest::Approx(547e-6));
  CHECK(said["traces"][0]["unattributed"]["communication"]["kernels"] == 1);
  CHECK(said["transfers"][0]["alone_s"].get<double>() == doctest::Approx(80e-6));
  const auto model = nlohmann::json::parse(test::content_of(folder / "a.json"));
  CHECK(model["layers"][0]["name"] == "Linear_0");
  const auto printed = shell("$S import kineto " + kTrace + " --microbatch-size 64 --device A -o -", folder.path());
  CHECK(printed.out.find("origin: measured") != std::string::npos);
  CHECK(shell("$S describe $D/a.json", folder.path()).code == 0);
}

TEST_CASE("import kineto: a warning for a microbatch of another size than the trace's") {
  const test::TemporaryFolder folder;
  const std::string command = "$S import kineto " + kTrace + " --device A -o $D/a.json --microbatch-size ";
  const auto made = shell(command + "7", folder.path());
  CHECK(made.code == 0);
  CHECK(made.err.find("warning: the first dimension of the input of 'Linear_0' is 64, and --microbatch-size is 7") !=
        std::string::npos);
  CHECK(shell(command + "64", folder.path()).err.find("warning") == std::string::npos);
}

TEST_CASE("import kineto: two ranks have waiting and bandwidth") {
  const test::TemporaryFolder folder;
  const auto made = shell("sed 's/\"rank\": 0/\"rank\": 1/; s/\"ts\": 500, \"dur\": 80/\"ts\": 540, \"dur\": 40/' " +
                              kTrace + " > $D/b.json; $S import kineto " + kTrace + " $D/b.json --json",
                          folder.path());
  REQUIRE(made.code == 0);
  const auto transfer = nlohmann::json::parse(made.out)["transfers"][0];
  CHECK(transfer["kind"] == "allreduce");
  CHECK(transfer["operations"] == 1);
  CHECK(transfer["bytes"] == 2 * 131584 * 4);
  CHECK(transfer["waiting_s"].get<double>() == doctest::Approx(40e-6));
  CHECK(transfer["moving_s"].get<double>() == doctest::Approx(80e-6));
  const auto listed = shell("$S import kineto " + kTrace + " $D/b.json --timeline --json", folder.path());
  const auto timeline = nlohmann::json::parse(listed.out)["timeline"];
  REQUIRE(timeline.size() == 6);
  CHECK(timeline[0]["op"] == "forward");
  CHECK(timeline[0]["start_s"] == 0);
  CHECK(timeline[0]["end_s"].get<double>() == doctest::Approx(163.25e-6));
  CHECK(timeline[5]["op"] == "allreduce");
  CHECK(timeline[5]["from"] == "rank1");
  CHECK(timeline[5]["start_s"].get<double>() == doctest::Approx(520e-6));
  CHECK(transfer["bandwidth_bytes_per_second"].get<double>() == doctest::Approx(131584 * 4 / 40e-6));
}

/// The most memory that the program takes to import a trace with as many bytes of what is not needed, in KiB.
long memory_of(std::size_t bytes) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "a.json";
  {
    std::ofstream stream(path, std::ios::binary);
    stream << R"([{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":2})";
    const std::string event =
        ",\n"
        R"({"ph":"X","cat":"python_function","name":"module.py(1511): _call","pid":1,"tid":1,"ts":1,"dur":2})";
    for (std::size_t written = 0; written < bytes; written += event.size()) stream << event;
    stream << "]\n";
  }
  const std::string output = folder / "out.txt";
  const pid_t child = fork();
  if (child == 0) {
    dup2(open(output.c_str(), O_WRONLY | O_CREAT, 0600), STDOUT_FILENO);
    execl(STAGECRAFT_PROGRAM, STAGECRAFT_PROGRAM, "import", "kineto", path.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  rusage usage{};
  REQUIRE(wait4(child, &status, 0, &usage) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  return usage.ru_maxrss;
}

TEST_CASE("import kineto: memory does not depend on the size of the file") {
  const long small = memory_of(std::size_t{1} << 16);
  const long large = memory_of(std::size_t{48} << 20);
  CHECK(large < small + 8 * 1024);
}

}  // namespace
}  // namespace stagecraft::import_kineto_test
