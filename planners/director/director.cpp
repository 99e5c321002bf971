#include "planners/director/contest.hpp"
#include "planners/director/dealing.hpp"
#include "planners/director/draft.hpp"
#include "planners/director/moves.hpp"
#include "planners/director/node_costs.hpp"
#include "planners/director/node_program.hpp"
#include "planners/director/search.hpp"
#include "planners/director/seeds.hpp"
#include "planners/director/stage_costs.hpp"
#include "planners/planner.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "sim/analytic/class_bound.hpp"
#include "sim/base/activity.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/model/bandwidths.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

namespace stagecraft {

extern const PlannerInfo director_planner;

namespace director {
namespace {

/// With more devices planners and runs take long: then only the quickest planners are asked, the program makes nothing,
/// and the search has smaller limits.
constexpr std::size_t kFewDevices = 64;
constexpr const char* kQuickPlanners = "data-parallel,gpipe,uniform";
constexpr std::int64_t kFewEvaluations = 30;
constexpr std::int64_t kFewReplays = 10;
/// Layers times devices up to which the program tries all prices.
constexpr std::size_t kFewStages = 800;

void require_supported(const PlanRequest& request) {
  if (request.judge == nullptr) {
    throw InputError("planner 'director' decides by replays, and a run that changes its plan cannot replay others", {},
                     "re-plan with another planner, such as vpipe");
  }
  const std::string& schedule = request.schedule.name;
  if (schedule.empty() || !is_asynchronous(request.schedule)) return;
  throw InputError("planner 'director': schedule " + quote(schedule) +
                       " does not flush, and director compares the times of iterations",
                   {}, "use a schedule that flushes, such as 1f1b; or leave the choice to the planner");
}

/// Where all gradients fit into one bucket, it changes nothing.
std::vector<std::optional<Bytes>> buckets_of(const PlanRequest& request) {
  const bool is_open = !request.training.gradient_bucket && totals(request.graph).parameters > kUsualBucket;
  if (!is_open) return {request.training.gradient_bucket};
  return {kUsualBucket, std::nullopt};
}

std::vector<ScheduleChoice> schedules_of(const PlanRequest& request) {
  if (!request.schedule.name.empty()) return {request.schedule};
  return {{"1f1b", {}}, {"eager-1f1b", {}}, {"spp-pe", {}}, {"gpipe", {}}};
}

/// Plans, each step with what the one before has found.
class Direction {
 public:
  explicit Direction(const PlanRequest& request)
      : request_(request),
        judge_(*request.judge),
        contest_(judge_),
        costs_(request),
        schedules_(schedules_of(request)),
        buckets_(buckets_of(request)) {}

  PlanResult run() {
    ask_others();
    const std::int64_t evaluations = limit("evaluations", kFewEvaluations);
    judge_.limit(evaluations, limit("replays", kFewReplays));
    if (evaluations > 0 && is_connected()) {
      add_buckets();
      if (request_.options.flag("program") && !has_many_devices()) run_program();
      if (request_.options.flag("moves") && contest_.best()) run_search();
    }
    return contest_.best() ? answer() : refusal();
  }

 private:
  [[nodiscard]] bool has_many_devices() const { return request_.platform.devices.size() > kFewDevices; }
  /// Else few plans can run, and costs of stages whose devices are not known yet make no sense.
  [[nodiscard]] bool is_connected() const {
    const Platform& platform = request_.platform;
    return platform.devices.size() == 1 ||
           (smallest_pair_bandwidth(platform) && smallest_pair_bandwidth(platform, PairUse::Collective));
  }
  [[nodiscard]] std::int64_t limit(const char* option, std::int64_t of_many) const {
    const std::int64_t given = request_.options.count(option);
    return has_many_devices() ? std::min(given, of_many) : given;
  }

