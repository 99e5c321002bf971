#include "sim/schedule/exchange_time.hpp"

#include "sim/schedule/all_reduce.hpp"

namespace stagecraft {

Seconds exchange_time(const Platform& platform, const Group& group, const Exchange& exchange) {
  if (exchange.hidden || group.is_alone()) return Seconds(0);
  const Seconds all = lowered_all_reduce_time(platform, group.devices, Bytes(0), exchange.bytes);
  const Seconds each = exchange.kind == Exchange::Kind::AllReduce ? all : all / 2.0;
  return each * static_cast<double>(exchange.count);
}

Seconds exchange_time(const Platform& platform, const Group& group, const std::vector<Exchange>& exchanges) {
  Seconds sum;
  for (const Exchange& exchange : exchanges) sum += exchange_time(platform, group, exchange);
  return sum;
}

}  // namespace stagecraft
