#include "experiments/study/study_folder.hpp"

#include "experiments/run/written_file.hpp"
#include "experiments/study/shard.hpp"
#include "sim/base/error.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace stagecraft {
namespace {

namespace fs = std::filesystem;

void make_folder(const std::string& path) {
  std::error_code problem;
  fs::create_directories(path, problem);
  if (!problem && fs::is_directory(path, problem)) return;
  throw InputError("cannot be created as a folder" + (problem ? ": " + problem.message() : std::string()),
                   {path, 0, 0, ""});
}

bool is_empty(const std::string& path) {
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
    if (entry.path().filename() != ".lock") return false;
  }
  return true;
}

/// Whether the folder has the study's manifest. **Throws** InputError if it has the manifest of another study, if it
/// has results and the run is not resumed, and if it contains other files.
bool has_manifest(const std::string& path, const Manifest& manifest, bool resume, bool is_shared) {
  if (!fs::exists(manifest_path(path))) {
    if (is_empty(path) || is_shared) return false;
    throw InputError("the folder contains other files than results of a study", {path, 0, 0, ""},
                     "choose another --out");
  }
  if (!resume && !is_shared) {
    throw InputError("the folder already contains results", {path, 0, 0, ""},
                     "add --resume to compute the missing cells, or choose another --out");
  }
  if (const auto reason = difference(read_manifest(path), manifest)) {
    throw InputError("the folder contains results of another study: " + *reason, {path, 0, 0, ""},
                     "choose another --out");
  }
  return true;
}

}  // namespace

StudyFolder::StudyFolder(std::string path) : path_(std::move(path)) { make_folder(path_); }

StudyFolder::StudyFolder(std::string path, const Manifest& manifest, bool resume, bool is_shared)
    : StudyFolder(std::move(path)) {
  // The folder is checked twice: before the lock, so that a folder that is refused gets no lock file, and after it,
  // because another run may have written its manifest in between.
  const bool is_known = has_manifest(path_, manifest, resume, is_shared);
  take_lock(is_shared);
  if (is_known || has_manifest(path_, manifest, resume, is_shared)) return;
  write_file_atomically(manifest_path(path_), to_text(manifest));
}

StudyFolder::~StudyFolder() {
  if (lock_ >= 0) close(lock_);
}

/// Takes a lock that the kernel releases when the process ends, however it ends: shared for runs of shards, which may
/// work in the folder at the same time, exclusive for others.
void StudyFolder::take_lock(bool is_shared) {
  const std::string file = (fs::path(path_) / ".lock").string();
  lock_ = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock_ < 0) throw InputError(std::string("cannot be written: ") + std::strerror(errno), {file, 0, 0, ""});
  if (flock(lock_, (is_shared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  close(lock_);
  lock_ = -1;
  throw InputError("another run is using this folder", {path_, 0, 0, ""}, "wait for it, or choose another --out");
}

std::vector<std::size_t> missing_cells(const std::string& folder, const Manifest& manifest) {
  const ShardRows done = read_shards({folder});
  std::vector<std::size_t> missing;
  for (std::size_t i = 0; i < manifest.cells.size(); ++i) {
    if (!done.rows.contains(manifest.cells[i].key)) missing.push_back(i);
  }
  return missing;
}

std::string default_folder(const std::string& study_name) {
  std::string name;
  for (const char c : study_name) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    name += is_plain || (c == '-' && !name.empty()) ? c : '_';
  }
  constexpr std::size_t kLongest = 100;
  return "stagecraft-results/" + name.substr(0, kLongest);
}

}  // namespace stagecraft
