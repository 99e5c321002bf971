#pragma once

#include "experiments/study/manifest.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace stagecraft {

/// A folder of results that this process works on. Holds a lock on it as long as it lives, so that two runs of the same
/// study do not compute the same cells twice.
class StudyFolder {
 public:
  /// Makes the folder and writes the manifest, or finds the one that is there to be of the same study.
  /// `is_shared`: others may work on other cells at the same time.
  /// **Throws** InputError if results are there and `resume` is false, if they are of another study, if the folder
  /// holds something else, if another run is at work in it, and if it cannot be written.
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

/// Where results go unless the user says: `stagecraft-results/NAME`, the name without what has a meaning in paths.
[[nodiscard]] std::string default_folder(const std::string& study_name);

}  // namespace stagecraft
