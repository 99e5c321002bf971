#include "experiments/commands/help_text.hpp"
#include "experiments/commands/verbs.hpp"

namespace stagecraft {
namespace {

VerbAction configure_version(CLI::App& /*command*/) {
  return [](const Settings&) { return version_answer(); };
}

}  // namespace

const Verb version_verb{
    .name = "version",
    .summary = "print the version",
    .configure = configure_version,
    .examples = {"stagecraft version"},
};

}  // namespace stagecraft
