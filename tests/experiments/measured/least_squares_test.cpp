#include "experiments/measured/least_squares.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

namespace stagecraft::least_squares_test {
namespace {

const std::vector<double> kPlaces = {0, 1, 2, 3, 4, 5};
const std::vector<double> kHeights = {1.1, 2.8, 5.2, 6.9, 9.1, 10.9};

/// Of a line through the places above.
std::vector<double> line_residuals(const std::vector<double>& point) {
  std::vector<double> residuals;
  for (std::size_t i = 0; i < kPlaces.size(); ++i) {
    residuals.push_back(point[0] + point[1] * kPlaces[i] - kHeights[i]);
  }
  return residuals;
}

/// The sums of simple regression: mean of places and of heights, and the sums of squares around the mean.
struct Sums {
  double x = 0, y = 0, xx = 0, xy = 0;
};
Sums sums() {
  Sums of;
  const auto count = static_cast<double>(kPlaces.size());
  for (std::size_t i = 0; i < kPlaces.size(); ++i) {
    of.x += kPlaces[i] / count;
    of.y += kHeights[i] / count;
  }
  for (std::size_t i = 0; i < kPlaces.size(); ++i) {
    of.xx += (kPlaces[i] - of.x) * (kPlaces[i] - of.x);
    of.xy += (kPlaces[i] - of.x) * (kHeights[i] - of.y);
  }
  return of;
}

}  // namespace

// Slope sxy / sxx, and the line passes through the means.
TEST_CASE("least squares: a line is that of simple regression") {
  const Sums of = sums();
  const std::vector<double> found = least_squares(line_residuals, {-3.0, 10.0});
  CHECK(found[1] == doctest::Approx(of.xy / of.xx).epsilon(1e-9));
  CHECK(found[0] == doctest::Approx(of.y - of.xy / of.xx * of.x).epsilon(1e-9));
}

// A valley of a curved floor, which the method descends from far away: (1 - a)^2 + 100 (b - a^2)^2 (Rosenbrock).
TEST_CASE("least squares: a curved valley is followed to its end") {
  const auto valley = [](const std::vector<double>& point) {
    return std::vector<double>{1.0 - point[0], 10.0 * (point[1] - point[0] * point[0])};
  };
  const std::vector<double> found = least_squares(valley, {-1.2, 1.0});
  CHECK(found[0] == doctest::Approx(1.0).epsilon(1e-8));
  CHECK(found[1] == doctest::Approx(1.0).epsilon(1e-8));
}

// With s^2 = squares / (n - 2): error of the slope s / sqrt(sxx), of the intercept s sqrt(1/n + mean^2 / sxx), and
// their correlation -mean / sqrt(sum of squared places / n).
TEST_CASE("determination: errors and correlation of a line are those of simple regression") {
  const Sums of = sums();
  const std::vector<double> residuals = line_residuals(least_squares(line_residuals, {0.0, 0.0}));
  double squares = 0;
  for (const double residual : residuals) squares += residual * residual;
  const double s = std::sqrt(squares / 4.0);
  const Determination found = determination({std::vector<double>(6, 1.0), kPlaces}, residuals);
  CHECK(found.errors.at(1) == doctest::Approx(s / std::sqrt(of.xx)).epsilon(1e-9));
  CHECK(found.errors.at(0) == doctest::Approx(s * std::sqrt(1.0 / 6.0 + of.x * of.x / of.xx)).epsilon(1e-9));
  CHECK(found.correlations[0][1] == doctest::Approx(-of.x / std::sqrt(55.0 / 6.0)).epsilon(1e-9));
  CHECK(found.correlations[0][0] == doctest::Approx(1.0));
}

TEST_CASE("determination: two parameters with the same effect are correlated, and their errors huge") {
  const Determination found = determination({{1, 2, 3, 4}, {2, 4, 6, 8}}, {0.01, -0.01, 0.02, 0.0});
  CHECK(found.correlations[0][1] == doctest::Approx(-1.0));
  CHECK(found.errors[0] > 1e3);
}

TEST_CASE("determination: as many residuals as parameters tell no errors") {
  CHECK(determination({{1, 2}, {2, 1}}, {0.0, 0.0}).errors.empty());
}

}  // namespace stagecraft::least_squares_test
