#include "experiments/commands/catalogue.hpp"
#include "experiments/view/table.hpp"
#include "experiments/view/text_width.hpp"
#include "sim/base/text.hpp"
#include "sim/io/json.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>

namespace stagecraft {
namespace {

constexpr std::string_view kBytes = "_bytes";

std::string number_text(double value) {
  const bool is_whole = std::abs(value) < 1e15 && value == std::floor(value);
  return is_whole ? std::to_string(static_cast<std::int64_t>(value)) : format_number(value);
}

/// The value as JSON, but a text without quotes and a whole number without a decimal point.
std::string plain(const Detail& value) {
  if (const auto* number = std::get_if<double>(&value.value)) return number_text(*number);
  const auto* text = std::get_if<std::string>(&value.value);
  return text != nullptr ? *text : to_json(value, -1);
}

const Detail& at(const Detail::Record& record, const std::string& key) {
  return std::ranges::find(record, key, &std::pair<std::string, Detail>::first)->second;
}

std::string bounds_text(const Detail::Record& option) {
  const Detail& least = at(option, "least");
  const Detail& most = at(option, "most");
  const auto text = [](const Detail& value) { return number_text(std::get<double>(value.value)); };
  const bool has_least = least != Detail();
  const bool has_most = most != Detail();
  if (has_least && has_most) return text(least) + " to " + text(most);
  if (has_least) return "at least " + text(least);
  return has_most ? "at most " + text(most) : "";
}

std::string option_text(const Detail::Record& option) {
  std::string text = "  " + plain(at(option, "name")) + " (";
  if (at(option, "type") != Detail()) text += plain(at(option, "type")) + "; ";
  text += "default " + plain(at(option, "default"));
  const std::string bounds = bounds_text(option);
  if (!bounds.empty()) text += "; " + bounds;
  return text + "): " + plain(at(option, "description")) + "\n";
}

/// `memory` for the key `memory_bytes`, `microbatch` for `microbatch_size`, `default schedule` for `default_schedule`.
std::string fact_name(std::string key) {
  for (const std::string_view ending : {kBytes, std::string_view("_size")}) {
    if (key.ends_with(ending)) key.resize(key.size() - ending.size());
  }
  std::ranges::replace(key, '_', ' ');
  return key;
}

/// `16 GiB` for a size in bytes.
std::string fact_value(const std::string& key, const Detail& value) {
  return key.ends_with(kBytes) ? format_human_bytes(Bytes(std::get<std::int64_t>(value.value))) : plain(value);
}

bool is_text(const Detail& value) { return std::holds_alternative<std::string>(value.value); }

/// The facts that a row shows: all but paths.
Detail::Record row_facts(const CatalogueEntry& entry) {
  Detail::Record facts = entry.facts;
  std::erase_if(facts, [](const auto& fact) { return fact.first == "file"; });
  return facts;
}

/// Name and facts of each entry, without summaries.
Table facts_table(const std::vector<CatalogueEntry>& entries) {
  Table table{{"name"}, {}, 1, false};
  const Detail::Record first = row_facts(entries.front());
  for (const auto& [key, value] : first) table.header.push_back(fact_name(key));
  const auto number = std::ranges::find_if_not(first, [](const auto& fact) { return is_text(fact.second); });
  table.left_columns += static_cast<std::size_t>(number - first.begin());
  for (const CatalogueEntry& entry : entries) {
    std::vector<std::string>& row = table.rows.emplace_back();
    row.push_back(entry.name);
    for (const auto& [key, value] : row_facts(entry)) row.push_back(fact_value(key, value));
  }
  return table;
}

/// The columns of the longest row.
std::size_t table_width(const Table& table) {
  const std::string text = to_text(table, std::nullopt);
  std::istringstream lines(text);
  std::size_t width = 0;
  for (std::string line; std::getline(lines, line);) width = std::max(width, width_of(line));
  return width;
}

/// Adds the summaries as the last column, in as many lines as they need to stay within `columns`.
Table with_summaries(const Table& facts, const Catalogue& catalogue, std::size_t columns) {
  constexpr std::size_t kGap = 2;
  constexpr std::size_t kLeast = 30;
  const std::size_t used = table_width(facts) + kGap;
  const std::size_t room = used + kLeast < columns ? columns - used : kLeast;
  Table table{facts.header, {}, facts.left_columns, true};
  table.header.push_back(catalogue.summary_word);
  for (std::size_t i = 0; i < facts.rows.size(); ++i) {
    std::istringstream lines(wrapped(catalogue.entries[i].summary, room));
    std::vector<std::string> row = facts.rows[i];
    for (std::string line; std::getline(lines, line); row.assign(facts.header.size(), "")) {
      row.push_back(line);
      table.rows.push_back(row);
    }
  }
  return table;
}

}  // namespace

std::string catalogue_text(const Catalogue& catalogue) {
  constexpr std::size_t kMostColumns = 100;
  if (catalogue.entries.empty()) return "";
  Table table = facts_table(catalogue.entries);
  const std::size_t columns = std::min(kMostColumns, screen_columns().value_or(kMostColumns));
  if (!catalogue.summary_word.empty()) table = with_summaries(table, catalogue, columns);
  return to_text(table) + "all of one: stagecraft list " + catalogue.kind + " NAME\n";
}

std::string entry_text(const CatalogueEntry& entry) {
  std::string text = entry.name + ": " + entry.summary + "\n";
  for (const auto& [key, value] : entry.facts) text += "  " + fact_name(key) + ": " + fact_value(key, value) + "\n";
  if (!entry.source.empty()) text += "  source: " + entry.source + "\n";
  for (const Detail& option : entry.options) text += option_text(std::get<Detail::Record>(option.value));
  return text;
}

}  // namespace stagecraft
