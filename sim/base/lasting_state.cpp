#include "sim/base/lasting_state.hpp"

namespace stagecraft {
namespace {

bool& is_left() {
  static bool is_left = false;
  return is_left;
}

}  // namespace

void leave_lasting_state() { is_left() = true; }

bool has_lasting_state() { return is_left(); }

}  // namespace stagecraft
