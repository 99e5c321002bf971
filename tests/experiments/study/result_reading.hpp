#pragma once

#include <string>
#include <vector>

namespace stagecraft {

/// The fields of a text of comma-separated values, by line; an independent reader of RFC 4180.
[[nodiscard]] std::vector<std::vector<std::string>> read_csv(const std::string& text);

/// The answer of a database to a query, absent values as `NULL`. Fails the test if the database cannot answer.
[[nodiscard]] std::vector<std::vector<std::string>> query(const std::string& path, const std::string& sql);

/// The answer where it is one value.
[[nodiscard]] std::string query_one(const std::string& path, const std::string& sql);

/// All that is in a database, as text, its rows in the order in which they were inserted.
[[nodiscard]] std::string dump(const std::string& path);

}  // namespace stagecraft
