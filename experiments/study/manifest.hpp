#pragma once

#include "experiments/study/study.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// A file that cells name.
struct StudyFile {
  std::string kind;    ///< model, platform, events or planner
  std::string name;    ///< as the study writes it
  std::string path;    ///< where it lies
  std::string sha256;  ///< of its content
  friend bool operator==(const StudyFile&, const StudyFile&) = default;
};

/// A cell and its key, the SHA-256 of the cell and of the content of its files.
struct StudyCell {
  Cell cell;
  std::string key;
  friend bool operator==(const StudyCell&, const StudyCell&) = default;
};

/// What a study's results belong to: written once before the first cell runs, never changed.
struct Manifest {
  std::string study;
  std::string file;  ///< the study's own
  std::string version;
  std::string simgrid_version;
  std::vector<std::string> command;  ///< that began the study
  StudyLimits limits;
  std::optional<Keys> baseline;
  std::vector<std::string> columns;  ///< of the report, as in `Study`
  std::vector<TableChoice> tables;   ///< likewise
  std::vector<StudyFile> files;
  std::vector<StudyCell> cells;
  friend bool operator==(const Manifest&, const Manifest&) = default;
};

/// Finds and reads every file that cells name.
/// **Throws** InputError for one that is not there or cannot be read, naming a cell that needs it.
[[nodiscard]] Manifest make_manifest(const Study& study, const Expansion& expansion, std::vector<std::string> command);

/// The file of a kind that cells know by this name. **Requires** that there is one.
[[nodiscard]] const StudyFile& find_file(const Manifest& manifest, const std::string& kind, const std::string& name);

/// Whether the cell of that position, of which the manifest may have been read from a file, is the one its key stands
/// for.
[[nodiscard]] bool is_intact(const Manifest& manifest, std::size_t position);

/// The seed of a cell's noise: derived from the cell's seed and all its keys but those that say who plans, and
/// `schedule`, which often comes with the planner: all of them meet the same noise. Below 2^63.
[[nodiscard]] std::uint64_t noise_seed(const Cell& cell);

/// One line of JSON for the head, then one for each cell.
[[nodiscard]] std::string to_text(const Manifest& manifest);
/// **Throws** InputError for a text that is no manifest.
[[nodiscard]] Manifest parse_manifest(const std::string& text, const std::string& file_name);

/// The manifest of a folder of results. **Throws** InputError if there is none.
[[nodiscard]] Manifest read_manifest(const std::string& folder);

/// The manifest's place in a folder of results.
[[nodiscard]] std::string manifest_path(const std::string& folder);

/// Why cells of `ours` must not join results that began with `theirs`, if so. Where the files lie and which command
/// asks makes no difference.
[[nodiscard]] std::optional<std::string> difference(const Manifest& theirs, const Manifest& ours);

}  // namespace stagecraft
