#include "experiments/study_report/claims.hpp"

#include "experiments/study_report/mean_ratio.hpp"
#include "experiments/study_report/summary.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace stagecraft {
namespace {

constexpr double kRounding = 1e-9;  // relative; values that are closer differ by rounding only

/// The rank of each value, from 0; equal values get the mean of theirs. **Requires** values that are not negative.
std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> result(values.size());
  for (std::size_t first = 0, end = 0; first < order.size(); first = end) {
    while (end < order.size() && values[order[end]] <= values[order[first]] * (1 + kRounding)) ++end;
    for (std::size_t i = first; i < end; ++i) result[order[i]] = static_cast<double>(first + end - 1) / 2.0;
  }
  return result;
}

/// What a contender's plans were in the groups that it ran in.
struct Record {
  std::vector<double> errors;
  std::vector<double> predicted;  ///< over the group's best simulated time of a sample
  std::vector<double> simulated;  ///< likewise
  std::vector<double> regrets;
  std::vector<double> over_bounds;
};

bool is_complete(const StudyLine& line) {
  return line.throughput && line.counts.of(CellStatus::Ok) == line.counts.total();
}

void add(const StudyGroup& group, std::vector<Record>& records) {
  double fastest = std::numeric_limits<double>::infinity();  // time per sample
  for (const StudyLine& line : group.lines) {
    if (is_complete(line) && line.sample.simulated_s) fastest = std::min(fastest, *line.sample.simulated_s);
  }
  const std::vector<std::optional<double>> regrets = regrets_of(group);
  for (std::size_t i = 0; i < group.lines.size(); ++i) {
    const StudyLine& line = group.lines[i];
    if (!is_complete(line)) continue;
    Record& record = records[line.contender];
    if (regrets[i]) record.regrets.push_back(*regrets[i]);
    if (line.over_bound) record.over_bounds.push_back(*line.over_bound);
    if (!line.sample.prediction_error) continue;
    record.errors.push_back(*line.sample.prediction_error);
    if (!line.sample.predicted_s) continue;
    record.simulated.push_back(*line.sample.simulated_s / fastest);
    record.predicted.push_back(*line.sample.predicted_s / fastest);
  }
}

Claims claims_of(const Record& record) {
  Claims claims;
  claims.plans = record.errors.size();
  if (!record.errors.empty()) {
    claims.mean_error =
        std::accumulate(record.errors.begin(), record.errors.end(), 0.0) / static_cast<double>(record.errors.size());
    claims.worst_error = std::ranges::max(record.errors, {}, [](double error) { return std::abs(error); });
  }
  claims.rank_correlation = rank_correlation(record.predicted, record.simulated);
  claims.compared = record.regrets.size();
  if (const auto mean = mean_ratio(record.regrets)) {
    claims.regret = mean->mean;
    claims.worst_regret = std::ranges::max(record.regrets);
  }
  if (const auto mean = mean_ratio(record.over_bounds)) claims.over_bound = mean->mean;
  return claims;
}

}  // namespace

std::optional<double> rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() < 3) return std::nullopt;
  const std::vector<double> x = ranks(a);
  const std::vector<double> y = ranks(b);
  const double mean = static_cast<double>(a.size() - 1) / 2.0;
  double xx = 0.0;
  double xy = 0.0;
  double yy = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean) * (x[i] - mean);
    xy += (x[i] - mean) * (y[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  if (xx == 0.0 || yy == 0.0) return std::nullopt;
  return xy / std::sqrt(xx * yy);
}

std::vector<std::optional<double>> regrets_of(const StudyGroup& group) {
  std::vector<std::optional<double>> regrets(group.lines.size());
  if (std::ranges::count_if(group.lines, is_complete) < 2) return regrets;
  double best = 0.0;
  for (const StudyLine& line : group.lines) {
    if (is_complete(line)) best = std::max(best, *line.throughput);
  }
  for (std::size_t i = 0; i < regrets.size(); ++i) {
    if (is_complete(group.lines[i])) regrets[i] = best / *group.lines[i].throughput;
  }
  return regrets;
}

std::vector<Claims> summarise_claims(const std::vector<StudyGroup>& groups, std::size_t contenders) {
  std::vector<Record> records(contenders);
  for (const StudyGroup& group : groups) add(group, records);
  std::vector<Claims> claims;
  for (const Record& record : records) claims.push_back(claims_of(record));
  return claims;
}

}  // namespace stagecraft
