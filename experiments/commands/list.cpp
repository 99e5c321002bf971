#include "experiments/commands/add_option.hpp"
#include "experiments/commands/catalogue.hpp"
#include "experiments/commands/verbs.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/json.hpp"

#include <memory>

namespace stagecraft {
namespace {

struct ListOptions {
  std::string kind;
  std::optional<std::string> name;
};

/// Removes all entries but the one of that name.
void select(Catalogue& catalogue, const std::string& name) {
  std::vector<std::string> known;
  for (const CatalogueEntry& entry : catalogue.entries) known.push_back(entry.name);
  std::erase_if(catalogue.entries, [&](const CatalogueEntry& entry) { return entry.name != name; });
  if (!catalogue.entries.empty()) return;
  throw InputError("none of the " + catalogue.kind + " is called " + quote(name), {}, suggest_name(name, known));
}

VerbAction configure_list(CLI::App& command) {
  auto options = std::make_shared<ListOptions>();
  add_required(command, "KIND", options->kind,
               "planners, schedules, platforms, models, devices, architectures (or networks) or studies");
  add_option(command, "NAME", options->name, "tell all of the entry of this name: options, bounds, source");
  return [options](const Settings&) {
    Catalogue catalogue = load_catalogue(options->kind == "networks" ? "architectures" : options->kind);
    if (options->name) select(catalogue, *options->name);
    const std::string text = options->name ? entry_text(catalogue.entries.front()) : catalogue_text(catalogue);
    return Answer{.text = text, .json = to_json(catalogue_record(catalogue))};
  };
}

}  // namespace

const Verb list_verb{
    .name = "list",
    .summary = "list what can be chosen, or tell all of one: options with defaults and bounds, source",
    .configure = configure_list,
    .examples = {"stagecraft list planners", "stagecraft list models"},
};

}  // namespace stagecraft
