#include "planners/director/seeds.hpp"

#include "planners/registry.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/savings/fastest_variant.hpp"
#include "planners/shared/savings/memory_policy.hpp"
#include "planners/shared/turns/finished_plan.hpp"
#include "sim/base/activity.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <sstream>
#include <string_view>
#include <utility>
#include <variant>

namespace stagecraft::director {
namespace {

/// A planner with options other than its defaults.
struct Variant {
  std::string_view planner;
  GivenOptions options;
};

/// Variants whose plans differ from those of the defaults in what a replay decides: who divides a microbatch, which
/// links count, how many devices stand idle.
const std::vector<Variant>& further_variants() {
  static const std::vector<Variant> kVariants = {
      {"data-parallel", {{"replication", "split"}}},
      {"pipedream-sync", {{"levels", "flat"}}},
      {"pipedream-sync", {{"synchronisation", "overlapped"}}},
      {"pipedream-sync", {{"boundary", "whole"}}},
      {"dapple", {{"pair_bandwidth", "nominal"}}},
      {"spp", {{"pair_bandwidth", "nominal"}}},
      {"spp", {{"allow_fewer", "true"}, {"inflight_cap", "1f1b"}}},
  };
  return kVariants;
}

const PlannerInfo& seed_planner(const std::string& name) {
  std::vector<std::string> known{"all"};
  for (const PlannerInfo* planner : all_planners()) {
    if (wants_judge(*planner, parse_options(*planner, {}))) continue;
    if (planner->name == name) return *planner;
    known.push_back(planner->name);
  }
  throw InputError("option 'seeds' of planner 'director' is all, or names of planners with commas, not " + quote(name),
                   {}, suggest_name(name, known));
}

std::vector<const PlannerInfo*> planners_of(const std::string& names) {
  std::vector<const PlannerInfo*> planners;
  if (names == "all") {
    std::ranges::copy_if(all_planners(), std::back_inserter(planners), [](auto* each) { return !each->only_by_name; });
    return planners;
  }
  std::istringstream list(names);
  for (std::string name; std::getline(list, name, ',');) planners.push_back(&seed_planner(name));
  return planners;
}

/// The request's schedule, or that of the planner; `1f1b` if that does not flush.
ScheduleChoice schedule_for(const PlannerInfo& planner, const PlanRequest& request) {
  if (!request.schedule.name.empty()) return request.schedule;
  ScheduleChoice own{planner.default_schedule, {}};
  if (!own.name.empty() && is_asynchronous(own)) own.name = "1f1b";
  return own;
}

/// The plan as it runs, whoever made it and whatever it claims.
Plan run_of(Plan plan) {
  plan.planner.clear();
  plan.predicted = {};
  return plan;
}

class SeedCollector {
 public:
  explicit SeedCollector(const PlanRequest& request) : request_(request) {}

  void ask(const PlannerInfo& planner, const GivenOptions& options) {
    PlanRequest asked = request_;
    asked.schedule = schedule_for(planner, request_);
    asked.options = parse_options(planner, options);
    ++seeds_.asked;
    const Activity activity("planning with " + planner.name);
    try {
      PlanResult result = plan_within_memory(planner, asked);
      if (auto* planned = std::get_if<Planned>(&result)) {
        add(name_of(planner, options, asked.schedule), finished_plan(planner, asked, std::move(*planned)));
      } else {
        refuse(std::get<Infeasible>(std::move(result)));
      }
    } catch (const InputError& error) {
      if (!first_error_) first_error_ = error;
    }
  }

  [[nodiscard]] Seeds answer() && {
    if (seeds_.plans.empty() && !seeds_.refusal) throw InputError(*first_error_);
    return std::move(seeds_);
  }

 private:
  /// `spp pair_bandwidth=nominal`, `vpipe schedule 1f1b`.
  [[nodiscard]] std::string name_of(const PlannerInfo& planner, const GivenOptions& options,
                                    const ScheduleChoice& schedule) const {
    std::string name = planner.name;
    for (const auto& [option, value] : options) name += " " + option + "=" + value;
    if (request_.schedule.name.empty() && schedule.name != planner.default_schedule) {
      name += " schedule " + schedule.name;
    }
    return name;
  }

  void add(std::string name, Planned planned) {
    seeds_.work += planned.work;
    const Plan run = run_of(planned.plan);
    const auto is_same = [&](const Seed& seed) { return run_of(seed.planned.plan) == run; };
    if (std::ranges::any_of(seeds_.plans, is_same)) return;
    seeds_.plans.push_back({std::move(name), std::move(planned)});
  }

  void refuse(Infeasible none) {
    seeds_.work += none.work;
    if (!seeds_.refusal || says_more(none, *seeds_.refusal)) seeds_.refusal = std::move(none);
  }

  const PlanRequest& request_;
  Seeds seeds_;
  std::optional<InputError> first_error_;
};

}  // namespace

Seeds ask_seeds(const PlanRequest& request, const std::string& names) {
  SeedCollector seeds(request);
  for (const PlannerInfo* planner : planners_of(names)) {
    seeds.ask(*planner, {});
    for (const Variant& variant : further_variants()) {
      if (variant.planner == planner->name) seeds.ask(*planner, variant.options);
    }
  }
  return std::move(seeds).answer();
}

}  // namespace stagecraft::director
