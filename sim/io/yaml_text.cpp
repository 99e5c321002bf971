#include "sim/io/yaml_text.hpp"

#include "sim/base/text.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

namespace stagecraft {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Whether a word needs no quotes: no reader takes it for a number, a truth value or a null.
bool is_plain_word(std::string_view text) {
  constexpr std::array<std::string_view, 9> kReserved = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"};
  if (text.empty() || !is_letter(text[0])) return false;
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  if (std::ranges::find(kReserved, lower) != kReserved.end()) return false;
  return std::ranges::all_of(text,
                             [](char c) { return is_letter(c) || is_digit(c) || c == '-' || c == '.' || c == '/'; });
}

/// A quantity such as `0.0413 s`, which stays a text without quotes.
bool is_plain_quantity(std::string_view text) {
  const std::size_t blank = text.find(' ');
  if (blank == std::string_view::npos || blank + 1 == text.size()) return false;
  const std::string_view unit = text.substr(blank + 1);
  return parse_number(text.substr(0, blank)) && std::ranges::all_of(unit, is_letter);
}

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += {'\\', c};
    } else if (c == '\n') {
      result += "\\n";
    } else if (byte < 0x20 || byte == 0x7F) {
      std::array<char, 8> escape{};
      std::snprintf(escape.data(), escape.size(), "\\u%04x", byte);
      result += escape.data();
    } else {
      result += c;
    }
  }
  return result + "\"";
}

std::string scalar(std::string_view text) {
  return is_plain_word(text) || is_plain_quantity(text) ? std::string(text) : quoted(text);
}

std::string number(double value) {
  const std::string text = format_number(value);
  // Without a point or an exponent it would be read back as a whole number.
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

struct FlowWriter {
  std::string operator()(std::nullptr_t) const { return "null"; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return number(value); }
  std::string operator()(const std::string& value) const { return scalar(value); }
  std::string operator()(const Detail::List& list) const {
    std::string text = "[";
    for (const Detail& item : list) text += (text.size() > 1 ? ", " : "") + std::visit(*this, item.value);
    return text + "]";
  }
  std::string operator()(const Detail::Record& record) const {
    std::string text = "{";
    for (const auto& [name, value] : record) {
      text += (text.size() > 1 ? ", " : "") + scalar(name) + ": " + std::visit(*this, value.value);
    }
    return text + "}";
  }
};

bool is_container(const Detail& value) {
  return std::holds_alternative<Detail::List>(value.value) || std::holds_alternative<Detail::Record>(value.value);
}

}  // namespace

std::string to_yaml(const Detail::Record& root) {
  if (root.empty()) return "{}\n";  // an empty text would not be a document
  std::string text;
  const FlowWriter write;
  for (const auto& [name, value] : root) {
    text += scalar(name) + ":";
    const auto* list = std::get_if<Detail::List>(&value.value);
    const auto* record = std::get_if<Detail::Record>(&value.value);
    if (list != nullptr && !list->empty() && std::ranges::all_of(*list, is_container)) {
      for (const Detail& item : *list) text += "\n  - " + std::visit(write, item.value);
    } else if (record != nullptr && !record->empty() &&
               std::ranges::all_of(*record, [](const auto& entry) { return is_container(entry.second); })) {
      for (const auto& [key, item] : *record) text += "\n  " + scalar(key) + ": " + std::visit(write, item.value);
    } else {
      text += " " + std::visit(write, value.value);
    }
    text += "\n";
  }
  return text;
}

}  // namespace stagecraft
