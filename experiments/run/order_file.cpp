#include "experiments/run/order_file.hpp"

#include "experiments/run/limits.hpp"
#include "experiments/run/option_text.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/schedule_csv.hpp"
#include "sim/io/schedule_file.hpp"
#include "sim/io/text_file.hpp"
#include "sim/schedule/kept_plan.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

namespace stagecraft {
namespace {

constexpr const char* kSends = "--sends";
constexpr const char* kScheduleSchema = "stagecraft/schedule/";

/// The orders of one iteration of the plan's schedule.
GivenOrders own_orders(const ScheduleProgram& program) {
  const Plan& plan = program.kept->plan;
  if (!program.synchronous) {
    throw InputError(
        "applies to the orders of an iteration, but the schedule " + quote(plan.schedule.name) + " has no iterations",
        {"", 0, 0, kSends});
  }
  const std::int64_t computations = 2 * plan.microbatches * std::ssize(plan.stages);
  if (computations > run_limits::kMostAtOnce) {
    throw InputError("makes the orders of all " + std::to_string(computations) + " computations at once; at most " +
                         std::to_string(run_limits::kMostAtOnce) + " are allowed",
                     {"", 0, 0, kSends});
  }
  return {program.orders({0, plan.microbatches})};
}

}  // namespace

std::optional<Transfers> read_sends_option(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  std::vector<std::string> names;
  for (const Transfers rule : kAllTransfers) names.emplace_back(to_string(rule));
  const std::string name = read_choice_option(kSends, *text, names);
  return kAllTransfers.at(static_cast<std::size_t>(std::ranges::find(names, name) - names.begin()));
}

void expect_literal_orders(Plan& plan) {
  plan.schedule = {"literal", {}};
  plan.predicted = {};  // it was predicted for another schedule
  plan.rounds_per_update = 1;
}

GivenOrders read_order_file(const std::string& path, const Platform& platform, const Plan& plan) {
  const std::string text = read_text_file(path);
  if (path.ends_with(".csv") || path.ends_with(".CSV")) return parse_schedule_csv(text, path, plan, platform);
  try {
    return {parse_schedule(text, path, platform)};
  } catch (const InputError& error) {
    if (!error.hint().empty() || text.find(kScheduleSchema) != std::string::npos) throw;
    throw InputError(error.message(), error.place(), "the name of a table of PyTorch ends in '.csv'");
  }
}

void refuse_changed_orders(const OrderOptions& options, bool replans) {
  if (!replans || (!options.schedule_file && !options.transfers)) return;
  throw InputError("a plan with the orders of a --schedule-file, or with --sends, cannot change",
                   {"", 0, 0, "--replan"});
}

std::optional<GivenOrders> given_orders(const OrderOptions& options, const LayerGraph& graph, const Platform& platform,
                                        const ScheduleProgram& program, std::vector<Finding>& findings) {
  const std::optional<Transfers> rule = read_sends_option(options.transfers);
  if (!options.schedule_file && !rule) return std::nullopt;
  GivenOrders orders = options.schedule_file ? read_order_file(*options.schedule_file, platform, program.kept->plan)
                                             : own_orders(program);
  findings = judge_orders(graph, platform, program, orders, rule);
  return orders;
}

Schedule orders_under(Transfers rule, const LayerGraph& graph, const Platform& platform,
                      const ScheduleProgram& program) {
  GivenOrders orders = own_orders(program);
  const std::vector<Finding> findings = judge_orders(graph, platform, program, orders, rule);
  refuse_findings("", fmt::format("the schedule cannot run with {} {}", kSends, to_string(rule)), findings, "");
  return std::move(orders.schedule);
}

}  // namespace stagecraft
