#pragma once

#include "experiments/study/study.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// A file that cells name.
struct StudyFile {
  std::string kind;         ///< model, platform, events or planner
  std::string name;         ///< as the study writes it
  std::string path;         ///< absolute; empty for a model that is a network known by name
  std::string sha256;       ///< of its content; of such a network, of its name
  bool is_network = false;  ///< a model whose figures are computed for the platform of each cell
  friend bool operator==(const StudyFile&, const StudyFile&) = default;
};

/// A cell and its key, the SHA-256 of the cell and of the content of its files.
struct StudyCell {
  Cell cell;
  std::string key;
  friend bool operator==(const StudyCell&, const StudyCell&) = default;
};

/// The description of a study's run to which the results belong. It is written once before the first cell runs, and
/// never changed.
struct Manifest {
  std::string study;
  std::string file;  ///< the study's own
  std::string version;
  std::string simgrid_version;
  std::vector<std::string> command;  ///< the command that started the study
  StudyLimits limits;
  std::optional<Keys> baseline;
  std::vector<std::string> columns;  ///< of the report, as in `Study`
  std::vector<TableChoice> tables;   ///< likewise
  std::vector<StudyFile> files;
  std::vector<StudyCell> cells;
  friend bool operator==(const Manifest&, const Manifest&) = default;
};

/// SHA-256 of the content of a file of that kind; of an events file with all files that it names, of a
/// platform with its device files.
[[nodiscard]] std::string hash_of(const std::string& kind, const std::string& path);

/// The manifest of a study. Finds and hashes every file that cells name.
/// **Throws** InputError for a file that does not exist or cannot be read.
[[nodiscard]] Manifest make_manifest(const Study& study, const Expansion& expansion, std::vector<std::string> command);

/// The file of a kind that cells know by this name. **Requires** that there is one.
[[nodiscard]] const StudyFile& find_file(const Manifest& manifest, const std::string& kind, const std::string& name);

/// Whether the cell at that position still matches its key. It does not if the manifest's file was edited.
[[nodiscard]] bool is_intact(const Manifest& manifest, std::size_t position);

/// The seed of a cell's noise. It is derived from the cell's seed and its keys without `planner`, `schedule`, the
/// options of planners and the tags. So cells that differ only in planner or schedule have the same noise. Less than
/// 2^63.
[[nodiscard]] std::uint64_t noise_seed(const Cell& cell);

/// One line of JSON for the head, then one for each cell.
[[nodiscard]] std::string to_text(const Manifest& manifest);
/// **Throws** InputError for a text that is not a manifest.
[[nodiscard]] Manifest parse_manifest(const std::string& text, const std::string& file_name);

/// The manifest of a folder of results. **Throws** InputError if there is none.
[[nodiscard]] Manifest read_manifest(const std::string& folder);

/// The path of the manifest in a folder of results.
[[nodiscard]] std::string manifest_path(const std::string& folder);

/// The first difference because of which rows of `ours` must not be added to results of `theirs`; none if they may.
/// Paths of files and the command may differ.
[[nodiscard]] std::optional<std::string> difference(const Manifest& theirs, const Manifest& ours);

}  // namespace stagecraft
