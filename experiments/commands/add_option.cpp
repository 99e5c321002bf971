#include "experiments/commands/add_option.hpp"

#include <CLI/CLI.hpp>

namespace stagecraft {

void add_option(CLI::App& command, const std::string& name, std::string& into, const std::string& help) {
  command.add_option(name, into, help)->capture_default_str();
}

void add_option(CLI::App& command, const std::string& name, std::optional<std::string>& into, const std::string& help) {
  command.add_option(name, into, help);
}

void add_required(CLI::App& command, const std::string& name, std::string& into, const std::string& help) {
  command.add_option(name, into, help)->required();
}

void add_repeated(CLI::App& command, const std::string& name, std::vector<std::string>& into, const std::string& help) {
  command.add_option(name, into, help)->allow_extra_args(false);
}

void add_required_repeated(CLI::App& command, const std::string& name, std::vector<std::string>& into,
                           const std::string& help) {
  command.add_option(name, into, help)->required()->allow_extra_args(false);
}

void add_required_list(CLI::App& command, const std::string& name, std::vector<std::string>& into,
                       const std::string& help) {
  command.add_option(name, into, help)->required();
}

void add_flag(CLI::App& command, const std::string& name, bool& into, const std::string& help) {
  command.add_flag(name, into, help)->disable_flag_override();
}

}  // namespace stagecraft
