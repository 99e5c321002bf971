#include "tests/lint/class_size.hpp"

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecraft::lint {
namespace {

constexpr int kMostMethods = 25;
constexpr int kMostFields = 20;
/// Stands in a declaration for the braces of a type that is defined there: `enum {…} kind;`.
constexpr std::string_view kBraces = "{}";

struct Token {
  std::string text;
  int line = 0;
};
using Tokens = std::vector<Token>;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// The end of the string or character literal that starts at `begin`.
std::size_t end_of_literal(const std::string& line, std::size_t begin) {
  std::size_t end = begin + 1;
  while (end < line.size() && line[end] != line[begin]) end += line[end] == '\\' ? 2U : 1U;
  return std::min(end + 1, line.size());
}

/// Words and single punctuation marks; no comments, literals or lines of the preprocessor.
class Lexer {
 public:
  Tokens run(const SourceFile& file) {
    for (std::size_t i = 0; i < file.lines.size(); ++i) take_line(file.lines[i], static_cast<int>(i) + 1);
    return std::move(tokens_);
  }

 private:
  void take_line(const std::string& line, int number) {
    const std::size_t first = line.find_first_not_of(' ');
    const bool directive = closing_.empty() && first != std::string::npos && line[first] == '#';
    std::size_t at = directive ? line.size() : 0;
    while (at < line.size()) at = closing_.empty() ? take(line, at, number) : leave(line, at);
  }

  /// Past the end of a comment or raw string, if it ends on this line.
  std::size_t leave(const std::string& line, std::size_t at) {
    const std::size_t end = line.find(closing_, at);
    if (end == std::string::npos) return line.size();
    return end + std::exchange(closing_, "").size();
  }

  std::size_t take(const std::string& line, std::size_t at, int number) {
    const std::string_view rest = std::string_view(line).substr(at);
    if (rest.starts_with("//")) return line.size();
    if (rest.starts_with("/*")) return enter("*/", at + 2);
    if (rest.starts_with("R\"")) {
      const std::size_t open = rest.find('(');
      return enter(")" + std::string(rest.substr(2, open - 2)) + "\"", at + open + 1);
    }
    if (rest.front() == '"' || rest.front() == '\'') return end_of_literal(line, at);
    if (rest.front() == ' ') return at + 1;
    std::size_t size = 1;
    if (is_word(rest.front())) {
      // A quote within a number separates its digits.
      while (size < rest.size() && (is_word(rest[size]) || (rest[size] == '\'' && std::isdigit(rest.front()) != 0)))
        ++size;
    }
    tokens_.push_back({std::string(rest.substr(0, size)), number});
    return at + size;
  }

  std::size_t enter(std::string closing, std::size_t at) {
    closing_ = std::move(closing);
    return at;
  }

  Tokens tokens_;
  std::string closing_;  ///< what ends the comment or raw string we are in
};

bool contains(const Tokens& tokens, std::string_view word) {
  return std::any_of(tokens.begin(), tokens.end(), [&](const Token& token) { return token.text == word; });
}

/// The position after the bracket that closes the one at `open`; `<` closes with `>`.
std::size_t after_bracket(const Tokens& tokens, std::size_t open) {
  const std::string opening = tokens[open].text;
  const std::string closing = opening == "(" ? ")" : opening == "[" ? "]" : opening == "{" ? "}" : ">";
  int depth = 0;
  for (std::size_t i = open; i < tokens.size(); ++i) {
    if (tokens[i].text == opening) ++depth;
    if (tokens[i].text == closing && --depth == 0) return i + 1;
  }
  return tokens.size();
}

/// Without arguments of templates; `template <…>` goes as well.
Tokens plain(const Tokens& declaration) {
  Tokens result;
  for (std::size_t i = 0; i < declaration.size();) {
    const std::string& text = declaration[i].text;
    if (text == "<" && !contains(result, "=")) {
      i = after_bracket(declaration, i);
    } else {
      if (text != "template") result.push_back(declaration[i]);
      ++i;
    }
  }
  return result;
}

/// The name of the class that the braces after `head` define, if they do.
std::optional<Token> defined_class(const Tokens& head) {
  const Tokens words = plain(head);
  if (contains(words, "enum") || contains(words, "(") || contains(words, "=")) return std::nullopt;
  const auto keyword = std::find_if(words.begin(), words.end(), [](const Token& token) {
    return token.text == "class" || token.text == "struct" || token.text == "union";
  });
  if (keyword == words.end()) return std::nullopt;
  const auto name = keyword + 1;
  const bool is_named = name != words.end() && is_word(name->text.front());
  return Token{is_named ? name->text : "(no name)", keyword->line};
}

/// Counts one member's declaration, which ends before its `;` or with its body.
void count_member(const Tokens& declaration, ClassSize& size) {
  static const std::set<std::string_view> others = {"using", "friend", "typedef", "static_assert",
                                                    "class", "struct", "enum"};
  const Tokens words = plain(declaration);
  if (words.empty() || others.contains(words.front().text)) return;
  if (words.back().text == kBraces) return;  // a type and nothing of it
  const auto equals = std::find_if(words.begin(), words.end(), [](const Token& token) { return token.text == "="; });
  const auto paren = std::find_if(words.begin(), equals, [](const Token& token) { return token.text == "("; });
  const bool is_pointer = paren != equals && (paren + 1)->text == "*";
  if (contains(words, "operator") || (paren != equals && !is_pointer)) {
    if (words.back().text != "delete") ++size.methods;
  } else if (!contains(words, "static")) {
    ++size.fields;
  }
}

/// Reads declarations and counts the members of classes.
class Reader {
 public:
  explicit Reader(const Tokens& tokens) : tokens_(tokens) {}

  std::vector<ClassSize> run() {
    while (at_ < tokens_.size()) step();
    return std::move(done_);
  }

 private:
  struct Scope {
    std::optional<ClassSize> of;  ///< none: a namespace
    Tokens declaration;           ///< so far
  };

  void step() {
    const std::string& text = tokens_[at_].text;
    Tokens& declaration = scopes_.back().declaration;
    if (text == ";") {
      end_declaration();
      ++at_;
    } else if (text == "{") {
      open();
    } else if (text == "}") {
      close();
    } else if (text == "(" || text == "[") {
      skip_brackets();
    } else if (text == "operator") {
      take_operator();
    } else if (text == ":" && !declaration.empty() && is_access(declaration.back().text)) {
      declaration.clear();
      ++at_;
    } else {
      declaration.push_back(tokens_[at_++]);
    }
  }

  /// Attributes and sizes of arrays go. Of parentheses the first token inside stays: `(*` tells a pointer to a function
  /// from a function.
  void skip_brackets() {
    Tokens& declaration = scopes_.back().declaration;
    const std::size_t end = after_bracket(tokens_, at_);
    if (tokens_[at_].text == "(")
      declaration.insert(declaration.end(), {tokens_[at_], tokens_[at_ + 1], tokens_[end - 1]});
    at_ = end;
  }

  /// The word without its mark, which could be mistaken for an initialiser or a bracket.
  void take_operator() {
    scopes_.back().declaration.push_back(tokens_[at_++]);
    if (tokens_[at_].text == "(") at_ += 2;
    while (at_ < tokens_.size() && tokens_[at_].text != "(") ++at_;
  }

  static bool is_access(const std::string& word) {
    return word == "public" || word == "protected" || word == "private";
  }

  void open() {
    Tokens& declaration = scopes_.back().declaration;
    if (contains(declaration, "namespace") || contains(declaration, "extern")) {
      scopes_.emplace_back();
      ++at_;
    } else if (const std::optional<Token> name = defined_class(declaration)) {
      scopes_.push_back({ClassSize{name->text, name->line, 0, 0}, {}});
      ++at_;
    } else {
      skip_braces();
    }
  }

  /// Past a body, an initialiser or an enumeration; a body ends the declaration.
  void skip_braces() {
    Tokens& declaration = scopes_.back().declaration;
    const bool is_function = contains(plain(declaration), "(") && !contains(plain(declaration), "=");
    const bool is_type = contains(declaration, "enum") && !is_function;
    at_ = after_bracket(tokens_, at_);
    const std::string next = at_ < tokens_.size() ? tokens_[at_].text : "";
    if (is_type) declaration.assign(1, Token{std::string(kBraces), 0});
    // `Name() : a_{1}, b_{2} {}`: the braces of an initialiser are no body.
    if (is_function && next != "," && next != "{") end_declaration();
  }

  void close() {
    if (scopes_.size() == 1) return static_cast<void>(++at_);
    const Scope closed = std::move(scopes_.back());
    scopes_.pop_back();
    ++at_;
    Tokens& declaration = scopes_.back().declaration;
    declaration.clear();
    if (closed.of) {
      done_.push_back(*closed.of);
      declaration.push_back({std::string(kBraces), 0});
    }
  }

  void end_declaration() {
    Scope& scope = scopes_.back();
    if (scope.of) count_member(scope.declaration, *scope.of);
    scope.declaration.clear();
  }

  const Tokens& tokens_;
  std::size_t at_ = 0;
  std::vector<Scope> scopes_{1};
  std::vector<ClassSize> done_;
};

}  // namespace

std::vector<ClassSize> classes_of(const SourceFile& file) {
  const Tokens tokens = Lexer().run(file);
  return Reader(tokens).run();
}

std::vector<Violation> check_class_sizes(const std::vector<SourceFile>& files,
                                         const std::vector<std::string>& excused) {
  std::vector<Violation> violations;
  std::set<std::string> used;
  for (const SourceFile& file : files) {
    if (!is_code(file)) continue;
    for (const ClassSize& size : classes_of(file)) {
      if (size.methods <= kMostMethods && size.fields <= kMostFields) continue;
      used.insert(size.name);
      if (std::find(excused.begin(), excused.end(), size.name) != excused.end()) continue;
      violations.push_back({file.path, size.line,
                            size.name + " has " + std::to_string(size.methods) + " methods and " +
                                std::to_string(size.fields) + " fields, more than " + std::to_string(kMostMethods) +
                                " or " + std::to_string(kMostFields) + ": split it by concern"});
    }
  }
  for (const std::string& name : excused) {
    if (!used.contains(name)) violations.push_back({"tests/lint/repository_test.cpp", 0, name + " needs no excuse"});
  }
  return violations;
}

}  // namespace stagecraft::lint
