#include "experiments/study/result_columns.hpp"

#include "experiments/view/figures.hpp"

#include <algorithm>

namespace stagecraft {
namespace {

/// The column type of a value; none for null.
std::optional<ColumnType> type_of(const Detail& value) {
  struct Visitor {
    std::optional<ColumnType> operator()(std::nullptr_t) const { return std::nullopt; }
    std::optional<ColumnType> operator()(bool) const { return ColumnType::Whole; }
    std::optional<ColumnType> operator()(std::int64_t) const { return ColumnType::Whole; }
    std::optional<ColumnType> operator()(double) const { return ColumnType::Real; }
    std::optional<ColumnType> operator()(const std::string&) const { return ColumnType::Text; }
    std::optional<ColumnType> operator()(const Detail::List&) const { return ColumnType::Json; }
    std::optional<ColumnType> operator()(const Detail::Record&) const { return ColumnType::Json; }
  };
  return std::visit(Visitor{}, value.value);
}

bool fits(ColumnType column, const Detail& value) {
  if (std::holds_alternative<bool>(value.value)) return false;
  const std::optional<ColumnType> type = type_of(value);
  return !type || *type == column || (column == ColumnType::Real && *type == ColumnType::Whole);
}

ColumnType join(ColumnType a, ColumnType b) {
  const auto are = [&](ColumnType one, ColumnType other) {
    return (a == one && b == other) || (a == other && b == one);
  };
  if (a == b) return a;
  if (are(ColumnType::Whole, ColumnType::Real)) return ColumnType::Real;
  if (are(ColumnType::Text, ColumnType::Json)) return ColumnType::Text;
  return ColumnType::Any;
}

ColumnType column_type(FigureKind kind) {
  switch (kind) {
    case FigureKind::Time:
    case FigureKind::Rate:
    case FigureKind::Ratio:
    case FigureKind::Number: return ColumnType::Real;
    case FigureKind::Size:
    case FigureKind::Count:
    case FigureKind::Flag: return ColumnType::Whole;
    case FigureKind::Word: return ColumnType::Text;
    case FigureKind::Record: break;
  }
  return ColumnType::Json;
}

}  // namespace

const std::vector<ResultColumn>& figure_columns() {
  static const std::vector<ResultColumn> columns = [] {
    std::vector<ResultColumn> list;
    for (const FigureInfo& figure : all_figures()) list.push_back({std::string(figure.name), column_type(figure.kind)});
    return list;
  }();
  return columns;
}

std::optional<std::string> find_misfit(const Detail::Record& figures) {
  for (const auto& [name, value] : figures) {
    const auto column = std::ranges::find(figure_columns(), name, &ResultColumn::name);
    if (column == figure_columns().end() || !fits(column->type, value)) return name;
  }
  return std::nullopt;
}

std::optional<ColumnType> widen(std::optional<ColumnType> type, const Detail& value) {
  const std::optional<ColumnType> other = type_of(value);
  if (!type || !other) return type ? type : other;
  return join(*type, *other);
}

}  // namespace stagecraft
