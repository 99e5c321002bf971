#include "sim/io/layout_string.hpp"

#include "sim/base/text.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::string_view kSymbols = "EtmL|";
constexpr std::size_t kMostSymbols = 1'000'000;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct Placed {
  char c = '\0';
  int column = 0;
};

/// The characters but for commas, which stand anywhere but in front of a digit of a number that has begun.
class LayoutReader {
 public:
  LayoutReader(std::string_view text, InputPlace place)
      : place_(std::move(place)), end_(static_cast<int>(text.size()) + 1) {
    bool in_count = false;
    bool behind_comma = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const Placed each{text[i], static_cast<int>(i) + 1};
      if (each.c == ',') {
        behind_comma = true;
        continue;
      }
      if (in_count && behind_comma && is_digit(each.c) && is_digit(text_.back().c)) {
        fail(each, "a comma says nothing, so Megatron-LM would read on with the number before it",
             "write a symbol between them, or no comma");
      }
      in_count = each.c == '*' || (in_count && is_digit(each.c));
      behind_comma = false;
      text_.push_back(each);
    }
  }

  LayoutString read() {
    while (at_ < text_.size()) {
      if (text_[at_].c == '(') {
        read_group();
      } else {
        read_symbol();
      }
    }
    return split();
  }

 private:
  [[noreturn]] void fail(const Placed& at, const std::string& message, const std::string& hint) const {
    throw InputError(message, place_in(place_, at.column), hint);
  }

  [[nodiscard]] Placed next() const { return at_ < text_.size() ? text_[at_] : Placed{'\0', end_}; }
  [[nodiscard]] std::string found() const {
    return at_ < text_.size() ? quote(std::string(1, text_[at_].c)) : "the end of the layout";
  }

  void append(const std::vector<Placed>& what, std::int64_t times, const Placed& at) {
    if (what.size() * static_cast<std::size_t>(times) > kMostSymbols - symbols_.size()) {
      fail(at, "the layout has more than " + std::to_string(kMostSymbols) + " symbols", "");
    }
    for (std::int64_t i = 0; i < times; ++i) symbols_.insert(symbols_.end(), what.begin(), what.end());
  }

  /// A symbol, and how often it stands there.
  void read_symbol() {
    const Placed symbol = next();
    if (kSymbols.find(symbol.c) == std::string_view::npos || symbol.c == '\0') {
      const std::string hint = symbol.c == '*'   ? "'*' stands behind what it repeats"
                               : symbol.c == ')' ? "a bracket is opened first"
                               : symbol.c == ' ' ? "Megatron-LM reads no blanks"
                                                 : "E embedding, t block, L loss, | the end of a stage";
      fail(symbol, "expected one of E, t, L and '|', or a group in brackets, found " + found(), hint);
    }
    ++at_;
    append({symbol}, next().c == '*' ? read_count() : 1, symbol);
  }

  /// `*n`, of which the `*` is next.
  std::int64_t read_count() {
    ++at_;
    const Placed first = next();
    std::string digits;
    while (is_digit(next().c)) {
      digits += next().c;
      ++at_;
    }
    if (digits.empty()) fail(first, "expected a whole number behind '*', found " + found(), "");
    const auto limit = static_cast<std::int64_t>(kMostSymbols);
    std::int64_t count = 0;
    for (const char digit : digits) count = std::min(limit + 1, count * 10 + (digit - '0'));
    if (count == 0) fail(first, "expected a whole number from 1, found '0'", "leave out what does not occur");
    if (next().c == '*') fail(next(), "what is repeated cannot be repeated again", "multiply the two numbers");
    return count;
  }

  void read_group() {
    const Placed open = next();
    ++at_;
    std::vector<Placed> outer;
    outer.swap(symbols_);
    while (next().c != ')') {
      if (at_ == text_.size()) fail(open, "the bracket is not closed", "a group is (tt|)*14");
      if (next().c == '(') fail(next(), "a group cannot have brackets inside", "write the inner group out");
      read_symbol();
    }
    ++at_;
    if (symbols_.empty()) fail(open, "a group in brackets has at least one symbol", "");
    if (next().c != '*') fail(next(), "expected '*' and a whole number behind the group, found " + found(), "");
    const std::int64_t count = read_count();
    outer.swap(symbols_);
    append(outer, count, open);
  }

  [[nodiscard]] LayoutString split() const {
    LayoutString layout{{""}, {{}}};
    for (const Placed& symbol : symbols_) {
      if (symbol.c == '|') {
        layout.stages.emplace_back();
        layout.columns.emplace_back();
      } else {
        layout.stages.back() += symbol.c;
        layout.columns.back().push_back(symbol.column);
      }
    }
    return layout;
  }

  InputPlace place_;
  int end_;
  std::vector<Placed> text_;
  std::size_t at_ = 0;
  std::vector<Placed> symbols_;
};

/// How many of the things from `first` on are equal.
template <class Things>
std::size_t run_from(const Things& things, std::size_t first) {
  std::size_t end = first;
  while (end < things.size() && things[end] == things[first]) ++end;
  return end - first;
}

std::string stage_text(const LayoutStage& stage) {
  std::string text;
  for (std::size_t i = 0; i < stage.size();) {
    const std::size_t count = run_from(stage, i);
    text += count > 2 ? std::string(1, stage[i]) + "*" + std::to_string(count) : std::string(count, stage[i]);
    i += count;
  }
  return text;
}

std::string repeated(const std::string& text, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += text;
  return all;
}

/// `count` stages, each with the separator behind it.
std::string run_text(const std::string& stage, std::size_t count) {
  const std::string one = stage + "|";
  const std::string many = (stage.empty() ? one : "(" + one + ")") + "*" + std::to_string(count);
  return many.size() < one.size() * count ? many : repeated(one, count);
}

}  // namespace

InputPlace place_in(InputPlace place, int column) {
  place.column = place.column > 0 ? place.column + column - 1 : column;
  return place;
}

LayoutString parse_layout(std::string_view text, const InputPlace& place) { return LayoutReader(text, place).read(); }

std::string write_layout(const std::vector<LayoutStage>& stages) {
  std::string text;
  for (std::size_t s = 0; s < stages.size();) {
    const std::size_t count = run_from(stages, s);
    const bool ends = s + count == stages.size();
    text += run_text(stage_text(stages[s]), ends ? count - 1 : count);
    if (ends) text += stage_text(stages[s]);
    s += count;
  }
  return text;
}

}  // namespace stagecraft
