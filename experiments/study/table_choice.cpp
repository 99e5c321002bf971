#include "experiments/study/table_choice.hpp"

#include "experiments/study/row_figures.hpp"

#include <array>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::array<std::pair<MeanKind, const char*>, 4> kMeans = {{{MeanKind::Geometric, "geometric"},
                                                                     {MeanKind::Arithmetic, "arithmetic"},
                                                                     {MeanKind::Smallest, "smallest"},
                                                                     {MeanKind::Largest, "largest"}}};

}  // namespace

std::string to_string(MeanKind mean) { return kMeans[static_cast<std::size_t>(mean)].second; }

std::optional<MeanKind> find_mean(std::string_view name) {
  for (const auto& [mean, word] : kMeans) {
    if (name == word) return mean;
  }
  return std::nullopt;
}

bool is_ratio(const TableChoice& table) {
  return table.over || table.value == kSpeedUp || table.value == kRegret || table.value == kLoadRatio;
}

}  // namespace stagecraft
