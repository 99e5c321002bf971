#pragma once

#include "experiments/study/results.hpp"
#include "sim/io/json.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <variant>

namespace stagecraft::testing {

inline Detail::Record details_of(const Row& row) {
  return std::get<Detail::Record>(find_key(row.figures, "details")->value);
}

/// Null: there is none.
inline std::optional<double> number(const Detail::Record& record, const std::string& name) {
  const Detail* value = find_key(record, name);
  REQUIRE_MESSAGE(value != nullptr, name);
  if (*value == Detail()) return std::nullopt;
  return std::get<double>(value->value);
}

inline const Detail& key_of(const Results& results, const CellResult& result, const char* name) {
  return *find_key(results.manifest.cells[result.index].cell.keys, name);
}

/// The keys that are equal in cells which differ only in the planner.
inline std::string group_of(const Keys& keys) {
  Keys common = canonical(keys);
  std::erase_if(common, [](const auto& entry) {
    return entry.first == "planner" || entry.first == "schedule" || entry.first == "memory" ||
           is_option_key(entry.first);
  });
  return to_json(common, -1);
}

inline std::string label_of(const Keys& keys) {
  const Detail* label = find_key(keys, "label");
  return std::get<std::string>((label == nullptr ? find_key(keys, "planner") : label)->value);
}

}  // namespace stagecraft::testing
