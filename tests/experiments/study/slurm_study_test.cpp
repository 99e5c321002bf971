// A study run by the program on a private Slurm gives what it gives on this machine.
#include "tests/experiments/study/mini_slurm.hpp"
#include "tests/experiments/study/study_runs.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <random>
#include <string>
#include <thread>

namespace stagecraft::slurm_study_test {
namespace {

const MiniSlurm* cluster() {
  static const MiniSlurm slurm(2);
  if (slurm.problem().empty()) return &slurm;
  MESSAGE("skipped, no private Slurm can be started here: " << slurm.problem());
  return nullptr;
}

const std::string kOnSlurm = "$S run $D/study.yaml --out $D/out --executor slurm --cells-per-task 50 --resume";

std::string results_of_this_machine() {
  static const std::string results = [] {
    const test::TemporaryFolder folder;
    test::write_noisy_study(folder, 50);
    CHECK(test::shell("$S run $D/study.yaml --out $D/out", folder.path()).code == 0);
    return test::all_results(folder / "out");
  }();
  return results;
}

/// Sets a node down a while after the first rows are there, then it comes back by itself.
std::thread fail_node(const MiniSlurm& slurm, const test::TemporaryFolder& folder, int milliseconds) {
  return std::thread([&slurm, shards = folder / "out/shards", milliseconds] {
    for (int i = 0; i < 300 && !std::filesystem::exists(shards); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    slurm.set_down("n2");
  });
}

/// Kills the parent and sets a node down, each at a random moment, then resumes: nothing is lost and nothing differs.
/// Most of the time goes by while Slurm waits until it runs a requeued task again, 5 s.
void kill_and_resume(const MiniSlurm& slurm, std::mt19937& random) {
  const test::TemporaryFolder folder;
  test::write_noisy_study(folder, 50);
  std::thread failure = fail_node(slurm, folder, static_cast<int>(random() % 1000));
  std::string script = kOnSlurm;
  script.append(" & P=$!; sleep ").append(std::to_string(1 + static_cast<double>(random() % 3000) / 1000.0));
  const test::ShellRun killed = test::shell(script + "; kill -9 $P; wait $P", folder.path());
  failure.join();
  CHECK((killed.code == 137 || killed.code == 0));  // or was done before
  const test::ShellRun resumed = test::shell(kOnSlurm, folder.path());
  CAPTURE(resumed.err);
  CHECK(resumed.code == 0);
  CHECK(test::all_results(folder / "out") == results_of_this_machine());
}

void kill_rounds(int rounds, unsigned seed) {
  const MiniSlurm* slurm = cluster();
  if (slurm == nullptr) return;
  std::mt19937 random(seed);
  for (int round = 0; round < rounds; ++round) {
    CAPTURE(round);
    kill_and_resume(*slurm, random);
  }
}

TEST_SUITE("long" * doctest::skip()) {
  TEST_CASE("slurm study: nodes that fail and parents that are killed at random moments cost no row") {
    kill_rounds(20, 1);
  }
}

}  // namespace
}  // namespace stagecraft::slurm_study_test
