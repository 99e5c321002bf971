#include "experiments/measured/step_errors.hpp"

#include "experiments/run/rank_correlation.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace stagecraft {
namespace {

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t count = values.size();
  return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

}  // namespace

StepErrors step_errors(const std::vector<double>& predicted, const std::vector<double>& measured) {
  std::vector<double> errors(predicted.size());
  for (std::size_t i = 0; i < errors.size(); ++i) errors[i] = predicted[i] / measured[i] - 1.0;
  StepErrors found;
  found.signed_median = median_of(errors);
  for (double& error : errors) error = std::abs(error);
  found.median = median_of(errors);
  found.mean = std::accumulate(errors.begin(), errors.end(), 0.0) / static_cast<double>(errors.size());
  found.worst = std::ranges::max(errors);
  found.rank = rank_correlation(predicted, measured);
  return found;
}

Detail::Record to_record(const StepErrors& errors) {
  return {{"signed_median", errors.signed_median},
          {"median", errors.median},
          {"mean", errors.mean},
          {"worst", errors.worst},
          {"rank_correlation", errors.rank ? Detail(*errors.rank) : Detail()}};
}

}  // namespace stagecraft
