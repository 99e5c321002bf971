#include "experiments/commands/completion_script.hpp"

#include "sim/base/text.hpp"

#include <map>
#include <set>

namespace stagecraft {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

/// Puts a backslash before each character of `special`.
std::string escaped(const std::string& text, const std::string& special) {
  std::string result;
  for (char c : text) {
    if (special.find(c) != std::string::npos) result += '\\';
    result += c;
  }
  return result;
}

/// All words that may follow a verb: its options, and the known values of its positional arguments.
std::string words_of(const std::vector<ArgumentInfo>& arguments) {
  std::vector<std::string> words;
  for (const ArgumentInfo& argument : arguments) {
    const std::vector<std::string>& more = argument.positional ? argument.values : argument.names;
    words.insert(words.end(), more.begin(), more.end());
  }
  return joined(words);
}

/// The words that may stand behind a comma where `values` may not: by option and the last item without `=` before it,
/// such as `--schedule 1f1b-star`.
std::map<std::string, std::string> later_words(const CommandTree& tree) {
  std::map<std::string, std::string> words;
  for (const VerbInfo& verb : tree.verbs) {
    for (const ArgumentInfo& argument : verb.arguments) {
      for (const auto& [first, items] : argument.later) words[argument.names.front() + " " + first] = joined(items);
    }
  }
  return words;
}

/// The branches of a `case` in bash or zsh over option and that item; `open` and `close` enclose the words. An unknown
/// item has none.
std::string later_branches(const CommandTree& tree, const std::string& open, const std::string& close) {
  std::set<std::string> options;
  std::string text;
  for (const auto& [at, words] : later_words(tree)) {
    text += "      '" + at + "') " + open + words + close + " ;;\n";
    options.insert(at.substr(0, at.find(' ')));
  }
  for (const std::string& option : options) text += "      '" + option + " '*) " + open + close + " ;;\n";
  return text;
}

/// The branches of a `case` in bash that set the known values of each verb's options.
std::string bash_values(const CommandTree& tree) {
  std::string text;
  for (const VerbInfo& verb : tree.verbs) {
    for (const ArgumentInfo& argument : verb.arguments) {
      if (argument.positional || argument.values.empty()) continue;
      for (const std::string& name : argument.names) {
        text += "    '" + verb.name + " " + name + "') values=" + shell_word(joined(argument.values)) +
                (argument.takes_list ? " list=1" : "") + " ;;\n";
      }
    }
  }
  return text;
}

/// The options that take a value, as a pattern of `case`.
std::string options_with_value(const CommandTree& tree) {
  std::map<std::string, bool> names;
  for (const VerbInfo& verb : tree.verbs) {
    for (const ArgumentInfo& argument : verb.arguments) {
      if (argument.positional || !argument.takes_value) continue;
      for (const std::string& name : argument.names) names[name] = true;
    }
  }
  std::string pattern;
  for (const auto& [name, present] : names) pattern += (pattern.empty() ? "" : "|") + name;
  return pattern;
}

std::string zsh_argument(const ArgumentInfo& argument) {
  const std::string special = "[]:\\";
  const std::string words = joined(argument.values);
  const std::string action = words.empty()         ? "_files"
                             : argument.takes_list ? "{_stagecraft_items " + argument.names.front() + " " + words + "}"
                                                   : "(" + words + ")";
  if (argument.positional) {
    return shell_word(":" + escaped(argument.names.front(), special) + ":" + action);
  }
  std::string text;
  for (const std::string& name : argument.names) {
    const std::string value = argument.takes_value ? ":value:" + action : "";
    if (!text.empty()) text += ' ';
    std::string specification = "*" + name;
    specification += argument.takes_value && name.starts_with("--") ? "=[" : "[";
    specification.append(escaped(argument.description, special)).append("]").append(value);
    text += shell_word(specification);
  }
  return text;
}

std::string fish_argument(const std::string& condition, const ArgumentInfo& argument) {
  std::string line = "complete -c stagecraft -n " + shell_word(condition);
  if (!argument.positional) {
    for (const std::string& name : argument.names) {
      line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    }
  }
  if (argument.takes_value && !argument.positional) line += " -r";
  if (!argument.values.empty()) {
    const std::string words = joined(argument.values);
    const std::string items = "(__stagecraft_items " + argument.names.front() + " " + words + ")";
    line += " -a " + shell_word(argument.takes_list ? items : words);
  }
  return line + " -d " + shell_word(argument.description) + "\n";
}

}  // namespace

