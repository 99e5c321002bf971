#include "sim/schedule/list/repeated_period.hpp"

#include <cmath>
#include <cstddef>

namespace stagecraft {
namespace {

constexpr double kRounding = 1e-10;

}  // namespace

std::optional<Seconds> repeated_period(const std::vector<Seconds>& ends, std::int64_t stride) {
  const std::size_t quarter = ends.size() / 4;
  for (auto cycle = static_cast<std::size_t>(stride); cycle <= quarter; cycle += static_cast<std::size_t>(stride)) {
    const auto time = [&](std::size_t at) { return (ends[at] - ends[at - cycle]).value(); };
    const double last = time(3 * quarter);
    std::size_t at = 2 * quarter;
    while (at < 3 * quarter && std::abs(time(at) - last) <= kRounding * ends[3 * quarter].value()) ++at;
    if (at == 3 * quarter) return Seconds(last / static_cast<double>(cycle));
  }
  return std::nullopt;
}

}  // namespace stagecraft
