#include "experiments/commands/add_option.hpp"

#include "sim/base/text.hpp"

#include <CLI/CLI.hpp>

#include <string>

namespace stagecraft {

namespace {

/// Adds an option with a value. Another option of the command in the place of the value is refused: it was forgotten.
template <class Value>
CLI::Option* add_valued(CLI::App& command, const std::string& name, Value& into, const std::string& help) {
  return command.add_option(name, into, help)->check([&command](const std::string& value) {
    const bool is_option =
        value.starts_with("--") && command.get_option_no_throw(value.substr(0, value.find('='))) != nullptr;
    return is_option ? "needs a value, found the option " + quote(value) : std::string();
  });
}

}  // namespace

void add_option(CLI::App& command, const std::string& name, std::string& into, const std::string& help) {
  add_valued(command, name, into, help)->capture_default_str();
}

void add_option(CLI::App& command, const std::string& name, std::optional<std::string>& into, const std::string& help) {
  add_valued(command, name, into, help);
}

void add_required(CLI::App& command, const std::string& name, std::string& into, const std::string& help) {
  add_valued(command, name, into, help)->required();
}

void add_repeated(CLI::App& command, const std::string& name, std::vector<std::string>& into, const std::string& help) {
  add_valued(command, name, into, help)->allow_extra_args(false);
}

void add_required_repeated(CLI::App& command, const std::string& name, std::vector<std::string>& into,
                           const std::string& help) {
  add_valued(command, name, into, help)->required()->allow_extra_args(false);
}

void add_required_list(CLI::App& command, const std::string& name, std::vector<std::string>& into,
                       const std::string& help) {
  add_valued(command, name, into, help)->required();
}

void add_flag(CLI::App& command, const std::string& name, bool& into, const std::string& help) {
  command.add_flag(name, into, help)->disable_flag_override();
}

}  // namespace stagecraft
