#include "experiments/study_report/claims.hpp"

#include "experiments/run/rank_correlation.hpp"
#include "experiments/study_report/summary.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

namespace stagecraft {
namespace {

StudyLine line(std::size_t contender, double throughput, std::optional<double> error = std::nullopt) {
  StudyLine made;
  made.contender = contender;
  made.throughput = throughput;
  made.sample.prediction_error = error;
  made.sample.simulated_s = 1.0 / throughput;
  if (error) made.sample.predicted_s = (1.0 + *error) / throughput;
  return made;
}

}  // namespace

TEST_CASE("rank correlation: worked by hand, with ties, and where there is none") {
  const std::vector<double> rising{1, 2, 3, 4, 5};
  CHECK(*rank_correlation(rising, {10, 20, 35, 36, 90}) == doctest::Approx(1));
  CHECK(*rank_correlation(rising, {5, 4, 3, 2, 1}) == doctest::Approx(-1));
  // Ten pairs without ties: 1 − 6 · Σ d² / (n (n² − 1)) with Σ d² = 194.
  CHECK(*rank_correlation({106, 100, 86, 101, 99, 103, 97, 113, 112, 110}, {7, 27, 2, 50, 28, 29, 20, 12, 6, 17}) ==
        doctest::Approx(1 - 6.0 * 194 / 990).epsilon(1e-12));
  // Ranks 0, 1.5, 1.5, 3 and 0, 2, 1, 3: 4.5 / √(4.5 · 5).
  CHECK(*rank_correlation({1, 2, 2, 3}, {1, 3, 2, 4}) == doctest::Approx(4.5 / std::sqrt(22.5)).epsilon(1e-12));
  // What differs by rounding is a tie.
  CHECK(*rank_correlation({1, 1 + 1e-15, 1 - 1e-15, 3}, {1, 1, 1, 2}) == doctest::Approx(1));
  CHECK_FALSE(rank_correlation({1, 2}, {1, 2}));
  CHECK_FALSE(rank_correlation({1, 1, 1}, {1, 2, 3}));
}

TEST_CASE("claims: the mean over the lower bound is geometric, over the groups that have one") {
  const auto over = [](double ratio, CellStatus status = CellStatus::Ok) {
    StudyLine made = line(0, 100);
    made.over_bound = ratio;
    ++made.counts.ended[status];
    return made;
  };
  std::vector<StudyGroup> groups(4);
  groups[0].lines = {over(1), line(1, 50)};
  groups[1].lines = {over(4)};
  groups[2].lines = {over(100, CellStatus::OutOfMemory)};  // not complete, so it does not count
  groups[3].lines = {line(0, 100)};                        // no bound
  const std::vector<Claims> claims = summarise_claims(groups, 2);
  CHECK(claims[0].over_bound.value() == doctest::Approx(2));  // √(1 · 4)
  CHECK_FALSE(claims[1].over_bound);
}

// Over two seeds the mean time is 1/2 (1/100 + 1/25) = 25 ms and the mean prediction 1/2 (0.5/100 + 1/25) = 22.5 ms:
// not 1 / (mean of 62.5 samples/s) and not that times 1 + (mean error of -0.25).
TEST_CASE("claims: ranks compare mean predicted with mean simulated times") {
  const auto meant = [](double simulated_ms, double predicted_ms) {
    StudyLine made = line(0, 1000.0 / simulated_ms, 0.0);
    made.sample.simulated_s = simulated_ms * 1e-3;
    made.sample.predicted_s = predicted_ms * 1e-3;
    return made;
  };
  std::vector<StudyGroup> groups(3);
  const std::vector<double> predicted = {22.5, 20.0, 30.0};
  const std::vector<double> simulated = {25.0, 24.0, 23.0};
  for (std::size_t i = 0; i < groups.size(); ++i) {
    groups[i].lines = {meant(simulated[i], predicted[i]), line(1, 100)};
    groups[i].lines[0].sample.prediction_error = 0.1 * static_cast<double>(i);  // does not decide the ranks
  }
  CHECK(*summarise_claims(groups, 2)[0].rank_correlation == doctest::Approx(-0.5));
}

TEST_CASE("claims: errors, ranks and regret of two planners in four groups") {
  std::vector<StudyGroup> groups(4);
  groups[0].lines = {line(0, 100, -0.5), line(1, 50)};         // 0 is the best; the other takes twice as long
  groups[1].lines = {line(0, 10, 0.5), line(1, 40)};           // four times as long as the best
  groups[2].lines = {line(0, 30, -0.2), line(1, 60)};          // twice as long
  groups[3].lines = {StudyLine{.contender = 0}, line(1, 60)};  // not run: no claim, no regret
  const std::vector<Claims> claims = summarise_claims(groups, 3);
  REQUIRE(claims.size() == 3);
  CHECK(claims[0].plans == 3);
  CHECK(*claims[0].mean_error == doctest::Approx(-0.2 / 3));
  CHECK(std::abs(*claims[0].worst_error) == 0.5);
  CHECK(*claims[0].rank_correlation == doctest::Approx(1));  // 0.5, 6, 1.6 for 1, 4, 2
  CHECK(*claims[0].regret == doctest::Approx(2));            // 1, 4, 2
  CHECK(*claims[0].worst_regret == 4);
  CHECK(claims[1].plans == 0);
  CHECK_FALSE(claims[1].mean_error);
  CHECK_FALSE(claims[1].rank_correlation);
  CHECK(claims[1].compared == 3);  // in the fourth group nobody else ran
  CHECK(*claims[1].regret == doctest::Approx(std::cbrt(2.0)));
  CHECK_FALSE(claims[2].regret);
  groups.resize(1);
  groups[0].lines.resize(1);
  CHECK_FALSE(summarise_claims(groups, 1)[0].regret);  // alone it is compared with nobody
}

}  // namespace stagecraft
