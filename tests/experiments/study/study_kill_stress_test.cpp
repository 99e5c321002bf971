// A study killed again and again at random moments gives what an undisturbed one gives.
#include "tests/experiments/study/study_runs.hpp"

#include <doctest/doctest.h>

#include <random>
#include <string>

namespace stagecraft {
namespace {

TEST_CASE("run: after twenty kills at random moments the rows are those of an undisturbed run") {
  const test::TemporaryFolder whole;
  test::write_noisy_study(whole, 50);
  CHECK(test::shell("$S run $D/study.yaml --out $D/out", whole.path()).code == 0);
  const std::string rows = test::all_results(whole / "out");
  std::mt19937 random(1);
  for (int round = 0; round < 20; ++round) {
    const test::TemporaryFolder folder;
    test::write_noisy_study(folder, 50);
    const bool parent = random() % 2 == 0;
    const int milliseconds = static_cast<int>(random() % 1000);
    CAPTURE(round);
    CAPTURE(parent);
    CAPTURE(milliseconds);
    CHECK(test::kill_and_resume(folder, parent, milliseconds).code == 0);
    CHECK(test::all_results(folder / "out") == rows);
  }
}

}  // namespace
}  // namespace stagecraft
