#include "tests/docs/marks.hpp"

#include "experiments/commands/catalogue.hpp"
#include "planners/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "tests/docs/all_reduce_figures.hpp"
#include "tests/docs/validation_tables.hpp"

#include <algorithm>
#include <string_view>

namespace stagecraft::test {
namespace {

/// The text with each `from` replaced.
std::string with(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

/// The text as a cell of a table: what Markdown would take for markup is escaped.
std::string cell(std::string text) {
  for (const char* special : {"*", "|", "<"}) text = with(std::move(text), special, std::string("\\") + special);
  return text;
}

std::string values_text(const OptionInfo& option) {
  const std::string text = with(expected_text(option), "|", ", ");
  return text.starts_with("a ") ? text.substr(2) : text;
}

std::string table_text(const std::string& argument) {
  const std::string planner = "options of planner ";
  const std::string schedule = "options of schedule ";
  if (argument.starts_with(planner)) return option_table(find_planner(argument.substr(planner.size())).options);
  if (argument.starts_with(schedule)) return option_table(require_family(argument.substr(schedule.size())).parameters);
  const std::string validation = "errors of validation ";
  const std::string left_out = "left out of validation ";
  if (argument.starts_with(validation)) return validation_table(argument.substr(validation.size()));
  if (argument.starts_with(left_out)) return left_out_table(argument.substr(left_out.size()));
  throw InputError("unknown table " + quote(argument), {}, "write '" + planner + "NAME' or '" + schedule + "NAME'");
}

std::string list_text(const std::string& argument) {
  const std::string mark = "; link=";
  const std::size_t end = argument.find(mark);
  const std::string link = end == std::string::npos ? "" : argument.substr(end + mark.size());
  std::vector<std::string> names;
  for (const CatalogueEntry& entry : load_catalogue(argument.substr(0, end)).entries) names.push_back(entry.name);
  std::ranges::sort(names);
  std::string text;
  for (const std::string& name : names) {
    const std::string shown = link.empty() ? "`" + name + "`" : "[" + name + "](" + with(link, "NAME", name) + ")";
    text += (text.empty() ? "" : ", ") + shown;
  }
  return text;
}

}  // namespace

std::string option_table(const std::vector<OptionInfo>& options) {
  if (options.empty()) throw InputError("a table of no options", {}, "leave it out");
  std::string text = "\n| option | values | default | meaning |\n|---|---|---|---|\n";
  for (const OptionInfo& option : options) {
    text += "| `" + option.name + "` | " + cell(values_text(option)) + " | " + cell(to_string(option.default_value)) +
            " | " + cell(option.description) + " |\n";
  }
  return text;
}

std::string filled(const Mark& mark, StudyResults& results) {
  if (mark.kind == "table") return table_text(mark.argument);
  if (mark.kind == "list") return list_text(mark.argument);
  if (mark.kind == "figure" && mark.argument.starts_with("all-reduce=")) return all_reduce_text(mark.argument);
  if (mark.kind == "figure" && mark.argument.starts_with("validation=")) return validation_figure(mark.argument);
  if (mark.kind == "figure" && !has_results(mark.argument, results)) return mark.content;  // of a long study
  if (mark.kind == "figure") return figure_text(mark.argument, results);
  throw InputError("unknown kind of mark " + quote(mark.kind), {}, "write 'table', 'list' or 'figure'");
}

}  // namespace stagecraft::test
