#include "sim/model/replan_question.hpp"

namespace stagecraft {

const char* to_string(ReplanQuestion::Cause cause) {
  return cause == ReplanQuestion::Cause::Window ? "window" : "link";
}

}  // namespace stagecraft
