#include "experiments/commands/add_option.hpp"
#include "experiments/commands/man_page.hpp"
#include "experiments/commands/verbs.hpp"
#include "experiments/run/build_facts.hpp"
#include "sim/io/json.hpp"

namespace stagecraft {
namespace {

VerbAction configure_man(CLI::App& command) {
  return [&command](const Settings&) {
    const std::string page = man_page(command_tree(command), program_version());
    return Answer{.text = page, .json = to_json(Detail::Record{{"man_page", page}})};
  };
}

}  // namespace

const Verb man_verb{
    .name = "man",
    .summary = "print the manual page",
    .configure = configure_man,
    .examples = {"stagecraft man"},
};

}  // namespace stagecraft
