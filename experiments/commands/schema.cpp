#include "experiments/commands/add_option.hpp"
#include "experiments/commands/verbs.hpp"
#include "sim/io/json_schema.hpp"

#include <memory>
#include <string>

namespace stagecraft {
namespace {

VerbAction configure_schema(CLI::App& command) {
  auto name = std::make_shared<std::string>();
  add_required(command, "FORMAT", *name,
               "the file format, such as model, or the answer of a command, such as simulation");
  return [name](const Settings&) {
    std::string schema(json_schema(*name));
    while (schema.ends_with('\n')) schema.pop_back();
    return Answer{.text = schema + "\n", .json = schema};
  };
}

}  // namespace

const Verb schema_verb{
    .name = "schema",
    .summary = "print the JSON Schema of a file format, or of what a command answers with --json",
    .configure = configure_schema,
    .examples = {"stagecraft schema plan", "stagecraft schema simulation"},
};

}  // namespace stagecraft
