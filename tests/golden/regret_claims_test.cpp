// The figures that the sentences of pages on all planners rest on. Run in the folder where their tests have left the
// results.
#include "experiments/study/results.hpp"
#include "experiments/study_report/summary.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft {
namespace {

constexpr double kHalfDigit = 0.005;  // half a unit of the last digit of a figure such as 1.35

StudySummary summary_of(const std::string& study) {
  const Results results = load_results({study});
  REQUIRE(results.is_complete());
  return summarise_study(results);
}

/// The mean in a table of the report: in the row with these values of its keys, and in the column of a planner.
double mean_in(const CrossTable& table, const std::vector<Detail>& values, const std::string& planner) {
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const auto is_value = [](const auto& entry, const Detail& value) { return entry.second == value; };
    if (!std::ranges::equal(table.rows[i], values, is_value)) continue;
    for (std::size_t j = 0; j < table.columns.size(); ++j) {
      if (table.columns[j].front().second == Detail(planner)) return table.cells[i][j].mean.value();
    }
  }
  FAIL("no such row or column");
  return 0.0;
}

/// The regrets of each planner among those that are synchronous, in the geometric mean.
std::vector<double> regrets_among_synchronous(const StudySummary& summary) {
  std::vector<std::vector<double>> regrets(summary.contenders.size());
  for (const StudyGroup& group : summary.groups) {
    const auto takes_part = [](const StudyLine& line) { return line.throughput && !line.period_s; };
    double best = 0.0;
    for (const StudyLine& line : group.lines) best = std::max(best, takes_part(line) ? *line.throughput : 0.0);
    for (const StudyLine& line : group.lines) {
      if (takes_part(line)) regrets[line.contender].push_back(best / *line.throughput);
    }
  }
  std::vector<double> means;
  for (const std::vector<double>& of : regrets) {
    const auto mean = stagecraft::mean_ratio(of);
    means.push_back(mean ? mean->mean : 0.0);
  }
  return means;
}

}  // namespace

// docs/explanation/how-we-stand.md, to the digits that it gives. A mean of 0 among synchronous planners: it is none.
TEST_CASE("study regret: how far the planners are from the best plan, and their claims from the replay") {
  struct Quoted {
    std::string name;
    double regret, worst, synchronous, error, worst_error, over_bound;
    std::size_t best, cases;
  };
  const std::vector<Quoted> table = {
      {"data-parallel", 1.42, 7.01, 1.34, -0.008, -0.016, 1.00, 2, 26},
      {"gpipe", 4.08, 34.3, 3.83, -0.290, -0.861, 1.45, 0, 24},
      {"pipedream paper", 1.21, 4.29, 0, -0.190, -0.799, 1.18, 9, 26},
      {"pipedream program", 1.12, 1.71, 0, -0.164, -0.578, 1.22, 10, 26},
      {"pipedream-sync", 1.68, 4.58, 1.58, 0.202, 1.335, 1.22, 1, 26},
      {"contiguous", 2.83, 9.50, 0, -0.042, -0.634, 1.04, 0, 26},
      {"uniform", 1.48, 4.73, 1.40, -0.187, -0.598, 1.21, 0, 26},
      {"madpipe", 2.83, 9.50, 0, -0.042, -0.634, 1.04, 0, 26},
      {"spp", 1.40, 2.51, 1.33, -0.117, -0.478, 1.18, 3, 26},
      {"spp nominal, the paper's", 2.56, 18.6, 2.42, -0.509, -0.951, 1.41, 4, 26},
      {"dapple", 1.35, 2.72, 1.27, -0.119, -0.377, 1.12, 4, 26},
      {"dapple nominal, the paper's", 2.79, 13.8, 2.63, -0.568, -0.933, 1.36, 0, 26},
      {"synchronous HetPipe", 1.71, 6.05, 1.61, 0.028, 0.736, 1.11, 0, 25},
  };
  const StudySummary summary = summary_of("regret");
  const std::vector<double> synchronous = regrets_among_synchronous(summary);
  REQUIRE(summary.contenders.size() == table.size());
  for (std::size_t i = 0; i < table.size(); ++i) {
    const Quoted& quoted = table[i];
    CAPTURE(quoted.name);
    const Claims& claims = summary.overall[i].claims;
    CHECK(summary.contenders[i].name == quoted.name);
    CHECK(claims.compared == quoted.cases);
    CHECK(summary.overall[i].groups_won == quoted.best);
    CHECK(std::abs(claims.regret.value() - quoted.regret) < kHalfDigit);
    CHECK(std::abs(claims.worst_regret.value() - quoted.worst) < (quoted.worst > 10 ? 0.05 : kHalfDigit));
    CHECK(std::abs(synchronous[i] - quoted.synchronous) < kHalfDigit);
    CHECK(std::abs(claims.mean_error.value() - quoted.error) < 0.0005);
    CHECK(std::abs(claims.worst_error.value() - quoted.worst_error) < 0.0005);
    CHECK(std::abs(claims.over_bound.value() - quoted.over_bound) < kHalfDigit);
  }
}

