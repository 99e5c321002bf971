#include "experiments/commands/man_page.hpp"

#include <algorithm>
#include <cctype>

namespace stagecraft {
namespace {

/// Escapes the characters that have a meaning in roff.
std::string plain(const std::string& text) {
  std::string result;
  for (char c : text) {
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      result += c;
    }
  }
  const bool looks_like_request = result.starts_with('.') || result.starts_with('\'');
  return (looks_like_request ? "\\&" : "") + result;
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

/// The placeholder for an option's value: the option's long name in capitals.
std::string placeholder(const ArgumentInfo& argument) {
  const std::string& name = argument.names.front();
  return upper(name.substr(std::min(name.find_first_not_of('-'), name.size())));
}

std::string argument_text(const ArgumentInfo& argument) {
  std::string text = ".TP\n";
  std::string names;
  for (const std::string& name : argument.names) {
    names += (names.empty() ? "" : ", ") + std::string(argument.positional ? "\\fI" : "\\fB") + plain(name) + "\\fR";
  }
  text += names;
  if (!argument.positional && argument.takes_value) text += " \\fI" + plain(placeholder(argument)) + "\\fR";
  text += "\n" + plain(argument.description);
  if (argument.required && !argument.positional) text += " (required)";
  if (!argument.default_value.empty()) text += " (default: " + plain(argument.default_value) + ")";
  return text + "\n";
}

std::string verb_text(const std::string& program, const VerbInfo& verb) {
  std::string text = ".SS " + verb.name + "\n\\fB" + program + " " + verb.name + "\\fR";
  for (const ArgumentInfo& argument : verb.arguments) {
    if (argument.positional) {
      const std::string name = "\\fI" + plain(argument.names.front()) + "\\fR";
      text += argument.required ? " " + name : " [" + name + "]";
    } else if (argument.required) {
      text += " " + plain(argument.names.front()) + " \\fI" + plain(placeholder(argument)) + "\\fR";
    }
  }
  text += " [\\fIOPTION\\fR]...\n.PP\n" + plain(verb.summary) + ".\n";
  for (const ArgumentInfo& argument : verb.arguments) text += argument_text(argument);
  return text;
}

constexpr const char* kEnd = R"(.SH EXIT STATUS
.TP
0
done
.TP
1
a defect in the program
.TP
2
the command or its input cannot be used
.TP
3
the answer is no: no plan fits, the simulation ran out of memory, or check found violations
.TP
4
rows of a study failed
.TP
130
interrupted
.SH ENVIRONMENT
.TP
\fBSTAGECRAFT_DATA\fR
folder with the shipped models (traces/), platforms (platforms/) and studies (experiments/studies/); default: the source
tree of the program
)";

}  // namespace

std::string man_page(const CommandTree& tree, const std::string& version) {
  const std::string program = plain(tree.program);
  std::string text = ".TH " + upper(tree.program) + " 1 \"\" \"" + plain(tree.program + " " + version) +
                     "\" \"User Commands\"\n.SH NAME\n" + program +
                     " \\- plan and simulate pipeline\\-parallel training\n.SH SYNOPSIS\n\\fB" + program +
                     "\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR]...\n.SH DESCRIPTION\n" + plain(tree.summary) +
                     "\nResults go to standard output, messages to standard error.\n.SH OPTIONS\n";
  for (const ArgumentInfo& argument : tree.arguments) text += argument_text(argument);
  text += ".SH COMMANDS\n";
  for (const VerbInfo& verb : tree.verbs) text += verb_text(program, verb);
  return text + kEnd;
}

}  // namespace stagecraft
