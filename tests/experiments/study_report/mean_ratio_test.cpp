#include "experiments/study_report/mean_ratio.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

TEST_CASE("mean ratio: Student's t as the published tables have it") {
  const std::vector<std::pair<int, double>> table = {{1, 12.706}, {2, 4.303},  {3, 3.182},  {4, 2.776},
                                                     {5, 2.571},  {9, 2.262},  {10, 2.228}, {29, 2.045},
                                                     {30, 2.042}, {60, 2.000}, {120, 1.980}};
  for (const auto& [degrees, t] : table) {
    CAPTURE(degrees);
    CHECK(std::abs(student_t_95(degrees) - t) < 5e-4);
  }
  CHECK(std::abs(student_t_95(100'000) - 1.959964) < 1e-4);                        // the normal distribution's
  CHECK(std::abs(student_t_95(2) - 0.95 / std::sqrt(2 * 0.975 * 0.025)) < 1e-12);  // closed form
}

TEST_CASE("mean ratio: the geometric mean and its interval, worked by hand") {
  // Logarithms ln 2 and ln 8: mean ln 4, deviation (ln 8 - ln 2) / √2 = √2 ln 2, error ln 2, t of 1 degree 12.7062.
  const MeanRatio two = *mean_ratio({2.0, 8.0});
  CHECK(std::abs(two.mean - 4.0) < 1e-12);
  REQUIRE(two.interval);
  CHECK(std::abs(std::log2(two.interval->low) - (2.0 - 12.7062)) < 1e-4);
  CHECK(std::abs(std::log2(two.interval->high) - (2.0 + 12.7062)) < 1e-4);
  CHECK(two.pairs == 2);
  // Logarithms -a, 0, a: mean 0, deviation a, error a / √3, t of 2 degrees 4.302653.
  const MeanRatio three = *mean_ratio({std::exp(-0.1), 1.0, std::exp(0.1)});
  CHECK(std::abs(three.mean - 1.0) < 1e-12);
  CHECK(std::abs(std::log(three.interval->high) - 0.1 / std::sqrt(3.0) * 4.302653) < 1e-7);
  CHECK(std::abs(std::log(three.interval->low) + 0.1 / std::sqrt(3.0) * 4.302653) < 1e-7);
}

TEST_CASE("mean ratio: no interval is claimed of one ratio or of equal ones") {
  CHECK_FALSE(mean_ratio({}));
  CHECK(*mean_ratio({1.5}) == MeanRatio{1.5, std::nullopt, 1});
  CHECK(*mean_ratio({1.5, 1.5, 1.5}) == MeanRatio{1.5, std::nullopt, 3});
  const double rounded = std::nextafter(1.5, 2.0);
  CHECK(*mean_ratio({1.5, rounded}) == MeanRatio{1.5, std::nullopt, 2});
  CHECK(mean_ratio({1.5, 1.5001})->interval);
}

}  // namespace
}  // namespace stagecraft
