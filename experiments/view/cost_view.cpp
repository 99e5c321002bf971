#include "experiments/view/cost_view.hpp"

#include "experiments/view/figures.hpp"
#include "sim/base/short_number.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <vector>

namespace stagecraft {

std::string cost_line(const RunCost& cost) {
  std::vector<std::string> parts;
  if (cost.of_iteration) parts.push_back(short_number(*cost.of_iteration) + " per iteration");
  if (cost.of_billion_tokens) {
    parts.push_back(short_number(*cost.of_billion_tokens) + " per 10^9 tokens");
  } else if (cost.of_million_samples) {
    parts.push_back(short_number(*cost.of_million_samples) + " per 10^6 samples");
  }
  if (parts.empty()) return "";
  const bool all = cost.devices == cost.of_devices;
  return fmt::format("cost: {}{}\n", fmt::join(parts, ", "),
                     all ? "" : fmt::format(" ({} of {} devices)", cost.devices, cost.of_devices));
}

Detail::Record cost_record(const RunCost& cost) {
  Detail::Record record;
  const auto add = [&](FigureId id, const std::optional<double>& value) {
    if (value) record.emplace_back(name_of(id), *value);
  };
  add(FigureId::CostPerIteration, cost.of_iteration);
  add(FigureId::CostPerBillionTokens, cost.of_billion_tokens);
  add(FigureId::CostPerMillionSamples, cost.of_million_samples);
  return record;
}

}  // namespace stagecraft
