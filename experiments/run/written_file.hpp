#pragma once

#include "sim/io/text_file.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// Writes a file completely or not at all: to a temporary file beside it, which is then renamed. A file that is not
/// regular (a pipe, a device) is written directly. A symbolic link is followed. The temporary file is removed if the
/// content cannot be had or written, or if a signal ends the process meanwhile.
/// **Throws** InputError if that is not possible, and what `content` throws; an old file of that name is then
/// unchanged.
void write_file_atomically(const std::string& path, const TextSource& content);
void write_file_atomically(const std::string& path, std::string_view content);

/// What a command writes to the file that the user names with --output.
enum class OutputKind : std::uint8_t {
  PlanFile,
  ModelFile,
  PlatformFile,
  EventsFile,
  DeviceFile,
  ArchitectureFile,
  StudyReport,
  PerfettoTrace,  ///< as this program writes it
  ChakraTrace,
  ChakraGroups,
  OrderTable,     ///< of torch.distributed.pipelining
  MegatronFlags,  ///< of a run of Megatron-LM
  RunPage,
  Picture,
  Validation,     ///< predicted steps, as CSV or as a picture
  StepTable,      ///< of measured steps, as this program writes it
  SavedCommands,  ///< that simulate saved plans
};

/// The first line of a file of saved commands.
inline const std::string kSavedCommandsStart = "# Commands that simulate saved plans, written by stagecraft.";

/// Whether the user names a file with --output. `-` is standard output.
[[nodiscard]] bool names_file(const std::optional<std::string>& output);

/// The path of a file from the folder where the output lies, or from the current one if no file is named.
[[nodiscard]] std::string path_beside(const std::optional<std::string>& output, const std::string& file);

/// Refuses, before any work, an output that would replace a file which the command reads, or one that is not of the
/// kind to be written. **Throws** InputError if the file `output` is one of `inputs`, if it exists, is not empty and is
/// something else, or if its folder is missing.
void refuse_overwriting(const std::optional<std::string>& output, OutputKind kind,
                        const std::vector<std::string>& inputs);

}  // namespace stagecraft
