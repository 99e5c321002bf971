#include "experiments/run/written_file.hpp"

#include "sim/base/error.hpp"
#include "sim/io/text_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace stagecraft {

void write_file_atomically(const std::string& path, std::string_view content) {
  namespace fs = std::filesystem;
  const InputPlace place{path, 0, 0, ""};
  if (path.empty()) throw InputError("expected the name of a file to write, found an empty one");
  std::error_code problem;
  if (fs::is_directory(path, problem)) throw InputError("cannot be written: it is a directory", place);
  if (fs::exists(path, problem) && !fs::is_regular_file(path, problem)) {
    write_text_file(path, content);
    return;
  }
  fs::path target = path;
  if (fs::is_symlink(path, problem)) {
    target = fs::weakly_canonical(path, problem);
    if (problem) throw InputError("cannot be written: " + problem.message(), place);
  }
  const std::string beside = target.string() + "." + std::to_string(getpid()) + ".part";
  try {
    write_text_file(beside, content);
  } catch (const InputError& error) {
    fs::remove(beside, problem);
    throw InputError(error.message(), place);
  }
  fs::rename(beside, target, problem);
  if (!problem) return;
  const std::string reason = problem.message();
  fs::remove(beside, problem);
  throw InputError("cannot be written: " + reason, place);
}

void refuse_overwriting(const std::optional<std::string>& path, const std::vector<std::string>& inputs) {
  if (!path) return;
  std::error_code problem;  // set if one of the files does not exist; then the output is not this input
  for (const std::string& input : inputs) {
    if (!std::filesystem::equivalent(*path, input, problem) || problem) continue;
    throw InputError("cannot be written: the command reads it", {*path, 0, 0, ""}, "name another file");
  }
}

}  // namespace stagecraft
