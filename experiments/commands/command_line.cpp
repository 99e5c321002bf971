#include "experiments/commands/command_line.hpp"

#include "experiments/commands/help_text.hpp"
#include "experiments/commands/verb.hpp"
#include "experiments/commands/verbs.hpp"
#include "experiments/run/build_facts.hpp"
#include "experiments/run/progress.hpp"
#include "experiments/run/result_so_far.hpp"
#include "experiments/view/text_width.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/json.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <exception>
#include <map>
#include <memory>
#include <new>
#include <optional>

namespace stagecraft {
namespace {

/// The parser of the whole command line, and each verb's action.
struct Program {
  CLI::App app{"Plans and simulates pipeline-parallel training of neural networks, and compares planners.",
               "stagecraft"};
  Settings settings;
  bool no_timings = false;
  Progress progress = Progress::Hidden;
  std::map<const CLI::App*, VerbAction> actions;
};

void add_common_options(CLI::App& app, Program& program) {
  app.add_flag("--json", program.settings.json, "print one JSON document instead of text, also for errors")
      ->disable_flag_override();
  app.add_flag("--no-timings", program.no_timings, "omit the times that planning and replaying took")
      ->disable_flag_override();
}

std::unique_ptr<Program> make_program() {
  auto program = std::make_unique<Program>();
  CLI::App& app = program->app;
  app.set_version_flag("-V,--version", std::string("stagecraft ") + program_version(), "print the version and exit");
  app.set_help_flag("-h,--help", "print this help and exit");
  lay_out_help(app);
  app.require_subcommand(0, 1);  // `answer` refuses a missing command, with a better message than the parser's
  add_common_options(app, *program);
  for (const Verb* verb : all_verbs()) {
    CLI::App* command = app.add_subcommand(verb->name, verb->summary);
    program->actions[command] = verb->configure(*command);
    add_common_options(*command, *program);
    add_examples(*command, verb->examples);
  }
  return program;
}

const CLI::App* chosen_verb(const CLI::App& app) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  return chosen.empty() ? nullptr : chosen.front();
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

/// A hint for an option that other commands take; empty if none does.
std::string other_commands_with(const std::string& option, const CLI::App& app, const CLI::App& verb) {
  std::string commands;
  for (const CLI::App* other : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (other->get_option_no_throw(option) == nullptr) continue;
    commands += (commands.empty() ? "" : ", ") + other->get_name();
  }
  if (commands.empty()) return "";
  return "an option of " + commands + "; see stagecraft " + verb.get_name() + " --help";
}

/// Refuses an argument that neither the program nor the chosen verb takes.
[[noreturn]] void refuse_argument(const CLI::App& app, const std::string& argument) {
  const CLI::App* verb = chosen_verb(app);
  const bool is_option = argument.size() > 1 && argument.starts_with("-");
  if (is_option) {
    const std::string name = argument.substr(0, argument.find('='));
    const std::vector<std::string> known = option_names(verb == nullptr ? app : *verb);
    const bool is_mistyped = verb == nullptr || nearest_name(name, known);
    const std::string others = is_mistyped ? "" : other_commands_with(name, app, *verb);
    throw InputError("unknown option " + quote(name), {}, others.empty() ? suggest_name(name, known) : others);
  }
  if (verb == nullptr) {
    throw InputError("unknown command " + quote(argument), {}, suggest_name(argument, verb_names()));
  }
  throw InputError("unexpected argument " + quote(argument), {}, "see stagecraft " + verb->get_name() + " --help");
}

/// Refuses an option without its value or with several values, and a flag with a value.
[[noreturn]] void refuse_value_count(const CLI::ParseError& error, const std::string& help) {
  const std::string text = error.what();
  const std::string option = text.substr(0, text.find(':'));
  const std::size_t flag = text.find(" was given a disallowed flag override");
  if (flag != std::string::npos) throw InputError("--" + text.substr(0, flag) + " takes no value", {}, "see " + help);
  const bool is_missing = text.ends_with("missing");
  throw InputError(option + (is_missing ? " needs a value" : " takes one value, but several are given"), {},
                   "see " + help);
}

/// Turns an error of the parser into an InputError, so that all refusals look alike.
[[noreturn]] void refuse(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> extras = app.remaining(true);
  if (!extras.empty()) refuse_argument(app, extras.front());
  const CLI::App* verb = chosen_verb(app);
  const std::string help = verb == nullptr ? "stagecraft --help" : "stagecraft " + verb->get_name() + " --help";
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) refuse_value_count(error, help);
  throw InputError(error.what(), {}, "see " + help);
}

void parse(CLI::App& app, const std::vector<std::string>& arguments) {
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // the parser takes them last first
  app.parse(std::move(reversed));
}

bool only_serves(const CLI::App& verb) {
  return std::ranges::any_of(all_verbs(),
                             [&](const Verb* each) { return each->only_serves && each->name == verb.get_name(); });
}

Answer answer(Program& program, const std::vector<std::string>& arguments) {
  CLI::App& app = program.app;
  try {
    parse(app, arguments);
  } catch (const CLI::CallForHelp&) {
    const CLI::App* verb = chosen_verb(app);
    return help_answer(verb == nullptr ? app : *verb);
  } catch (const CLI::CallForVersion&) {
    return version_answer();
  } catch (const CLI::ParseError& error) {
    refuse(app, error);
  }
  const CLI::App* verb = chosen_verb(app);
  if (verb == nullptr) throw InputError("missing command", {}, suggest_name("", verb_names()));
  program.settings.timings = !program.no_timings;
  std::optional<ProgressWatch> watch;
  if (program.progress == Progress::Shown && !only_serves(*verb)) watch.emplace(usual_progress());
  return program.actions.at(verb)(program.settings);
}

/// The JSON document of an error (docs/reference/command-line.md, section "Exit codes").
Answer error_answer(ExitCode code, const std::string& message, const InputPlace& place, const std::string& hint) {
  const auto text_or_null = [](const std::string& text) { return text.empty() ? Detail() : Detail(text); };
  const auto number_or_null = [](int number) { return number == 0 ? Detail() : Detail(number); };
  const std::string key = place.key.empty() ? "" : place.key + ": ";
  Detail::Record record{{"code", static_cast<int>(code)},         {"message", key + message},
                        {"file", text_or_null(place.file)},       {"line", number_or_null(place.line)},
                        {"column", number_or_null(place.column)}, {"hint", text_or_null(hint)}};
  return {.text = {}, .json = to_json(Detail::Record{{"error", std::move(record)}}), .code = code};
}

Answer error_answer(const Error& error) {
  Answer result;
  if (const auto* input = dynamic_cast<const InputError*>(&error)) {
    result = error_answer(error.code(), input->message(), input->place(), input->hint());
  } else {
    result = error_answer(error.code(), error.what(), {}, {});
  }
  result.text = error.what();
  return result;
}

Answer error_answer(ExitCode code, const std::string& message) {
  Answer result = error_answer(code, message, {}, {});
  result.text = message;
  return result;
}

int print_end(const std::vector<std::string>& arguments, Progress progress, std::ostream& out, std::ostream& err) {
  const auto say = [&err](const std::string& line) {
    const ProgressPause pause;
    err << "stagecraft: " << line << '\n' << std::flush;
  };
  const CommandEnd end = end_of_command(arguments, say, progress);
  if (end.wants_json) {
    out << end.answer.json << '\n';
  } else if (end.failed) {
    err << "stagecraft: error: " << end.answer.text << '\n' << std::flush;
  } else {
    out << end.answer.text;
  }
  return static_cast<int>(end.answer.code);
}

}  // namespace

