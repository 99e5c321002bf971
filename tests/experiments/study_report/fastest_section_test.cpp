#include "experiments/study_report/fastest_section.hpp"

#include "tests/experiments/study/study_results.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace stagecraft::fastest_section_test {
namespace {

/// Two planners at so many sizes, of which "b" is one sample per second faster; at size 3 it has no plan.
StudySummary study_of(int sizes, const std::string& other_model = "toy") {
  StudyMaker maker("sizes");
  for (int size = 1; size <= sizes; ++size) {
    for (const std::string planner : {"a", "b"}) {
      maker.cell({{"model", size == 1 ? other_model : "toy"}, {"planner", planner}, {"microbatch_size", size}});
      if (planner == "b" && size == 3) {
        maker.row(CellStatus::Infeasible, {}, "too large");
      } else {
        maker.row(CellStatus::Ok, {{"throughput_samples_per_s", 10.0 * size + (planner == "b" ? 1.0 : 0.0)}});
      }
    }
  }
  return summarise_study(maker.results);
}

}  // namespace

TEST_CASE("study report: the ten fastest of all cells, the fastest first, with what tells them apart") {
  const auto section = fastest_section(study_of(6));
  REQUIRE(section.has_value());
  REQUIRE(section->table.has_value());
  std::vector<std::string> found;
  for (const std::vector<std::string>& row : section->table->rows) found.push_back(row[0] + row[1] + " " + row[3]);
  CHECK(found == std::vector<std::string>{"b6 61", "a6 60", "b5 51", "a5 50", "b4 41", "a4 40", "a3 30", "b2 21",
                                          "a2 20", "b1 11"});
}

TEST_CASE("study report: samples of several models are not ranked, nor cells that are no more than ten") {
  CHECK_FALSE(fastest_section(study_of(6, "other")).has_value());
  CHECK_FALSE(fastest_section(study_of(5)).has_value());  // nine have figures
}

}  // namespace stagecraft::fastest_section_test
