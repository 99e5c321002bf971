#include "experiments/study/row_figures.hpp"

#include "experiments/study/study.hpp"
#include "experiments/view/figures.hpp"

namespace stagecraft {
namespace {

Detail load_ratio(const Row& row) {
  const auto time = number_of(row, name_of(FigureId::IterationTime));
  const auto load = number_of(row, name_of(FigureId::Load));
  return time && load && *load > 0.0 ? Detail(*time / *load) : Detail();
}

}  // namespace

Detail figure_of(const Row& row, std::string_view name) {
  constexpr std::string_view kDetails = "details.";
  if (name == kLoadRatio) return load_ratio(row);
  const Detail* found = nullptr;
  if (!name.starts_with(kDetails)) {
    found = find_key(row.figures, name);
  } else if (const Detail* details = find_key(row.figures, "details")) {
    const auto* record = std::get_if<Detail::Record>(&details->value);
    if (record != nullptr) found = find_key(*record, name.substr(kDetails.size()));
  }
  return found == nullptr ? Detail() : *found;
}

std::optional<double> number_of(const Row& row, std::string_view name) {
  const Detail value = figure_of(row, name);
  if (const auto* real = std::get_if<double>(&value.value)) return *real;
  if (const auto* whole = std::get_if<std::int64_t>(&value.value)) return static_cast<double>(*whole);
  return std::nullopt;
}

}  // namespace stagecraft
