#include "planners/shared/costs/update_exchange.hpp"

#include "sim/model/reduced_gradients.hpp"

namespace stagecraft {

UpdateExchange update_exchange(const Training& training) {
  return {.gradients = reduced_copies(training),
          .is_divided = training.zero > 0,
          .is_each_time = training.zero > 1,
          .is_each_pass = training.zero > 2};
}

}  // namespace stagecraft
