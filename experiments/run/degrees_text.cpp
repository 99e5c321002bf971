#include "experiments/run/degrees_text.hpp"

#include "sim/base/counted.hpp"
#include "sim/base/text.hpp"
#include "sim/io/plan_degrees.hpp"

#include <fmt/core.h>

namespace stagecraft {

std::string degrees_text(const Degrees& degrees) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (degrees.tensor > 1) {
    add(fmt::format("tensor {}{}", degrees.tensor, degrees.sequence ? "" : " without sequence parallelism"));
  }
  if (degrees.context > 1)
    add(fmt::format("context {} with {} attention", degrees.context, to_string(degrees.attention)));
  if (degrees.expert > 1) {
    const bool is_even = degrees.imbalance == 1.0;
    add(fmt::format("expert {}{}", degrees.expert,
                    is_even ? "" : " with imbalance " + format_number(degrees.imbalance)));
  }
  return text;
}

std::string on_groups_text(const Degrees& degrees) {
  if (degrees.devices() == 1) return "";
  if (degrees.context > 1 || degrees.expert > 1) {
    return fmt::format(" on groups of {} devices ({})", degrees.devices(), degrees_text(degrees));
  }
  return fmt::format(" on tensor groups of {}{}", degrees.tensor,
                     degrees.sequence ? "" : " without sequence parallelism");
}

std::string microbatch_text(std::int64_t microbatch_size, const Degrees& degrees) {
  const std::string one = counted(microbatch_size, "sample");
  return degrees.samples() == 1 ? one : fmt::format("{} x {}", degrees.samples(), one);
}

}  // namespace stagecraft
