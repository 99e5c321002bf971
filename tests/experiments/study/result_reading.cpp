#include "tests/experiments/study/result_reading.hpp"

#include "sim/io/json.hpp"

#include <doctest/doctest.h>
#include <sqlite3.h>

#include <memory>

namespace stagecraft {
namespace {

std::string value_text(sqlite3_stmt* statement, int column) {
  const int type = sqlite3_column_type(statement, column);
  if (type == SQLITE_NULL) return "NULL";
  if (type == SQLITE_FLOAT) return to_json(sqlite3_column_double(statement, column));  // all its digits
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement, column));
  return {bytes == nullptr ? "" : bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement, column))};
}

}  // namespace

std::vector<std::vector<std::string>> read_csv(const std::string& text) {
  std::vector<std::vector<std::string>> lines;
  std::vector<std::string> fields(1);
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (inside && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      fields.back() += text[++i];
    } else if (c == '"') {
      inside = !inside;
    } else if (!inside && c == ',') {
      fields.emplace_back();
    } else if (!inside && c == '\n') {
      lines.push_back(std::move(fields));
      fields.assign(1, "");
    } else {
      fields.back() += c;
    }
  }
  CHECK_FALSE(inside);
  CHECK(fields == std::vector<std::string>(1));  // the last line ends
  return lines;
}

std::vector<std::vector<std::string>> query(const std::string& path, const std::string& sql) {
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &opened, SQLITE_OPEN_READONLY, nullptr);
  const std::unique_ptr<sqlite3, int (*)(sqlite3*)> database(opened, sqlite3_close_v2);
  REQUIRE(code == SQLITE_OK);
  sqlite3_stmt* prepared = nullptr;
  const int refusal = sqlite3_prepare_v2(opened, sql.c_str(), -1, &prepared, nullptr);
  const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement(prepared, sqlite3_finalize);
  CAPTURE(sql);
  CAPTURE(std::string(sqlite3_errmsg(opened)));
  REQUIRE(refusal == SQLITE_OK);
  std::vector<std::vector<std::string>> rows;
  while (sqlite3_step(prepared) == SQLITE_ROW) {
    std::vector<std::string>& row = rows.emplace_back();
    for (int i = 0; i < sqlite3_column_count(prepared); ++i) row.push_back(value_text(prepared, i));
  }
  return rows;
}

std::string query_one(const std::string& path, const std::string& sql) {
  const auto rows = query(path, sql);
  REQUIRE(rows.size() == 1);
  REQUIRE(rows[0].size() == 1);
  return rows[0][0];
}

std::string dump(const std::string& path) {
  std::string text;
  for (const auto& table : query(path, "SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY rowid")) {
    text += table[1] + '\n';
    for (const auto& row : query(path, "SELECT * FROM \"" + table[0] + "\" ORDER BY rowid")) {
      for (const std::string& value : row) text += std::to_string(value.size()) + ':' + value + ',';
      text += '\n';
    }
  }
  return text;
}

}  // namespace stagecraft
