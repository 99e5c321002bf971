#include "experiments/view/document.hpp"

#include "sim/base/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>
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

std::string html(const std::string& text) {
  std::string result;
  for (const char c : one_line(text)) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      case '\'': result += "&#39;"; break;
      default: result += c;
    }
  }
  return result;
}

std::string html_row(const std::vector<std::string>& cells, const char* tag, const Table& table) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    line += fmt::format("<{}{}>{}</{}>", tag, table.is_left(i) ? R"( class="left")" : "", html(cells[i]), tag);
  }
  return line + "</tr>\n";
}

std::string html_table(const Section& section) {
  const Table& table = *section.table;
  std::string text = "<table>\n<thead><tr>" + html_row(table.header, "th", table) + "</thead>\n<tbody>\n";
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    text += section.strong_rows.contains(i) ? R"(<tr class="strong">)"
            : section.weak_rows.contains(i) ? R"(<tr class="weak">)"
                                            : "<tr>";
    text += html_row(table.rows[i], "td", table);
  }
  return text + "</tbody>\n</table>\n";
}

constexpr const char* kStyle =
    R"(body { font: 15px/1.5 system-ui, sans-serif; color: #1c2530; max-width: 75em; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.5em; }
h2 { font-size: 1.1em; margin: 2em 0 0.5em; }
p { margin: 0.2em 0; }
table { border-collapse: collapse; margin: 0.6em 0; font-variant-numeric: tabular-nums; }
th, td { padding: 0.2em 0.8em; text-align: right; white-space: nowrap; border-bottom: 1px solid #dde3ea; }
th { border-bottom: 2px solid #9aa7b5; font-weight: 600; }
.left { text-align: left; white-space: normal; }
.strong td { background: #e4f3e4; }
.weak td { color: #9a3324; }
)";

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

std::string to_html(const Document& document) {
  const std::string title = html(document.title);
  std::string text = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>" + title +
                     "</title>\n<style>\n" + kStyle + "</style>\n</head>\n<body>\n<h1>" + title + "</h1>\n";
  for (const Section& section : document.sections) {
    if (!section.heading.empty()) text += "<h2>" + html(section.heading) + "</h2>\n";
    for (const std::string& sentence : section.sentences) text += "<p>" + html(sentence) + "</p>\n";
    if (section.table) text += html_table(section);
    if (section.items.empty()) continue;
    text += "<ul>\n";
    for (const std::string& item : section.items) text += "<li>" + html(item) + "</li>\n";
    text += "</ul>\n";
  }
  return text + "</body>\n</html>\n";
}

}  // namespace stagecraft
