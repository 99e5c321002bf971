#pragma once

#include "sim/model/detail.hpp"

#include <string>

namespace stagecraft {

/// A schedule by its name (docs/reference/schedules.md), with the parameters of its family.
struct ScheduleChoice {
  std::string name;
  Detail::Record parameters;
  friend bool operator==(const ScheduleChoice&, const ScheduleChoice&) = default;
};

}  // namespace stagecraft
