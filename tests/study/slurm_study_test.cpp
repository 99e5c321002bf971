// A study run by the program on a private Slurm gives what it gives on this machine.
#include "tests/experiments/study_runs.hpp"
#include "tests/study/mini_slurm.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

namespace stagecraft {
namespace {

const MiniSlurm* cluster() {
  static const MiniSlurm slurm(2);
  if (slurm.problem().empty()) return &slurm;
  MESSAGE("skipped, no private Slurm can be started here: " << slurm.problem());
  return nullptr;
}

const std::string kOnSlurm = "$S run $D/study.yaml --out $D/out --executor slurm --cells-per-task 50 --resume";

std::string rows_of_this_machine() {
  static const std::string rows = [] {
    const test::TemporaryFolder folder;
    test::write_five_hundred(folder);
    CHECK(test::shell("$S run $D/study.yaml --out $D/out", folder.path()).code == 0);
    return test::rows_text(folder / "out");
  }();
  return rows;
}

TEST_CASE("slurm study: Slurm and this machine give the same rows and the same files") {
  const MiniSlurm* slurm = cluster();
  if (slurm == nullptr) return;
  const test::TemporaryFolder folder;
  test::write_five_hundred(folder);
  const test::ShellRun run = test::shell(kOnSlurm, folder.path());
  CAPTURE(run.err);
  CHECK(run.code == 0);
  CHECK(test::rows_text(folder / "out") == rows_of_this_machine());
  CHECK(test::shell("$S run $D/study.yaml --out $D/local && cmp $D/out/results.csv $D/local/results.csv", folder.path())
            .code == 0);
}

TEST_SUITE("long" * doctest::skip()) {
  TEST_CASE("slurm study: a node that fails and a parent that is killed cost no row") {
    const MiniSlurm* slurm = cluster();
    if (slurm == nullptr) return;
    const test::TemporaryFolder folder;
    test::write_five_hundred(folder);
    std::thread failure([&] {
      for (int i = 0; i < 300 && !std::filesystem::exists(folder / "out/shards"); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      }
      slurm->set_down("n2");
    });
    const test::ShellRun killed = test::shell(kOnSlurm + " & P=$!; sleep 3; kill -9 $P; wait $P", folder.path());
    failure.join();
    CHECK(killed.code == 137);
    const test::ShellRun resumed = test::shell(kOnSlurm, folder.path());
    CAPTURE(resumed.err);
    CHECK(resumed.code == 0);
    CHECK(test::rows_text(folder / "out") == rows_of_this_machine());
  }
}

}  // namespace
}  // namespace stagecraft
