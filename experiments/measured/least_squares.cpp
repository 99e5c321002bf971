#include "experiments/measured/least_squares.hpp"

#include <Eigen/SVD>
#include <unsupported/Eigen/NonLinearOptimization>
#include <unsupported/Eigen/NumericalDiff>

#include <algorithm>
#include <cmath>

namespace stagecraft {
namespace {

using Vector = Eigen::VectorXd;

std::vector<double> values_of(const Vector& vector) { return {vector.begin(), vector.end()}; }

/// The residuals in the form that Eigen asks for.
struct EigenResiduals {
  using Scalar = double;
  using InputType = Vector;
  using ValueType = Vector;
  using JacobianType = Eigen::MatrixXd;
  enum { InputsAtCompileTime = Eigen::Dynamic, ValuesAtCompileTime = Eigen::Dynamic };

  const Residuals& residuals;
  Eigen::Index parameters;
  Eigen::Index count;

  [[nodiscard]] Eigen::Index inputs() const { return parameters; }
  [[nodiscard]] Eigen::Index values() const { return count; }
  int operator()(const Vector& point, Vector& into) const {
    std::ranges::copy(residuals(values_of(point)), into.begin());
    return 0;
  }
};

}  // namespace

std::vector<double> least_squares(const Residuals& residuals, const std::vector<double>& start) {
  constexpr double kPrecise = 1e-11;
  constexpr Eigen::Index kMostEvaluations = 400;
  Vector point = Eigen::Map<const Vector>(start.data(), std::ssize(start));
  Eigen::NumericalDiff<EigenResiduals> differences(
      EigenResiduals{residuals, std::ssize(start), std::ssize(residuals(start))});
  Eigen::LevenbergMarquardt<Eigen::NumericalDiff<EigenResiduals>> solver(differences);
  solver.parameters.xtol = kPrecise;
  solver.parameters.ftol = kPrecise;
  solver.parameters.maxfev = kMostEvaluations;
  static_cast<void>(solver.minimize(point));
  return values_of(point);
}

Determination determination(const Derivatives& derivatives, const std::vector<double>& residuals) {
  constexpr double kLeastSingular = 1e-10;  ///< of columns of length 1
  const auto parameters = std::ssize(derivatives);
  const auto rows = std::ssize(residuals);
  Eigen::MatrixXd columns(rows, parameters);
  for (Eigen::Index p = 0; p < parameters; ++p) {
    columns.col(p) = Eigen::Map<const Vector>(derivatives[static_cast<std::size_t>(p)].data(), rows);
  }
  const Vector lengths = columns.colwise().norm();
  columns = columns * lengths.cwiseInverse().asDiagonal();
  const Eigen::JacobiSVD<Eigen::MatrixXd> svd(columns, Eigen::ComputeThinU | Eigen::ComputeThinV);
  const Vector inverse = svd.singularValues().cwiseMax(kLeastSingular).cwiseInverse();
  const Eigen::MatrixXd covariance = svd.matrixV() * inverse.cwiseAbs2().asDiagonal() * svd.matrixV().transpose();
  const double squares = Eigen::Map<const Vector>(residuals.data(), rows).squaredNorm();

  Determination found;
  for (Eigen::Index p = 0; p < parameters; ++p) {
    if (rows > parameters) {
      const double variance = covariance(p, p) * squares / static_cast<double>(rows - parameters);
      found.errors.push_back(std::sqrt(variance) / lengths(p));
    }
    std::vector<double>& of = found.correlations.emplace_back();
    for (Eigen::Index q = 0; q < parameters; ++q) {
      of.push_back(covariance(p, q) / std::sqrt(covariance(p, p) * covariance(q, q)));
    }
  }
  return found;
}

}  // namespace stagecraft
