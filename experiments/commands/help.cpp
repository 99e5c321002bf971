#include "experiments/commands/add_option.hpp"
#include "experiments/commands/help_text.hpp"
#include "experiments/commands/verbs.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <CLI/CLI.hpp>

#include <memory>
#include <optional>
#include <string>

namespace stagecraft {
namespace {

Answer help_of(const CLI::App& program, const std::string& name) {
  for (const CLI::App* verb : program.get_subcommands([](const CLI::App*) { return true; })) {
    if (verb->get_name() == name) return help_answer(*verb);
  }
  throw InputError("unknown command " + quote(name), {}, suggest_name(name, verb_names()));
}

VerbAction configure_help(CLI::App& command) {
  auto name = std::make_shared<std::optional<std::string>>();
  add_option(command, "COMMAND", *name, "the command; default: the list of all");
  return [name, &command](const Settings&) {
    const CLI::App& program = *command.get_parent();
    return *name ? help_of(program, **name) : help_answer(program);
  };
}

}  // namespace

const Verb help_verb{
    .name = "help",
    .summary = "print the help of the program or of a command",
    .configure = configure_help,
    .examples = {"stagecraft help plan"},
};

}  // namespace stagecraft
