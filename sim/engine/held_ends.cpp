#include "sim/engine/held_ends.hpp"

#include "sim/base/error.hpp"

namespace stagecraft {

void HeldEnds::add(std::uint64_t op, std::uint64_t last) {
  const bool is_new = op_of_.try_emplace(last, op).second;
  STAGECRAFT_CHECK(is_new, "an operation holds up the end of one other");
  over_.try_emplace(op);
}

bool HeldEnds::hold(Start over) {
  const auto held = over_.find(over.op.value());
  if (held == over_.end()) return false;
  held->second = over;  // an operation that a failure has aborted starts again, and only its last start counts
  return true;
}

std::optional<Start> HeldEnds::release_held(std::uint64_t last) {
  const auto op = op_of_.find(last);
  if (op == op_of_.end()) return std::nullopt;
  const auto held = over_.find(op->second);
  const std::optional<Start> over = held->second;
  over_.erase(held);
  op_of_.erase(op);
  return over;
}

}  // namespace stagecraft
