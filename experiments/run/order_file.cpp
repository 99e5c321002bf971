#include "experiments/run/order_file.hpp"

#include "sim/io/schedule_csv.hpp"
#include "sim/io/schedule_file.hpp"
#include "sim/io/text_file.hpp"

namespace stagecraft {

void expect_literal_orders(Plan& plan) {
  plan.schedule = {"literal", {}};
  plan.predicted = {};  // it was predicted for another schedule
  plan.rounds_per_update = 1;
}

GivenOrders read_order_file(const std::string& path, const Platform& platform, const Plan& plan) {
  if (path.ends_with(".csv")) return parse_schedule_csv(read_text_file(path), path, plan, platform);
  return {read_schedule_file(path, platform)};
}

}  // namespace stagecraft
