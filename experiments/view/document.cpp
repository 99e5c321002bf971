#include "experiments/view/document.hpp"

#include "sim/base/utf8.hpp"

#include <fmt/format.h>

#include <functional>
#include <string_view>

namespace stagecraft {
namespace {

using Escape = std::function<std::string(const std::string&)>;

Table escaped(Table table, const Escape& escape) {
  for (std::string& cell : table.header) cell = escape(cell);
  for (std::vector<std::string>& row : table.rows) {
    for (std::string& cell : row) cell = escape(cell);
  }
  return table;
}

/// The text with a backslash before each character that Markdown, or HTML inside it, would take for markup.
std::string markdown(const std::string& text) {
  std::string result;
  for (const char c : one_line(text)) {
    if (std::string_view(R"(\`*_[]<>&|~#$@)").find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

std::string markdown_row(const std::vector<std::string>& cells, bool is_strong) {
  std::string line = "|";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string text = markdown(cells[i]);
    line += is_strong && i == 0 ? " **" + text + "** |" : " " + text + " |";
  }
  return line + "\n";
}

std::string markdown_table(const Section& section) {
  const Table& table = *section.table;
  std::string text = markdown_row(table.header, false) + "|";
  for (std::size_t i = 0; i < table.header.size(); ++i) text += table.is_left(i) ? " --- |" : " ---: |";
  text += "\n";
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    text += markdown_row(table.rows[i], section.strong_rows.contains(i));
  }
  return text + "\n";
}

}  // namespace

std::string one_line(const std::string& text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    if (length != 0 && !is_control_character(std::string_view(text).substr(at, length))) {
      result += text.substr(at, length);
      at += length;
      continue;
    }
    const char byte = text[at++];
    result += byte == '\n' ? "\\n" : byte == '\t' ? "\\t" : fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  }
  return result;
}

std::string to_text(const Document& document) {
  std::string text = one_line(document.title) + "\n";
  for (const Section& section : document.sections) {
    if (!section.heading.empty()) text += "\n" + one_line(section.heading) + "\n";
    for (const std::string& sentence : section.sentences) text += one_line(sentence) + "\n";
    if (section.table) text += to_text(escaped(*section.table, one_line), std::nullopt);
    for (const std::string& item : section.items) text += "- " + one_line(item) + "\n";
  }
  return text;
}

std::string to_markdown(const Document& document) {
  std::string text = "# " + markdown(document.title) + "\n\n";
  for (const Section& section : document.sections) {
    if (!section.heading.empty()) text += "## " + markdown(section.heading) + "\n\n";
    for (const std::string& sentence : section.sentences) text += markdown(sentence) + "\n\n";
    if (section.table) text += markdown_table(section);
    for (const std::string& item : section.items) text += "- " + markdown(item) + "\n";
    if (!section.items.empty()) text += "\n";
  }
  text.erase(text.find_last_not_of('\n') + 2);
  return text;
}

}  // namespace stagecraft
