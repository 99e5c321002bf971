#include "planners/shared/costs/work.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace stagecraft {
namespace {

std::string bytes_text(double bytes) {
  constexpr double kMost = 0x1p62;
  return format_human_bytes(Bytes(static_cast<std::int64_t>(std::min(bytes, kMost))));
}

/// The count rounded up to a whole number, in digits, or "more than 1e15".
std::string count_text(double count) {
  constexpr double kMost = 1e15;
  return count > kMost ? "more than 1e15" : std::to_string(static_cast<std::int64_t>(std::ceil(count)));
}

}  // namespace

void require_affordable(const Work& work, const WorkLimit& limit) {
  if (work.bytes > limit.bytes) {
    throw InputError(
        work.what + " would take " + bytes_text(work.bytes) + " of memory, more than " + bytes_text(limit.bytes), {},
        work.remedy);
  }
  if (work.steps <= limit.steps) return;
  const std::string option = limit.option.empty() ? "" : " (option " + limit.option + ")";
  const std::string raise = limit.option.empty() ? "" : ", or raise " + limit.option;
  throw InputError(work.what + " would take " + count_text(work.steps) + " " + work.unit + ", more than " +
                       count_text(limit.steps) + option,
                   {}, work.remedy + raise);
}

}  // namespace stagecraft
