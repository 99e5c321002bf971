#include "experiments/run/written_file.hpp"

#include "sim/base/error.hpp"
#include "sim/base/signal_taken.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <list>
#include <system_error>
#include <utility>

namespace stagecraft {
namespace {

/// Of a file, as much as it takes to tell what it is.
std::string start_of(const std::string& path) {
  constexpr std::size_t kEnough = 65536;
  std::string start(kEnough, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<std::size_t>(file.gcount()));
  return start;
}

std::string name_of(OutputKind kind) {
  switch (kind) {
    case OutputKind::PlanFile: return "plan file";
    case OutputKind::ModelFile: return "model file";
    case OutputKind::PlatformFile: return "platform file";
    case OutputKind::EventsFile: return "events file";
    case OutputKind::DeviceFile: return "device file";
    case OutputKind::ArchitectureFile: return "architecture file";
    case OutputKind::StudyReport: return "report of a study";
    case OutputKind::PerfettoTrace: return "Perfetto trace of this program";
    case OutputKind::ChakraTrace: return "Chakra trace";
    case OutputKind::ChakraGroups: return "file of the groups of a Chakra trace";
    case OutputKind::OrderTable: return "table of orders of PyTorch";
    case OutputKind::MegatronFlags: return "file of flags of Megatron-LM";
    case OutputKind::RunPage: return "page of a run";
    case OutputKind::Picture: return "picture of a run";
    case OutputKind::Validation: return "table or picture of predicted steps";
    case OutputKind::StepTable: return "table of measured steps of this program";
    case OutputKind::SavedCommands: return "file of commands for saved plans";
  }
  return "";
}

/// Whether the first field of the first message is that of all Perfetto traces of the program, or of all Chakra traces.
/// Before it stands the length of the message, in one byte or two.
bool begins_with_message(std::string_view start, std::string_view field) {
  return start.substr(0, 1 + field.size()).ends_with(field) || start.substr(0, 2 + field.size()).ends_with(field);
}

/// Whether the first field that is not empty is an operation, such as `0F3`, or a pair of two.
bool begins_with_operation(std::string_view start) {
  constexpr std::string_view kDigits = "0123456789";
  const std::size_t stage = std::min(start.find_first_not_of(",("), start.size());
  const std::size_t kind = std::min(start.find_first_not_of(kDigits, stage), start.size());
  return kind > stage && kind < start.size() && std::string_view("FIWBSRU").find(start[kind]) != std::string_view::npos;
}

/// Whether it is a file in one of the formats of other tools; none for other kinds of files.
std::optional<bool> is_for_other_tools(const std::string& start, OutputKind kind) {
  switch (kind) {
    case OutputKind::PerfettoTrace:  // a packet of sequence 1, with the flag that begins the sequence
      return start.starts_with('\n') && begins_with_message(start.substr(1), "\x50\x01\x68\x01");
    case OutputKind::ChakraTrace:
      return begins_with_message(start,
                                 "\n\x05"
                                 "0.0.4");
    case OutputKind::ChakraGroups: return start.starts_with(R"({"1":[)");
    case OutputKind::OrderTable: return begins_with_operation(start);
    case OutputKind::MegatronFlags: return start.starts_with("--");
    default: return std::nullopt;
  }
}

/// Files of the program say their schema in YAML or JSON. Reports begin with the study, pages with what they are as
/// title (those of earlier versions with the study).
bool is_of_kind(const std::string& start, OutputKind kind) {
  if (const auto is_it = is_for_other_tools(start, kind)) return *is_it;
  const auto has = [&](const char* part) { return start.find(part) != std::string::npos; };
  const bool is_page = start.starts_with("<!DOCTYPE html>");
  if (kind == OutputKind::RunPage) return is_page && has("<title>Stagecraft run</title>");
  if (kind == OutputKind::Picture) return start.starts_with("<svg ") && has("<!-- Stagecraft -->");
  constexpr const char* kSchema = "schema";
  const bool is_picture = start.starts_with("<svg ") && has("<!-- Stagecraft study -->");
  if (kind == OutputKind::SavedCommands) return start.starts_with(kSavedCommandsStart);
  if (kind == OutputKind::StepTable) return start.starts_with("name,framework,model,platform,");
  if (kind == OutputKind::Validation) return is_picture || start.starts_with("table,platform,precision,");
  if (kind == OutputKind::StudyReport) {
    const bool is_study = is_page && (has("<title>Stagecraft study</title>") || has("<title>Study "));
    return is_study || is_picture || start.starts_with("study,") || start.starts_with("Study ") ||
           start.starts_with("# Study ");
  }
  const std::string kinds = name_of(kind);
  const std::string expected = "stagecraft/" + kinds.substr(0, kinds.find(' ')) + "/";
  for (std::size_t at = start.find(kSchema); at != std::string::npos; at = start.find(kSchema, at + 1)) {
    const std::size_t value = start.find_first_not_of("\"' :\t", at + std::string_view(kSchema).size());
    if (value != std::string::npos && start.compare(value, expected.size(), expected) == 0) return true;
  }
  return false;
}

/// Refuses a path that cannot be that of a file, or whose folder is missing.
void refuse_place(const std::string& path) {
  namespace fs = std::filesystem;
  if (path.empty()) throw InputError("expected the name of a file to write, found an empty one");
  std::error_code problem;
  const InputPlace place{path, 0, 0, ""};
  if (fs::is_directory(path, problem)) throw InputError("cannot be written: it is a directory", place);
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty() && !fs::exists(folder, problem) && !problem) {
    throw InputError("cannot be written: there is no folder '" + folder.string() + "'", place, "make the folder first");
  }
}

/// The name of the file that is being written, which a signal that ends the process removes; null for none.
std::atomic<const char*> unfinished_name = nullptr;

void remove_unfinished(int signal) {
  if (const char* name = unfinished_name) unlink(name);
  std::signal(signal, SIG_DFL);
  std::raise(signal);  // takes effect when the handler returns
}

bool is_ignored(int signal) {
  struct sigaction now{};
  return sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

/// A file that is removed with its owner, or when a signal ends the process, unless it has got its final name.
/// **Requires** one at a time.
class UnfinishedFile {
 public:
  explicit UnfinishedFile(std::string name) : name_(std::move(name)) {
    unfinished_name = name_.c_str();
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXFSZ}) {
      if (!is_ignored(signal)) taken_.emplace_back(signal, remove_unfinished);
    }
  }
  ~UnfinishedFile() {
    std::error_code problem;  // it may have its final name, or not exist
    std::filesystem::remove(name_, problem);
    taken_.clear();
    unfinished_name = nullptr;
  }
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;
  UnfinishedFile(UnfinishedFile&&) = delete;
  UnfinishedFile& operator=(UnfinishedFile&&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  std::string name_;
  std::list<SignalTaken> taken_;
};

}  // namespace

