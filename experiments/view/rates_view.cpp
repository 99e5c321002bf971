#include "experiments/view/rates_view.hpp"

#include "experiments/view/figures.hpp"
#include "experiments/view/table.hpp"
#include "sim/base/short_number.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <vector>

namespace stagecraft {

std::string rates_text(const WorkRates& rates) {
  std::vector<std::string> parts;
  if (rates.tokens_per_second) parts.push_back(short_number(*rates.tokens_per_second) + " tokens/s");
  if (rates.tflops_per_device) {
    const bool all = rates.devices == rates.of_devices;
    const std::string counted = all ? "" : fmt::format(" ({} of {} devices)", rates.devices, rates.of_devices);
    parts.push_back(short_number(*rates.tflops_per_device) + " TFLOP/s per device" + counted);
  }
  if (rates.mfu) parts.push_back("MFU " + percent(*rates.mfu));
  return fmt::format("{}", fmt::join(parts, ", "));
}

Detail::Record rates_record(const WorkRates& rates) {
  Detail::Record record;
  const auto add = [&](FigureId id, const std::optional<double>& value) {
    if (value) record.emplace_back(name_of(id), *value);
  };
  add(FigureId::TokensPerSecond, rates.tokens_per_second);
  add(FigureId::TflopsPerDevice, rates.tflops_per_device);
  add(FigureId::Mfu, rates.mfu);
  return record;
}

}  // namespace stagecraft
