#include "sim/io/megatron_flags.hpp"

#include "sim/base/counted.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::int64_t kMostCount = 1'000'000'000;

struct ShellWord {
  std::string text;
  InputPlace place;
};

/// The words of a text as a shell divides it, without what a shell would put in their place.
class ShellWords {
 public:
  ShellWords(std::string_view text, std::string file) : text_(text), file_(std::move(file)) {}

  std::vector<ShellWord> read() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (is_blank(c)) {
        end_word();
        step();
      } else if (c == '#' && !in_word_) {
        while (at_ < text_.size() && text_[at_] != '\n') step();
      } else {
        read_part(c);
      }
    }
    end_word();
    return std::move(words_);
  }

 private:
  static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

  void step() {
    if (text_[at_] == '\n') {
      ++line_;
      column_ = 0;
    }
    ++column_;
    ++at_;
  }

  [[nodiscard]] InputPlace here() const { return {file_, line_, column_, ""}; }

  void end_word() {
    if (in_word_) words_.push_back(std::move(word_));
    in_word_ = false;
    word_ = {};
  }

  /// `place`: of the first character of the word that is not a quote.
  void begin_word(const InputPlace& place) {
    if (!in_word_) word_.place = place;
    in_word_ = true;
  }

  void read_part(char c) {
    if (c == '\'' || c == '"') {
      read_quoted(c);
    } else if (c == '\\') {
      step();
      if (at_ == text_.size()) return;
      if (text_[at_] == '\r') step();
      if (at_ < text_.size() && text_[at_] == '\n') {
        step();
        return;
      }
      take_character();
    } else {
      take_character();
    }
  }

  void take_character() {
    begin_word(here());
    word_.text += text_[at_];
    step();
  }

  void read_quoted(char mark) {
    const InputPlace open = here();
    step();
    begin_word(here());
    while (at_ < text_.size() && text_[at_] != mark) {
      if (mark == '"' && text_[at_] == '\\' && at_ + 1 < text_.size()) step();
      word_.text += text_[at_];
      step();
    }
    if (at_ == text_.size()) throw InputError("the quotation mark is not closed", open);
    step();
  }

  std::string_view text_;
  std::string file_;
  std::size_t at_ = 0;
  int line_ = 1;
  int column_ = 1;
  bool in_word_ = false;
  ShellWord word_;
  std::vector<ShellWord> words_;
};

bool is_flag(const std::string& word) { return word.starts_with("--") && word.size() > 2; }

bool has_variable(const std::string& word) { return word.find('$') != std::string::npos; }

/// Whether a word stands for flags: all of an array or of what a script is given, or a variable with such a name as
/// those of Megatron-LM's scripts.
bool stands_for_flags(std::string word) {
  if (word.ends_with('}')) word.pop_back();
  if (word == "$@" || word == "$*") return true;
  const bool is_array = word.find("[@]") != std::string::npos || word.find("[*]") != std::string::npos;
  return is_array || (word.starts_with('$') && word.ends_with("ARGS"));
}

[[noreturn]] void refuse_variable(const std::string& expected, const std::string& word, const InputPlace& place,
                                  const std::string& hint) {
  throw InputError(
      "expected " + expected + ", found " + quote(word) + ", a variable of the shell whose value is not known here",
      place, hint);
}

[[noreturn]] void refuse_flags_in_variable(const std::string& word, const InputPlace& place) {
  refuse_variable("flags", word, place, "write the flags themselves: 'echo' prints them");
}

