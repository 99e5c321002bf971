#include "sim/engine/periods.hpp"

namespace stagecraft {

void Periods::go_back(std::size_t count) {
  for (; iterations_.size() > count; iterations_.pop_back()) iteration_begin_ -= iterations_.back();
}

}  // namespace stagecraft
