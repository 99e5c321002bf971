#include "sim/model/replan_question.hpp"

namespace stagecraft {

const char* to_string(ReplanQuestion::Cause cause) {
  switch (cause) {
    case ReplanQuestion::Cause::Window: return "window";
    case ReplanQuestion::Cause::Link: return "link";
    case ReplanQuestion::Cause::Memory: return "memory";
    case ReplanQuestion::Cause::Model: return "model";
    case ReplanQuestion::Cause::Failure: return "failure";
    case ReplanQuestion::Cause::Recovery: return "recovery";
    case ReplanQuestion::Cause::Departure: return "departure";
  }
  return "";
}

}  // namespace stagecraft