/// Flags with the words behind them, `--name=value` too.
std::vector<MegatronFlags::Flag> flags_of(const std::vector<ShellWord>& words, std::size_t begin) {
  std::vector<MegatronFlags::Flag> flags;
  for (std::size_t i = begin; i < words.size(); ++i) {
    const auto& [text, place] = words[i];
    if (stands_for_flags(text)) refuse_flags_in_variable(text, place);
    if (!is_flag(text)) {
      if (flags.empty()) {
        if (has_variable(text)) refuse_flags_in_variable(text, place);
        throw InputError("expected a flag such as --pipeline-model-parallel-size, found " + quote(text), place);
      }
      MegatronFlags::Flag& flag = flags.back();
      if (flag.values.empty()) flag.value_place = {place.file, place.line, place.column, flag.place.key};
      flag.values.push_back(text);
      continue;
    }
    const std::size_t equals = text.find('=');
    MegatronFlags::Flag flag{text.substr(2, equals == std::string::npos ? equals : equals - 2), {}, place, place};
    flag.place.key = "--" + flag.name;
    flag.value_place.key = flag.place.key;
    if (equals != std::string::npos) {
      flag.values.push_back(text.substr(equals + 1));
      flag.value_place.column += static_cast<int>(equals) + 1;
    }
    flags.push_back(std::move(flag));
  }
  return flags;
}

/// Where the words of the launcher end: behind the name of the training script, if the text begins with a command.
std::size_t end_of_launcher(const std::vector<ShellWord>& words) {
  if (words.empty() || is_flag(words.front().text)) return 0;
  const auto script = std::ranges::find_if(words, [](const ShellWord& word) { return word.text.ends_with(".py"); });
  return script == words.end() ? 0 : static_cast<std::size_t>(script - words.begin()) + 1;
}

/// The value of one of the launcher's flags, which have either of two spellings.
std::optional<std::int64_t> launcher_count(const std::vector<ShellWord>& words, std::size_t end,
                                           const std::string& name) {
  for (std::size_t i = 0; i < end; ++i) {
    std::string word = words[i].text;
    std::string value = i + 1 < end ? words[i + 1].text : "";
    if (const std::size_t equals = word.find('='); equals != std::string::npos) {
      value = word.substr(equals + 1);
      word.resize(equals);
    }
    std::ranges::replace(word, '_', '-');
    if (word != name) continue;
    const auto count = parse_count(value);
    if (count && *count.value >= 1 && *count.value <= kMostCount) return count.value;
    InputPlace place = words[i].place;
    place.key = name;
    throw InputError("expected a whole number from 1, found " + quote(value), place);
  }
  return std::nullopt;
}

/// Whether two names differ in one place only, by at most two characters.
bool differ_in_one_place(std::string_view a, std::string_view b) {
  const auto [front_a, front_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  a.remove_prefix(static_cast<std::size_t>(front_a - a.begin()));
  b.remove_prefix(static_cast<std::size_t>(front_b - b.begin()));
  while (!a.empty() && !b.empty() && a.back() == b.back()) {
    a.remove_suffix(1);
    b.remove_suffix(1);
  }
  return a.size() <= 2 && b.size() <= 2;
}

/// Whether a name is another one without some of its words.
bool lacks_words(const std::string& name, const std::string& whole) {
  const std::string words = "-" + whole + "-";
  std::size_t at = 0;
  std::size_t count = 0;
  for (std::size_t begin = 0; begin <= name.size(); ++count) {
    const std::size_t end = std::min(name.find('-', begin), name.size());
    const std::string word = "-" + name.substr(begin, end - begin) + "-";
    at = words.find(word, at);
    if (at == std::string::npos) return false;
    at += word.size() - 1;
    begin = end + 1;
  }
  return count > 1;
}

/// Whether a name that is not read may be a mistake for one that is. Megatron-LM has hundreds of others.
bool may_mean(std::string name, const std::string& read) {
  std::ranges::replace(name, '_', '-');
  return differ_in_one_place(name, read) || lacks_words(name, read);
}

std::optional<std::int64_t> ranks_of(const std::vector<ShellWord>& words, std::size_t end) {
  const auto nodes = launcher_count(words, end, "--nnodes");
  const auto processes = launcher_count(words, end, "--nproc-per-node");
  if (!processes) return std::nullopt;
  return std::min(kMostCount, nodes.value_or(1) * *processes);
}

}  // namespace

MegatronFlags::MegatronFlags(std::vector<Flag> flags, std::optional<std::int64_t> ranks, std::string file)
    : flags_(std::move(flags)), ranks_(ranks), file_(std::move(file)) {
  for (auto flag = flags_.begin(); flag != flags_.end(); ++flag) {
    if (std::any_of(flags_.begin(), flag, [&](const Flag& other) { return other.name == flag->name; })) {
      throw InputError("is given twice", flag->place);
    }
  }
}