  void ask_others() {
    const std::string& names = request_.options.word("seeds");
    seeds_ = ask_seeds(request_, names == "all" && has_many_devices() ? kQuickPlanners : names);
    for (Seed& seed : seeds_.plans) {
      std::optional<Draft> draft = draft_of(request_, seed.planned.plan);
      contest_.add({std::move(seed.name), std::move(seed.planned), std::move(draft)});
    }
    seeds_that_run_ = contest_.candidates().size();
    contest_.replay_in_order();
    if (!contest_.best()) contest_.replay_in_order(false);
    seed_time_ = best_time();
  }

  /// None before there is a plan.
  [[nodiscard]] std::optional<Seconds> best_time() const {
    return contest_.best() ? std::optional(contest_.candidates()[*contest_.best()].time()) : std::nullopt;
  }

  /// The plans of other planners with buckets, where they have none though the request leaves them open.
  void add_buckets() {
    for (std::size_t i = 0; buckets_.size() > 1 && i < seeds_that_run_; ++i) {
      std::optional<Draft> draft = contest_.candidates()[i].draft;
      if (!draft || draft->bucket) continue;
      draft->bucket = buckets_.front();
      add_draft(request_, contest_, *draft, std::string(contest_.candidates()[i].origin));
    }
  }

  [[nodiscard]] PlanResult refusal() {
    if (!seeds_.refusal) {
      return Infeasible{"none of the plans of other planners can be run", {}, {}, Bytes(0), "try another schedule"};
    }
    seeds_.refusal->search.reset();  // to ask all planners again would take long
    seeds_.refusal->is_costly = true;
    return *std::move(seeds_.refusal);
  }

  void run_program() {
    const Activity activity("looking for stages that suit the nodes");
    for (const std::vector<DeviceId>& devices : costs_.device_sets()) run_program(NodeCosts(request_, costs_, devices));
    contest_.replay_in_order();
    program_time_ = best_time();
  }

  void run_program(const NodeCosts& nodes) {
    constexpr std::array kCards{1.0, 2.0, 4.0, 8.0};
    constexpr std::array kAllReduces{1.0, 0.5, 2.0};
    const bool is_small = costs_.layers() * nodes.devices() <= kFewStages;
    for (const Sharing sharing : {Sharing::Whole, Sharing::Divided, Sharing::Either}) {
      for (const double card : kCards) {
        for (const double all_reduce : kAllReduces) {
          if (!is_small && (card == 2.0 || card == 8.0 || all_reduce != 1.0)) continue;
          add_program(nodes, {card, all_reduce}, sharing);
        }
      }
    }
  }

  void add_program(const NodeCosts& nodes, const Prices& prices, Sharing sharing) {
    constexpr double kWorthTrying = 1.3;  // times the best so far
    if (judge_.is_spent()) return;
    const Seconds best = best_time().value_or(nodes.longest());
    const std::vector<NodeStage> stages = best_node_stages(nodes, prices, sharing, best * kWorthTrying);
    if (stages.empty()) return;
    const std::vector<Piece> pieces = dealt(nodes.nodes(), stages);
    if (!made_.insert(pieces).second) return;
    for (const ScheduleChoice& schedule : schedules_) {
      const Draft draft{pieces, schedule, buckets_.front()};
      add_draft(request_, contest_, draft, fmt::format("node program {}", made_.size()), best_time().value_or(kNever));
    }
  }

  void run_search() {
    const Activity activity("changing the best plans");
    const std::vector<std::vector<DeviceId>> nodes = nodes_of(request_.platform);
    const std::vector<NodeRuns> runs = alike_devices(request_.platform);
    const MoveSpace space{costs_, nodes, runs, schedules_, buckets_};
    Search(request_, space, contest_, judge_, static_cast<std::uint64_t>(request_.options.count("seed"))).run();
    contest_.replay_in_order();
  }