void write_file_atomically(const std::string& path, const TextSource& content) {
  namespace fs = std::filesystem;
  const InputPlace place{path, 0, 0, ""};
  refuse_place(path);
  std::error_code problem;
  if (fs::exists(path, problem) && !fs::is_regular_file(path, problem)) {
    write_text_file(path, content);
    return;
  }
  fs::path target = path;
  if (fs::is_symlink(path, problem)) {
    target = fs::weakly_canonical(path, problem);
    if (problem) throw InputError("cannot be written: " + problem.message(), place);
  }
  const UnfinishedFile beside(target.string() + "." + std::to_string(getpid()) + ".part");
  try {
    write_text_file(beside.name(), content);
  } catch (const InputError& error) {
    throw error.place().file == beside.name() ? InputError(error.message(), place) : error;
  }
  fs::rename(beside.name(), target, problem);
  if (problem) throw InputError("cannot be written: " + problem.message(), place);
}

void write_file_atomically(const std::string& path, std::string_view content) {
  write_file_atomically(path, whole(content));
}

bool names_file(const std::optional<std::string>& output) { return output && *output != "-"; }

std::string path_beside(const std::optional<std::string>& output, const std::string& file) {
  const std::filesystem::path folder =
      names_file(output) ? std::filesystem::absolute(*output).parent_path() : std::filesystem::current_path();
  return std::filesystem::weakly_canonical(file).lexically_relative(std::filesystem::weakly_canonical(folder)).string();
}

void refuse_overwriting(const std::optional<std::string>& output, OutputKind kind,
                        const std::vector<std::string>& inputs) {
  if (!names_file(output)) return;
  refuse_place(*output);
  std::error_code problem;  // set if one of the files does not exist; then the output is not this input
  for (const std::string& input : inputs) {
    if (!std::filesystem::equivalent(*output, input, problem) || problem) continue;
    throw InputError("cannot be written: the command reads it", {*output, 0, 0, ""}, "name another file");
  }
  if (!std::filesystem::is_regular_file(*output, problem)) return;
  if (std::filesystem::file_size(*output, problem) == 0 || is_of_kind(start_of(*output), kind)) return;
  throw InputError("cannot be written: it exists and is no " + name_of(kind), {*output, 0, 0, ""},
                   "name another file, or remove this one");
}

}  // namespace stagecraft
