// What must hold on every row of the shipped studies; run in the folder in which their tests have left the results.
#include "experiments/study/results.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace stagecraft {
namespace {

constexpr double kTolerance = 1e-9;  // of a replay's period, relative

Detail::Record details_of(const Row& row) { return std::get<Detail::Record>(find_key(row.figures, "details")->value); }

/// Null: there is none.
std::optional<double> number(const Detail::Record& record, const std::string& name) {
  const Detail* value = find_key(record, name);
  REQUIRE_MESSAGE(value != nullptr, name);
  if (*value == Detail()) return std::nullopt;
  return std::get<double>(value->value);
}

bool is_true(const Detail::Record& record, const std::string& name) {
  return std::get<bool>(find_key(record, name)->value);
}

TEST_CASE("study madpipe-memory: no claim is broken on any row") {
  const Results results = load_results({"madpipe-memory"});
  REQUIRE(results.is_complete());
  CHECK(results.rows.size() == 144);
  int planned = 0;
  int better = 0;
  for (const CellResult& result : results.rows) {
    CAPTURE(result.index);
    CHECK((result.row.status == CellStatus::Ok || result.row.status == CellStatus::Infeasible));
    if (result.row.status != CellStatus::Ok) continue;
    ++planned;
    const Detail::Record details = details_of(result.row);
    const auto claimed = number(details, "pipedream_claimed_period_s");
    const auto achieved_by_pipedream = number(details, "pipedream_true_period_s");
    const auto contiguous = number(details, "contiguous_period_s");
    const double achieved = number(details, "achieved_period_s").value();
    CHECK(claimed.has_value() == achieved_by_pipedream.has_value());
    if (claimed) CHECK(*claimed <= *achieved_by_pipedream);
    if (claimed) CHECK(contiguous.value() <= *achieved_by_pipedream);
    if (contiguous) CHECK(achieved <= *contiguous);
    CHECK(is_true(details, "fallback") == (contiguous && achieved == *contiguous));
    better += is_true(details, "fallback") ? 0 : 1;
    const double replayed = number(result.row.figures, "period_s").value();
    CHECK(std::abs(replayed - achieved) <= kTolerance * achieved);
    const auto bytes = [&](const char* name) {
      return std::get<std::int64_t>(find_key(result.row.figures, name)->value);
    };
    CHECK(bytes("peak_memory_bytes") == bytes("predicted_peak_memory_bytes"));
  }
  CHECK(planned > 50);
  CHECK(better > 0);
}

TEST_CASE(
    "study madpipe-links: on the links of the model the plan's period is the replay's, and order alone is no slower") {
  const Results results = load_results({"madpipe-links"});
  REQUIRE(results.is_complete());
  int timed = 0;
  for (const CellResult& result : results.rows) {
    CAPTURE(result.index);
    REQUIRE(result.row.status == CellStatus::Ok);
    const Keys& keys = results.manifest.cells[result.index].cell.keys;
    const auto word = [&](const char* key) { return std::get<std::string>(find_key(keys, key)->value); };
    if (word("platform.node_kinds.gpus.interconnect.duplex") != "half") continue;
    const double achieved = number(details_of(result.row), "achieved_period_s").value();
    const double replayed = number(result.row.figures, "period_s").value();
    if (word("schedule") == "1f1b-star") {
      ++timed;
      CHECK(std::abs(replayed - achieved) <= kTolerance * achieved);
    } else if (word("schedule").find("free") == std::string::npos) {
      CHECK(replayed <= achieved * (1 + kTolerance));
    }
  }
  CHECK(timed == 4);
}

TEST_CASE(
    "study spp-clusters: on the analytic network nothing is faster than the busiest part, and replay is evaluation") {
  const Results results = load_results({"spp-clusters"});
  REQUIRE(results.is_complete());
  int held = 0;
  for (const CellResult& result : results.rows) {
    CAPTURE(result.index);
    CHECK((result.row.status == CellStatus::Ok || result.row.status == CellStatus::Infeasible));
    const Keys& keys = results.manifest.cells[result.index].cell.keys;
    if (result.row.status != CellStatus::Ok) continue;
    if (std::get<std::string>(find_key(keys, "network")->value) != "analytic") continue;
    ++held;
    const Detail::Record& figures = result.row.figures;
    const double time = number(figures, "iteration_time_s").value();
    CHECK(number(figures, "load_s").value() <= time * (1 + kTolerance));
    CHECK(std::abs(number(figures, "evaluated_iteration_time_s").value() - time) <= kTolerance * time);
  }
  CHECK(held > 1000);
}

}  // namespace
}  // namespace stagecraft
