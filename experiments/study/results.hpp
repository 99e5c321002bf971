#pragma once

#include "experiments/study/manifest.hpp"
#include "experiments/study/row.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace stagecraft {

/// A cell's row, with the index of the cell.
struct CellResult {
  std::size_t index = 0;  ///< of the cell in the manifest
  Row row;
};

/// The results of a study so far.
struct Results {
  Manifest manifest;
  std::vector<CellResult> rows;       ///< by cell
  std::vector<std::string> warnings;  ///< for the user: shards with damaged lines, which are left out

  [[nodiscard]] const Cell& cell(const CellResult& result) const { return manifest.cells[result.index].cell; }
  [[nodiscard]] bool is_complete() const { return rows.size() == manifest.cells.size(); }
};

/// Merges the shards of folders that hold results of the same study.
/// **Throws** InputError for a folder without a manifest and for folders of different studies, and as `read_shards`.
[[nodiscard]] Results load_results(const std::vector<std::string>& folders);

}  // namespace stagecraft