CommandEnd end_of(const std::function<Answer()>& work) {
  try {
    return {work()};
  } catch (const Error& error) {
    return {error_answer(error), true};
  } catch (const std::bad_alloc&) {
    return {error_answer(ExitCode::Input, "out of memory: the request is too large for this machine"), true};
  } catch (const std::exception& error) {
    return {error_answer(ExitCode::Internal, std::string("unexpected failure: ") + error.what()), true};
  }
}

CommandEnd end_of_command(const std::vector<std::string>& arguments, const std::function<void(const std::string&)>& say,
                          Progress progress) {
  const std::unique_ptr<Program> program = make_program();
  program->settings.say = say;
  program->progress = progress;
  CommandEnd end = end_of([&] { return answer(*program, arguments); });
  // If the parser refused an argument before it came to --json, the flag is not set yet, so search for it here.
  end.wants_json = program->settings.json || std::ranges::find(arguments, "--json") != arguments.end();
  return end;
}

int run_command_line(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err) {
  return print_end(arguments, Progress::Hidden, out, err);
}

int run_watched_command_line(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err) {
  const Screen screen(output_terminal_columns());
  return print_end(arguments, Progress::Shown, out, err);
}

void end_interrupted() {
  wipe_progress();
  write_result_so_far();
}

}  // namespace stagecraft
