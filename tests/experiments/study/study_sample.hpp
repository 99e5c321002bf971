#pragma once

#include "experiments/study/manifest.hpp"
#include "experiments/study/row.hpp"
#include "tests/temporary_folder.hpp"

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace stagecraft {

/// A folder that is empty at first and gone afterwards.
struct ScratchFolder {
  test::TemporaryFolder temporary;
  std::filesystem::path path = temporary.path();
  [[nodiscard]] std::string operator/(const std::string& name) const { return temporary / name; }
};

/// The content as it is; empty for a file that is not there.
[[nodiscard]] std::string content_of(const std::string& path);

/// Text of every kind that a shell, a database, a spreadsheet or a file system could misunderstand.
[[nodiscard]] const std::vector<std::string>& hostile_texts();

/// A study of `count` cells with three planners in turn, among them options of several kinds.
[[nodiscard]] Manifest sample_manifest(std::size_t count);

/// The row of a cell: most are ok, every seventh is infeasible, every eleventh is out of memory.
[[nodiscard]] Row sample_row(const Manifest& manifest, std::size_t index);

[[nodiscard]] std::vector<Row> sample_rows(const Manifest& manifest);

/// Writes the manifest and a shard with each of the lists, as `run` would.
void write_study(const std::string& folder, const Manifest& manifest, const std::vector<std::vector<Row>>& shards);

}  // namespace stagecraft