std::string bash_completion(const CommandTree& tree) {
  std::string verbs;
  for (const VerbInfo& verb : tree.verbs) verbs += (verbs.empty() ? "" : " ") + verb.name;
  std::string text =
      "# bash completion for " + tree.program + "; load it with: source <(" + tree.program + " completion bash)\n_" +
      tree.program +
      "() {\n"
      "  local typed=${COMP_WORDS[COMP_CWORD]} at=$COMP_CWORD verb='' words='' values='' list='' before='' head='' "
      "item i\n"
      "  # bash takes --option=a,k=v for five words\n"
      "  while ((at > 1)) && [[ ${COMP_WORDS[at]} == = || ${COMP_WORDS[at-1]} == = ]]; do\n"
      "    at=$((at - 1)) typed=${COMP_WORDS[at]}$typed\n"
      "  done\n"
      "  local option=${COMP_WORDS[at-1]} current=$typed whole=''\n"
      "  [[ $typed != --*=* ]] || { option=${typed%%=*} current=${typed#*=} whole=$option=; }\n"
      "  for ((i = 1; i < at; i++)); do\n"
      "    [[ ${COMP_WORDS[i]} == -* ]] || { verb=${COMP_WORDS[i]}; break; }\n"
      "  done\n"
      "  case \"$verb $option\" in\n" +
      bash_values(tree) +
      "  esac\n"
      "  if [[ -n $list && $current == *,* ]]; then\n"
      "    before=${current%,*},\n"
      "    local -a items\n"
      "    IFS=, read -ra items <<< \"$before\"\n"
      "    for item in \"${items[@]}\"; do [[ $item == *=* ]] || head=$item; done\n"
      "    case \"$option $head\" in\n" +
      later_branches(tree, "values='", "'") +
      "    esac\n"
      "  fi\n"
      "  case \"$option\" in\n"
      "    " +
      options_with_value(tree) +
      ")\n"
      "      mapfile -t COMPREPLY < <(compgen -P \"$whole$before\" -W \"$values\" -- \"${current#\"$before\"}\"\n"
      "        [[ -n $list ]] || compgen -P \"$whole\" -f -- \"$current\")\n"
      "      [[ $COMP_WORDBREAKS != *=* ]] || before=${typed%\"${typed##*=}\"} "
      "COMPREPLY=(\"${COMPREPLY[@]#\"$before\"}\")\n"
      "      [[ -n ${COMPREPLY[*]} ]] || COMPREPLY=()\n"
      "      [[ -z $list ]] || compopt +o filenames 2>/dev/null\n"
      "      [[ ${COMPREPLY[*]} != *= ]] || compopt -o nospace 2>/dev/null\n"
      "      return ;;\n"
      "  esac\n"
      "  case \"$verb\" in\n"
      "    '') words=" +
      shell_word(verbs + " " + words_of(tree.arguments)) + " ;;\n";
  for (const VerbInfo& verb : tree.verbs) {
    text += "    " + verb.name + ") words=" + shell_word(words_of(verb.arguments)) + " ;;\n";
  }
  return text +
         "  esac\n"
         "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$typed\"\n"
         "    [[ -z $verb || $typed == -* ]] || compgen -f -- \"$typed\")\n"
         "}\n"
         "complete -o filenames -F _" +
         tree.program + " " + tree.program + "\n";
}

std::string zsh_completion(const CommandTree& tree) {
  std::string text = "#compdef " + tree.program + "\n# zsh completion; load it with: source <(" + tree.program +
                     " completion zsh)\n"
                     "_stagecraft_items() {\n"
                     "  local -a heads=(${${(s:,:)${PREFIX%,*}}:#*=*})\n"
                     "  local at=\"$1 ${heads[-1]}\"\n"
                     "  local -a items=(\"${@[2,-1]}\")\n"
                     "  if compset -P '*,'; then\n"
                     "    case $at in\n" +
                     later_branches(tree, "items=(", ")") + "    esac\n  fi\n  compadd -S '' -a items\n}\n_" +
                     tree.program + "() {\n  local -a verbs\n  verbs=(\n";
  for (const VerbInfo& verb : tree.verbs) {
    text += "    " + shell_word(verb.name + ":" + escaped(verb.summary, ":\\")) + "\n";
  }
  text += "  )\n  local context state line\n  _arguments -C";
  for (const ArgumentInfo& argument : tree.arguments) text += " \\\n    " + zsh_argument(argument);
  text +=
      " \\\n    '1:command:->verb' '*::argument:->rest'\n  case $state in\n    verb) _describe command verbs ;;\n"
      "    rest)\n      case $words[1] in\n";
  for (const VerbInfo& verb : tree.verbs) {
    text += "        " + verb.name + ") _arguments";
    for (const ArgumentInfo& argument : verb.arguments) text += " \\\n          " + zsh_argument(argument);
    text += " ;;\n";
  }
  return text + "      esac ;;\n  esac\n}\ncompdef _" + tree.program + " " + tree.program + "\n";
}

std::string fish_completion(const CommandTree& tree) {
  std::string text = "# fish completion; load it with: " + tree.program + " completion fish | source\n";
  text +=
      "function __stagecraft_items --description 'OPTION ITEM...: the items, after what is typed up to the last "
      "comma'\n"
      "  set -l typed (commandline -ct | string replace -r '^--[^=]*=' '')\n"
      "  set -l before (string replace -r '[^,]*$' '' -- \"$typed\")\n"
      "  set -l items $argv[2..-1]\n"
      "  if test -n \"$before\"\n"
      "    set -l heads (string split , -- \"$before\" | string match -v -r '=|^$')\n"
      "    switch \"$argv[1] $heads[-1]\"\n";
  std::set<std::string> options;
  for (const auto& [at, words] : later_words(tree)) {
    text += "      case '" + at + "'\n        set items " + words + "\n";
    options.insert(at.substr(0, at.find(' ')));
  }
  for (const std::string& option : options) text += "      case '" + option + " *'\n        set items\n";
  text +=
      "    end\n"
      "  end\n"
      "  test (count $items) -eq 0; or printf '%s\\n' \"$before\"$items\n"
      "end\n";
  for (const ArgumentInfo& argument : tree.arguments) text += fish_argument("__fish_use_subcommand", argument);
  for (const VerbInfo& verb : tree.verbs) {
    text +=
        "complete -c stagecraft -f -n __fish_use_subcommand -a " + verb.name + " -d " + shell_word(verb.summary) + "\n";
    for (const ArgumentInfo& argument : verb.arguments) {
      if (argument.positional && argument.values.empty()) continue;
      text += fish_argument("__fish_seen_subcommand_from " + verb.name, argument);
    }
  }
  return text;
}

}  // namespace stagecraft
