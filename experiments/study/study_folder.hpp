#pragma once

#include "experiments/study/manifest.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace stagecraft {

/// A folder of results in which this process works. Holds a lock on it as long as it exists, so that two runs of the
/// same study do not compute the same cells.
class StudyFolder {
 public:
  /// Creates the folder and writes the manifest, or checks that the manifest in it is of the same study.
  /// `is_shared`: other runs may work on other cells at the same time.
  /// **Throws** InputError if the folder has results and `resume` is false, if they are of another study, if the folder
  /// contains other files, if another run is using it, and if it cannot be written.
  StudyFolder(std::string path, const Manifest& manifest, bool resume, bool is_shared);
  ~StudyFolder();
  StudyFolder(const StudyFolder&) = delete;
  StudyFolder& operator=(const StudyFolder&) = delete;
  StudyFolder(StudyFolder&&) = delete;
  StudyFolder& operator=(StudyFolder&&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit StudyFolder(std::string path);
  void take_lock(bool is_shared);

  std::string path_;
  int lock_ = -1;
};

/// The cells of the manifest that have no row below the folder yet, by index.
[[nodiscard]] std::vector<std::size_t> missing_cells(const std::string& folder, const Manifest& manifest);

/// The default folder for results: `stagecraft-results/NAME`. In the name, characters other than letters, digits and
/// `-` become `_`.
[[nodiscard]] std::string default_folder(const std::string& study_name);

}  // namespace stagecraft