  /// The best plan as one of this planner's, with its replayed time as its claim.
  [[nodiscard]] PlanResult answer() const {
    const Candidate& best = contest_.candidates()[*contest_.best()];
    Planned planned = best.planned;
    planned.plan.planner = director_planner.name;
    planned.plan.predicted = {};
    planned.plan.predicted.iteration_time = best.time();
    planned.is_replayed = true;
    planned.work = seeds_.work;
    const std::optional<Seconds> bound = bound_of(best);
    planned.notes.push_back(
        fmt::format("after {} and {} {} {} takes least", counted(judge_.evaluations(), "evaluation"),
                    counted(judge_.replays(), "replay"),
                    *contest_.best() < seeds_that_run_ ? "the plan of" : "a plan found from that of", best.origin));
    planned.details = {{"origin", best.origin},
                       {"asked", seeds_.asked},
                       {"evaluations", judge_.evaluations()},
                       {"replays", judge_.replays()},
                       {"bound_s", bound ? Detail(bound->value()) : Detail()},
                       {"gap", bound ? Detail(best.time() / *bound - 1.0) : Detail()},
                       {"seed_s", seed_time_ ? Detail(seed_time_->value()) : Detail()},
                       {"program_s", program_time_ ? Detail(program_time_->value()) : Detail()},
                       {"seeds", seed_figures()}};
    return judged(request_, std::move(planned));
  }

  /// What no plan of the best one's class beats in a replay (`class_bound`); none if it is in no class.
  [[nodiscard]] std::optional<Seconds> bound_of(const Candidate& best) const {
    const bool is_large = costs_.layers() * request_.platform.devices.size() > kMostLayersOnDevices;
    const Plan& plan = best.planned.plan;
    if (is_large || request_.platform.members != nullptr || !is_in_class(request_.graph, plan)) return std::nullopt;
    const bool halves = splits_backwards(require_schedule(request_.graph, request_.platform, plan));
    const auto bound = class_bound(request_.graph, request_.platform, request_.training, request_.microbatches,
                                   {.shares_links = true, .splits_backwards = halves});
    return bound ? std::optional(bound->time) : std::nullopt;
  }

  /// Of every seed its times, in the order of the planners.
  [[nodiscard]] Detail::List seed_figures() const {
    Detail::List list;
    for (std::size_t i = 0; i < seeds_that_run_; ++i) {
      const Candidate& seed = contest_.candidates()[i];
      list.emplace_back(Detail::Record{{"seed", seed.origin},
                                       {"evaluated_s", seed.evaluated.time.value()},
                                       {"replayed_s", seed.replayed ? Detail(seed.replayed->time.value()) : Detail()}});
    }
    return list;
  }

  const PlanRequest& request_;
  CountedJudge judge_;
  Contest contest_;
  StageCosts costs_;
  std::vector<ScheduleChoice> schedules_;
  std::vector<std::optional<Bytes>> buckets_;
  Seeds seeds_;
  std::set<std::vector<Piece>> made_;  ///< by the program
  std::size_t seeds_that_run_ = 0;
  std::optional<Seconds> seed_time_;
  std::optional<Seconds> program_time_;
};

PlanResult plan_director(const PlanRequest& request) {
  require_supported(request);
  return Direction(request).run();
}

}  // namespace
}  // namespace director

const PlannerInfo director_planner{
    .name = "director",
    .summary =
        "the plan that replays fastest of those of all other planners, of a program that knows nodes, and of a "
        "search from these",
    .source = "ours",
    .default_schedule = "",
    .options = {{"seeds", std::string("all"),
                 "planners whose plans the search starts from: all that compare takes, or names with commas"},
                {"evaluations",
                 std::int64_t{3000},
                 "plans that are evaluated at most, beside those of other planners; 0: only these",
                 {},
                 0,
                 1e9},
                {"replays", std::int64_t{300}, "plans that are replayed at most, likewise", {}, 0, 1e9},
                {"seed", std::int64_t{1}, "of the random choices of the search", {}, 0, 1e9},
                {"program", true, "whether the dynamic program that knows nodes makes plans, too"},
                {"moves", true, "whether plans are changed by a search"}},
    .plan = director::plan_director,
    .only_by_name = true,
    .saves_memory = true,
    .orders_turns = true,
    .wants_judge = [](const Options& /*any*/) { return true; },
};

}  // namespace stagecraft
