#pragma once

#include "experiments/commands/verb.hpp"

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace stagecraft {

/// Makes the help of the program, and of the verbs that are added to it later, fit in 100 columns.
void lay_out_help(CLI::App& program);

/// Adds the examples to the end of a verb's help.
void add_examples(CLI::App& command, const std::vector<std::string>& examples);

/// The help of the program or of one verb.
[[nodiscard]] Answer help_answer(const CLI::App& program_or_verb);

/// The version of the program.
[[nodiscard]] Answer version_answer();

}  // namespace stagecraft
