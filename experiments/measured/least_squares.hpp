#pragma once

#include <functional>
#include <vector>

namespace stagecraft {

/// What a solver makes as small as it can: as many residuals at every point.
using Residuals = std::function<std::vector<double>(const std::vector<double>& point)>;

/// By parameter, the derivatives of all residuals.
using Derivatives = std::vector<std::vector<double>>;

/// The point from `start` on at which the sum of the squared residuals is least, by the method of Levenberg and
/// Marquardt, which finds a minimum nearby.
/// **Requires** at least as many residuals as parameters, and a parameter. **Throws** what `residuals` throws.
/// **Source** J. J. Moré, "The Levenberg-Marquardt algorithm: implementation and theory", 1978 (MINPACK, in Eigen).
[[nodiscard]] std::vector<double> least_squares(const Residuals& residuals, const std::vector<double>& start);

/// How well the residuals determine the parameters.
struct Determination {
  /// By parameter; none if there are no more residuals than parameters.
  std::vector<double> errors;
  std::vector<std::vector<double>> correlations;  ///< of each parameter with each
};

/// The standard errors of parameters at a minimum with such residuals, and the correlations of these errors. Where the
/// residuals do not determine a parameter its error is huge, and finite.
/// **Requires** derivatives of which none is zero for all residuals.
[[nodiscard]] Determination determination(const Derivatives& derivatives, const std::vector<double>& residuals);

}  // namespace stagecraft
