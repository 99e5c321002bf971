#include "experiments/study/result_columns.hpp"

#include <algorithm>

namespace stagecraft {
namespace {

/// None for null.
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

}  // namespace

const std::vector<ResultColumn>& figure_columns() {
  static const std::vector<ResultColumn> columns = {
      {"iteration_time_s", ColumnType::Real},
      {"load_s", ColumnType::Real},
      {"period_s", ColumnType::Real},
      {"throughput_samples_per_s", ColumnType::Real},
      {"bubble_ratio", ColumnType::Real},
      {"span_bubble_ratio", ColumnType::Real},
      {"ideal_bubble_ratio", ColumnType::Real},
      {"recompute_time_s", ColumnType::Real},
      {"exposed_communication_s", ColumnType::Real},
      {"peak_memory_bytes", ColumnType::Whole},
      {"peak_memory_device", ColumnType::Text},
      {"prediction_error", ColumnType::Real},
      {"predicted_iteration_time_s", ColumnType::Real},
      {"predicted_period_s", ColumnType::Real},
      {"predicted_peak_memory_bytes", ColumnType::Whole},
      {"evaluated_iteration_time_s", ColumnType::Real},
      {"evaluated_period_s", ColumnType::Real},
      {"evaluated_peak_memory_bytes", ColumnType::Whole},
      {"overflow_bytes", ColumnType::Whole},
      {"overflow_device", ColumnType::Text},
      {"stages", ColumnType::Whole},
      {"devices_used", ColumnType::Whole},
      {"configuration", ColumnType::Text},
      {"bottleneck", ColumnType::Text},
      {"resolved_schedule", ColumnType::Text},
      {"resolved_microbatches", ColumnType::Whole},
      {"resolved_microbatch_size", ColumnType::Whole},
      {"simulated_ops", ColumnType::Whole},
      {"smallest_memory_bytes", ColumnType::Whole},
      {"largest_microbatch_size", ColumnType::Whole},
      {"device_peak_memory_bytes", ColumnType::Json},
      {"details", ColumnType::Json},
  };
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
