#include "experiments/study/column_warnings.hpp"

#include "sim/base/text.hpp"

#include <set>
#include <string_view>
#include <utility>
#include <variant>

namespace stagecraft {
namespace {

constexpr std::string_view kDetailsOf = "details.";

/// The names of all details in the rows.
std::set<std::string> detail_names(const Results& results) {
  std::set<std::string> names;
  for (const CellResult& result : results.rows) {
    const Detail* details = find_key(result.row.figures, "details");
    const auto* record = details == nullptr ? nullptr : std::get_if<Detail::Record>(&details->value);
    if (record == nullptr) continue;
    for (const auto& [name, value] : *record) names.insert(name);
  }
  return names;
}

}  // namespace

std::vector<std::string> column_warnings(const Results& results) {
  std::vector<std::pair<std::string, std::string>> asked;  // key of the study and figure
  for (const std::string& column : results.manifest.columns) asked.emplace_back("columns", column);
  for (const TableChoice& table : results.manifest.tables) asked.emplace_back("tables", table.value);
  const std::set<std::string> names = detail_names(results);
  std::vector<std::string> warnings;
  if (names.empty()) return warnings;
  for (const auto& [key, figure] : asked) {
    if (!figure.starts_with(kDetailsOf) || names.contains(figure.substr(kDetailsOf.size()))) continue;
    warnings.push_back(key + ": no plan has the figure " + quote(figure) + " (" +
                       suggest_name(figure.substr(kDetailsOf.size()), {names.begin(), names.end()}) + ")");
  }
  return warnings;
}

}  // namespace stagecraft
