// The figures that the sentences of pages on all planners rest on. Run in the folder where their tests have left the
// results.
#include "experiments/study/results.hpp"
#include "experiments/study_report/summary.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace stagecraft {
namespace {

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

// The sentences of docs/explanation/how-we-stand.md; the figures are in the study's own tables.
TEST_CASE("study regret: dapple has the least, then pipedream and spp; claims, bounds") {
  const StudySummary summary = summary_of("regret");
  const std::vector<double> synchronous = regrets_among_synchronous(summary);
  std::map<std::string, Claims> claims;
  std::map<std::string, double> among_synchronous;
  for (std::size_t i = 0; i < summary.contenders.size(); ++i) {
    CHECK(summary.overall[i].groups_won < summary.groups.size() * 2 / 3);  // no planner is best everywhere
    claims[summary.contenders[i].name] = summary.overall[i].claims;
    if (synchronous[i] > 0) among_synchronous[summary.contenders[i].name] = synchronous[i];
  }
  const auto check_order = [](const std::vector<std::string>& names, const auto& regret_of, const auto& all) {
    for (std::size_t i = 0; i + 1 < names.size(); ++i) CHECK(regret_of(names[i]) < regret_of(names[i + 1]));
    for (const auto& [name, of] : all) {
      CAPTURE(name);
      if (std::ranges::find(names, name) == names.end()) CHECK(regret_of(name) > regret_of(names.back()));
    }
  };
  check_order(
      {"dapple", "pipedream program", "spp"}, [&](const std::string& name) { return claims.at(name).regret.value(); },
      claims);
  check_order(
      {"dapple", "spp"}, [&](const std::string& name) { return among_synchronous.at(name); }, among_synchronous);
  const Claims& hetpipe = claims.at("synchronous HetPipe");
  CHECK(hetpipe.worst_error.value() > 3 * std::abs(hetpipe.mean_error.value()));  // errors of both signs
  CHECK(claims.at("gpipe").over_bound.value() - 1 < (claims.at("gpipe").regret.value() - 1) / 4);
}

// docs/how-to/how-sure-is-the-answer.md.
TEST_CASE("study profile-noise: what errors of 5, 10 and 20 % in the times of layers cost") {
  const StudySummary summary = summary_of("profile-noise");
  REQUIRE(summary.tables.size() == 3);
  // On some plan for a wrong profile each planner gains, and on some it loses.
  for (const TableCell& worst : summary.tables[1].all) CHECK(worst.mean.value() < 1.0);
  for (const TableCell& best : summary.tables[2].all) CHECK(best.mean.value() > 1.0);
  const auto mean = [&](const char* model, double noise, const char* planner) {
    return mean_in(summary.tables[0], {model, noise}, planner);
  };
  for (const double noise : {0.05, 0.1, 0.2}) {
    for (const char* model : {"vgg16-blocks", "resnet50-blocks", "bert-large"}) {
      for (const char* planner : {"pipedream paper", "pipedream program", "pipedream-sync", "dapple", "spp"}) {
        const bool gains = std::string(model) == "resnet50-blocks" && std::string(planner) == "dapple";
        CHECK(mean(model, noise, planner) < (gains ? 1.03 : 1.0045));
      }
    }
    CHECK(mean("bert-large", noise, "pipedream paper") < 0.97);
    CHECK(mean("bert-large", noise, "pipedream program") < 0.98);
    CHECK(mean("vgg16-blocks", noise, "spp") > 0.99);
  }
}

// docs/how-to/how-sure-is-the-answer.md.
TEST_CASE("study sensitivity: the bandwidth of the network decides the choice for VGG-16, and hardly that for BERT") {
  const StudySummary summary = summary_of("sensitivity");
  const CrossTable& table = summary.tables.at(0);
  const auto ratio = [&](const char* model, const char* variation, const char* of, const char* over) {
    return mean_in(table, {model, variation}, of) / mean_in(table, {model, variation}, over);
  };
  CHECK(ratio("vgg16-blocks", "as given", "pipedream-sync", "spp") > 1.1);
  CHECK(ratio("vgg16-blocks", "bandwidth x 0.5", "spp", "pipedream-sync") > 1.2);
  CHECK(ratio("vgg16-blocks", "bandwidth x 2", "spp", "pipedream-sync") > 1.2);
  CHECK(ratio("bert-large", "bandwidth x 0.5", "spp", "data-parallel") < 1.0);
  CHECK(ratio("bert-large", "bandwidth between nodes x 0.5", "spp", "data-parallel") < 1.0);
  std::size_t best_for_bert = 0;
  for (const StudyGroup& group : summary.groups) {
    for (const StudyLine& line : group.lines) {
      const bool is_bert =
          std::ranges::any_of(group.keys, [](const auto& key) { return key.second == Detail("bert-large"); });
      best_for_bert += is_bert && line.is_best && summary.contenders[line.contender].name == "spp" ? 1 : 0;
    }
  }
  CHECK(best_for_bert == 7);
}

TEST_CASE("study director: no planner is faster in any group, and the claim is the replayed time") {
  const StudySummary summary = summary_of("director");
  REQUIRE(summary.groups.size() == 26);
  for (const StudyGroup& group : summary.groups) {
    double best = 0.0;
    double found = 0.0;
    for (const StudyLine& line : group.lines) {
      best = std::max(best, line.throughput.value_or(0.0));
      if (summary.contenders[line.contender].name == "director") found = line.throughput.value();
    }
    CHECK(found >= best * (1.0 - 1e-12));
  }
  std::map<std::string, double> regrets;
  for (std::size_t i = 0; i < summary.contenders.size(); ++i) {
    const Claims& claims = summary.overall[i].claims;
    if (summary.contenders[i].name == "director") CHECK(std::abs(claims.worst_error.value()) < 1e-9);
    regrets[summary.contenders[i].name] = claims.regret.value();
  }
  regrets.erase("director");
  const auto least = std::ranges::min_element(regrets, {}, [](const auto& entry) { return entry.second; });
  CHECK(least->first == "dapple");
}

}  // namespace stagecraft
