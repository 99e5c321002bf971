#include "experiments/commands/help_text.hpp"

#include "experiments/commands/command_tree.hpp"
#include "experiments/run/build_facts.hpp"
#include "experiments/view/text_width.hpp"
#include "sim/io/json.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::size_t kColumns = 100;
constexpr std::size_t kNames = 30;  ///< columns of the names, left of what they mean

/// `  --name TEXT    what it means`, with the lines after the first one indented as far.
std::string entry(const std::string& name, const std::string& meaning) {
  std::string text = "  " + name;
  if (text.size() >= kNames) text += "\n";
  std::size_t begin = text.ends_with('\n') ? 0 : text.size();
  const std::string lines = wrapped(meaning, kColumns - kNames);
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = lines.find('\n', at) + 1;
    text += std::string(kNames - begin, ' ') + lines.substr(at, end - at);
    at = end;
    begin = 0;
  }
  return text;
}

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    return entry(make_option_name(option, is_positional) + make_option_opts(option), make_option_desc(option));
  }
  std::string make_subcommand(const CLI::App* command) const override {
    return entry(command->get_name(), command->get_description());
  }
  std::string make_description(const CLI::App* app) const override { return wrapped(app->get_description(), kColumns); }
};

/// The options of a command, for programs that offer them.
Detail::List option_list(const CLI::App& verb) {
  const std::vector<VerbInfo> verbs = command_tree(verb).verbs;
  Detail::List list;
  for (const ArgumentInfo& argument : std::ranges::find(verbs, verb.get_name(), &VerbInfo::name)->arguments) {
    if (argument.positional) continue;
    list.push_back(Detail::Record{{"name", argument.names.front()},
                                  {"description", argument.description},
                                  {"takes_value", argument.takes_value},
                                  {"repeated", argument.repeated},
                                  {"values", Detail::List(argument.values.begin(), argument.values.end())}});
  }
  return list;
}

Answer answer_with(Detail::Record record, std::string text) {
  if (!text.ends_with('\n')) text += '\n';
  return {.text = std::move(text), .json = to_json(std::move(record))};
}

}  // namespace

void lay_out_help(CLI::App& program) { program.formatter(std::make_shared<HelpFormatter>()); }

void add_examples(CLI::App& command, const std::vector<std::string>& examples) {
  if (examples.empty()) return;
  std::string text = examples.size() == 1 ? "Example:" : "Examples:";
  for (const std::string& example : examples) text += "\n  " + example;
  command.footer(text);
}

Answer help_answer(const CLI::App& program_or_verb) {
  const bool is_verb = program_or_verb.get_parent() != nullptr;
  // App::help would answer for the verb that is chosen, which is `help` itself.
  const std::string text = program_or_verb.get_formatter()->make_help(
      &program_or_verb, (is_verb ? "stagecraft " : "") + program_or_verb.get_name(), CLI::AppFormatMode::Normal);
  Detail::Record record{{"help", text}};
  if (is_verb) record.emplace_back("options", option_list(program_or_verb));
  return answer_with(std::move(record), text);
}

Answer version_answer() {
  const std::string text = std::string("stagecraft ") + program_version();
  return answer_with({{"version", text}}, text);
}

}  // namespace stagecraft
