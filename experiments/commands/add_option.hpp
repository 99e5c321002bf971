#pragma once

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace stagecraft {

// Functions that add options to a verb. They keep the parser's header out of the verbs, because it takes longer to
// compile than the rest of a verb. A name is `--long`, `-s,--long`, or a name without dashes for a positional argument.

/// An option that may be left out; `into` then keeps its value, and the help shows that value as the default.
void add_option(CLI::App& command, const std::string& name, std::string& into, const std::string& help);
void add_option(CLI::App& command, const std::string& name, std::optional<std::string>& into, const std::string& help);
void add_required(CLI::App& command, const std::string& name, std::string& into, const std::string& help);

/// An option that may be given several times, with one value each.
void add_repeated(CLI::App& command, const std::string& name, std::vector<std::string>& into, const std::string& help);
void add_required_repeated(CLI::App& command, const std::string& name, std::vector<std::string>& into,
                           const std::string& help);

/// An argument of one or more values.
void add_required_list(CLI::App& command, const std::string& name, std::vector<std::string>& into,
                       const std::string& help);

void add_flag(CLI::App& command, const std::string& name, bool& into, const std::string& help);

}  // namespace stagecraft
