#pragma once

namespace stagecraft {

/// The version of the program.
[[nodiscard]] const char* program_version();
/// The folder of the sources that the program was built from.
[[nodiscard]] const char* source_folder();

}  // namespace stagecraft
