#pragma once

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace stagecraft {

// What a verb takes, without the parser's own header, which takes a compiler longer than the rest of a verb. A name is
// `--long`, `-s,--long`, or that of an argument without dashes.

/// An option that may be left out; `into` then keeps its value, which the help shows.
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
