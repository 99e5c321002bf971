#include "experiments/study_report/claims.hpp"

#include "experiments/run/rank_correlation.hpp"
#include "experiments/study_report/mean_ratio.hpp"
#include "experiments/study_report/summary.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace stagecraft {
namespace {

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
