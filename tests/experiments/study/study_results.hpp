#pragma once

#include "experiments/study/results.hpp"

#include <cstdint>
#include <string>
#include <utility>

namespace stagecraft {

/// Results of a study made by hand, cell by cell.
struct StudyMaker {
  Results results;

  explicit StudyMaker(const std::string& name = "by hand") { results.manifest.study = name; }

  /// A cell that has not run.
  StudyMaker& cell(Keys keys, std::uint64_t seed = 1) {
    const std::size_t index = results.manifest.cells.size();
    results.manifest.cells.push_back({{std::move(keys), seed}, "key" + std::to_string(index)});
    return *this;
  }
  /// The result of the last cell.
  StudyMaker& row(CellStatus status, Detail::Record figures, const std::string& message = "") {
    const std::size_t index = results.manifest.cells.size() - 1;
    results.rows.push_back({index, {results.manifest.cells.back().key, status, message, std::move(figures), {}}});
    return *this;
  }
  StudyMaker& ok(double throughput) { return row(CellStatus::Ok, {{"throughput_samples_per_s", throughput}}); }
};

}  // namespace stagecraft
