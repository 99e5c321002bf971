#include "experiments/commands/add_option.hpp"
#include "experiments/commands/completion_script.hpp"
#include "experiments/commands/verbs.hpp"
#include "experiments/run/option_text.hpp"
#include "sim/io/json.hpp"

#include <memory>

namespace stagecraft {
namespace {

VerbAction configure_completion(CLI::App& command) {
  auto shell = std::make_shared<std::string>();
  add_required(command, "SHELL", *shell, "bash, zsh or fish");
  return [shell, &command](const Settings&) {
    const std::string& name = read_choice_option("SHELL", *shell, {"bash", "zsh", "fish"});
    const CommandTree tree = command_tree(command);
    const std::string script = name == "bash"  ? bash_completion(tree)
                               : name == "zsh" ? zsh_completion(tree)
                                               : fish_completion(tree);
    return Answer{.text = script, .json = to_json(Detail::Record{{"shell", name}, {"script", script}})};
  };
}

}  // namespace

const Verb completion_verb{
    .name = "completion",
    .summary = "print a script that makes a shell complete commands, options and names",
    .configure = configure_completion,
    .examples = {"stagecraft completion bash"},
};

}  // namespace stagecraft
