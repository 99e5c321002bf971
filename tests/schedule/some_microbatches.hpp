#pragma once

#include "sim/model/plan.hpp"

#include <cstdint>
#include <random>
#include <variant>

namespace stagecraft::testing {

/// Lets the memory actions of the plan cover only some microbatches, most of them; actions of a stage differ in which.
/// Returns whether any does.
inline bool cover_some(Plan& plan, std::uint32_t seed) {
  std::mt19937 random(seed);
  bool any = false;
  for (Stage& stage : plan.stages) {
    const std::int64_t of = 2 + random() % 4;
    for (MemoryAction& action : stage.memory) {
      const std::int64_t first = 1 + random() % of;
      if (first == of) continue;
      const std::int64_t from = random() % 2 == 0 ? 0 : random() % (of - first + 1);
      std::visit([&](auto& one) { one.covered = {first, of, from}; }, action);
      any = true;
    }
  }
  return any;
}

}  // namespace stagecraft::testing