// docs/how-to/how-sure-is-the-answer.md.
TEST_CASE("study profile-noise: what errors of 5, 10 and 20 % in the times of layers cost") {
  const StudySummary summary = summary_of("profile-noise");
  REQUIRE(summary.tables.size() == 3);
  const auto expect = [&](const std::string& model, const std::string& planner, const std::array<double, 3>& means) {
    CAPTURE(model);
    CAPTURE(planner);
    constexpr std::array kNoise = {0.05, 0.1, 0.2};
    for (std::size_t i = 0; i < means.size(); ++i) {
      CHECK(std::abs(mean_in(summary.tables[0], {model, kNoise[i]}, planner) - means[i]) < kHalfDigit);
    }
  };
  expect("vgg16-blocks", "spp", {1.00, 1.00, 1.00});
  expect("resnet50-blocks", "spp", {0.95, 0.85, 0.80});
  expect("bert-large", "dapple", {1.00, 0.99, 0.97});
  expect("bert-large", "pipedream paper", {0.89, 0.83, 0.80});
  expect("bert-large", "pipedream program", {0.91, 0.90, 0.97});
  for (const auto& row : summary.tables[0].cells) {
    for (const TableCell& cell : row) CHECK(cell.mean.value() < 1.0045);  // no planner gains by more than 0.4 %
  }
  // The worst and the best single plan for a wrong profile, by planner.
  const auto expect_all = [&](std::size_t table, const std::vector<double>& values) {
    REQUIRE(summary.tables[table].all.size() == values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      CHECK(std::abs(summary.tables[table].all[i].mean.value() - values[i]) < kHalfDigit);
    }
  };
  expect_all(1, {0.61, 0.57, 0.84, 0.93, 0.58});
  expect_all(2, {1.18, 1.13, 1.04, 1.04, 1.02});
}

// docs/how-to/how-sure-is-the-answer.md.
TEST_CASE("study sensitivity: the bandwidth of the network decides the choice for VGG-16, and hardly that for BERT") {
  const StudySummary summary = summary_of("sensitivity");
  const CrossTable& table = summary.tables.at(0);
  const auto ratio = [&](const char* model, const char* variation, const char* of, const char* over) {
    return mean_in(table, {model, variation}, of) / mean_in(table, {model, variation}, over);
  };
  CHECK(std::abs(ratio("vgg16-blocks", "as given", "pipedream-sync", "spp") - 1.31) < kHalfDigit);
  CHECK(std::abs(ratio("vgg16-blocks", "bandwidth x 0.5", "spp", "pipedream-sync") - 1.37) < kHalfDigit);
  CHECK(std::abs(ratio("vgg16-blocks", "bandwidth x 2", "spp", "pipedream-sync") - 2.00) < kHalfDigit);
  CHECK(std::abs(ratio("bert-large", "bandwidth x 0.5", "spp", "data-parallel") - 0.86) < kHalfDigit);
  CHECK(std::abs(ratio("bert-large", "bandwidth between nodes x 0.5", "spp", "data-parallel") - 0.86) < kHalfDigit);
  std::size_t best_for_bert = 0;
  for (const StudyGroup& group : summary.groups) {
    for (const StudyLine& line : group.lines) {
      const bool is_bert =
          std::ranges::any_of(group.keys, [](const auto& key) { return key.second == Detail("bert-large"); });
      best_for_bert += is_bert && line.is_best && summary.contenders[line.contender].name == "spp" ? 1 : 0;
    }
  }
  CHECK(best_for_bert == 8);
}

}  // namespace stagecraft
