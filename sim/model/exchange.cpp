#include "sim/model/exchange.hpp"

#include <algorithm>

namespace stagecraft {

void add_exchange(std::vector<Exchange>& exchanges, const Exchange& exchange) {
  const auto is_alike = [&](const Exchange& known) {
    Exchange one = known;
    one.count = exchange.count;
    return one == exchange;
  };
  const auto found = std::ranges::find_if(exchanges, is_alike);
  if (found == exchanges.end()) {
    exchanges.push_back(exchange);
  } else {
    found->count += exchange.count;
  }
}

}  // namespace stagecraft