const MegatronFlags::Flag* MegatronFlags::find(const std::string& name) const {
  const auto found = std::ranges::find(flags_, name, &Flag::name);
  return found == flags_.end() ? nullptr : &*found;
}

void MegatronFlags::add(Flag flag) {
  if (!has(flag.name)) flags_.push_back(std::move(flag));
}

const MegatronFlags::Flag* MegatronFlags::take(const std::string& name) {
  asked_.push_back(name);
  const auto found = std::ranges::find(flags_, name, &Flag::name);
  if (found == flags_.end()) return nullptr;
  found->is_taken = true;
  return &*found;
}

bool MegatronFlags::take_switch(const std::string& name) {
  const Flag* flag = take(name);
  if (flag == nullptr) return false;
  if (flag->values.empty()) return true;
  if (has_variable(flag->values.front())) refuse_flags_in_variable(flag->values.front(), flag->value_place);
  throw InputError("takes no value, found " + quote(flag->values.front()), flag->value_place);
}

std::optional<std::string> MegatronFlags::take_word(const std::string& name) {
  const Flag* flag = take(name);
  if (flag == nullptr) return std::nullopt;
  if (flag->values.size() != 1) {
    const auto variable = std::ranges::find_if(flag->values, has_variable);
    if (variable != flag->values.end()) refuse_flags_in_variable(*variable, flag->place);
    throw InputError(
        "expected one value, found " + (flag->values.empty() ? "none" : counted(flag->values.size(), "value")),
        flag->place);
  }
  if (!has_variable(flag->values.front())) return flag->values.front();
  refuse_variable("a value", flag->values.front(), flag->value_place, "write the value itself");
}

std::optional<std::int64_t> MegatronFlags::take_count(const std::string& name, std::int64_t least) {
  const std::optional<std::string> word = take_word(name);
  if (!word) return std::nullopt;
  const auto count = parse_count(*word);
  if (count && *count.value >= least && *count.value <= kMostCount) return count.value;
  throw InputError("expected a whole number from " + std::to_string(least) + " to " + std::to_string(kMostCount) +
                       ", found " + quote(*word),
                   value_place(name));
}

std::optional<double> MegatronFlags::take_number(const std::string& name) {
  const std::optional<std::string> word = take_word(name);
  if (!word) return std::nullopt;
  if (const auto number = parse_number(*word)) return number.value;
  throw InputError("expected a number of at least 0, found " + quote(*word), value_place(name));
}

std::optional<std::string> MegatronFlags::take_choice(const std::string& name, const std::vector<std::string>& known) {
  std::optional<std::string> word = take_word(name);
  if (!word || std::ranges::find(known, *word) != known.end()) return word;
  throw InputError("unknown value " + quote(*word), value_place(name), suggest_name(*word, known));
}

InputPlace MegatronFlags::place(const std::string& name) const {
  const Flag* flag = find(name);
  return flag != nullptr ? flag->place : InputPlace{file_, 0, 0, "--" + name};
}

InputPlace MegatronFlags::value_place(const std::string& name) const {
  const Flag* flag = find(name);
  return flag != nullptr ? flag->value_place : InputPlace{file_, 0, 0, "--" + name};
}

std::vector<std::string> MegatronFlags::left() const {
  std::vector<std::string> names;
  for (const Flag& flag : flags_) {
    if (!flag.is_taken) names.push_back("--" + flag.name);
  }
  return names;
}

void MegatronFlags::refuse_mistake(const std::string& name) const {
  const auto meant = std::ranges::find_if(asked_, [&](const std::string& asked) { return may_mean(name, asked); });
  if (meant == asked_.end()) return;
  throw InputError("is no flag of Megatron-LM", place(name), "did you mean --" + *meant + "?");
}

MegatronFlags parse_megatron_flags(std::string_view text, const std::string& file_name) {
  const std::vector<ShellWord> words = ShellWords(text, file_name).read();
  const std::size_t begin = end_of_launcher(words);
  return {flags_of(words, begin), ranks_of(words, begin), file_name};
}

}  // namespace stagecraft
