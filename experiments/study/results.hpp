#pragma once

#include "experiments/study/manifest.hpp"
#include "experiments/study/row.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace stagecraft {

/// A cell with what it gave.
struct CellResult {
  std::size_t index = 0;  ///< of the cell in the manifest
  Row row;
};

/// What is there of a study.
struct Results {
  Manifest manifest;
  std::vector<CellResult> rows;       ///< by cell
  std::vector<std::string> warnings;  ///< torn lines left out, for people

  [[nodiscard]] const Cell& cell(const CellResult& result) const { return manifest.cells[result.index].cell; }
  [[nodiscard]] bool is_complete() const { return rows.size() == manifest.cells.size(); }
};

/// Merges the shards of folders that hold results of the same study.
/// **Throws** InputError for a folder without a manifest and for folders of different studies, and as `read_shards`.
[[nodiscard]] Results load_results(const std::vector<std::string>& folders);

}  // namespace stagecraft
