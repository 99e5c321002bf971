#include "sim/schedule/one_f_one_b.hpp"

#include "sim/schedule/fixed/device_order.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/list/choose_order.hpp"
#include "sim/schedule/list/fastest_list.hpp"
#include "sim/schedule/measured_part.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

namespace stagecraft {
namespace {

/// Appends a replica's part of a segment.
void add_replica(const KeptPlan& kept, ReplicaId id, std::int64_t warmup, Segment segment,
                 std::vector<Action>& actions) {
  const Replicas& replicas = kept.replicas;
  const std::int64_t count = replicas.count(id, kept.plan.microbatches);
  const std::int64_t warm = std::min(warmup, count);
  const std::int64_t begin = replicas.count(id, segment.begin);
  const std::int64_t end = replicas.count(id, segment.end);
  actions.reserve(static_cast<std::size_t>(2 * (end - begin) + warm));
  const auto add = [&](ActionKind kind, std::int64_t local) {
    actions.push_back(action_of(kind, replicas[id].stage.value(), replicas.microbatch(id, local)));
  };
  if (segment.begin == 0) {
    for (std::int64_t i = 0; i < warm; ++i) add(ActionKind::Forward, i);
  }
  for (std::int64_t i = begin; i < end; ++i) {
    if (i + warm < count) add(ActionKind::Forward, i + warm);
    add(ActionKind::Backward, i);
  }
}

Schedule orders_of(const KeptPlan& kept, Segment segment, const std::vector<std::vector<std::int64_t>>& warmup) {
  Schedule schedule;
  for (ReplicaId id : kept.replicas.all()) {
    const Replica& own = kept.replicas[id];
    schedule.devices.push_back({own.device, Discipline::Strict, {}});
    add_replica(kept, id, warmup[own.stage.value()][own.lane], segment, schedule.devices.back().actions);
  }
  return schedule;
}

/// The caps by stage, on each replica: the warm-up and one more.
std::vector<std::int64_t> caps_of(const Plan& plan, std::int64_t eagerness, std::int64_t most) {
  std::vector<std::int64_t> caps = largest_warmups(plan, eagerness, most);
  for (std::int64_t& cap : caps) ++cap;
  return caps;
}

// A stage must not wait for more forwards than each earlier stage runs before a backward that this one has not yet
// given. So a cap also limits all later stages, even beyond a stage with more replicas.
//
// **Invariant**: let all backwards before microbatch m have ended. A replica whose next one is m may run forwards up to
// its warm-up's number of turns beyond m, so its first one that may not run is a number of turns later that repeats
// with the round. The least such number over all replicas and turns, `ahead`, holds for the stage, and the least one of
// all stages so far for what reaches the next. If no replica of the next stage needs more before its own backward of m,
// that backward can run, whatever m is. Where all stages are alike, replicas at one position need only each other.

constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

/// The first turn that may not run, counted from the replica's own first one without a backward.
std::int64_t forwards_ahead(const Rotation& turns, std::uint32_t lane, std::int64_t warmup) {
  std::int64_t least = kUnlimited;
  for (std::int64_t i = 0; i < turns.share(lane); ++i) {
    least = std::min(least, turns.turn(lane, i + warmup + 1) - turns.turn(lane, i));
  }
  return least;
}

/// The most warm-up forwards with which the replica never needs a turn that is `ahead` of its first one without a
/// backward.
std::int64_t most_within(const Rotation& turns, std::uint32_t lane, std::int64_t ahead) {
  if (ahead == kUnlimited) return kUnlimited;
  std::int64_t most = kUnlimited;
  for (std::int64_t i = 0; i < turns.share(lane); ++i) {
    most = std::min(most, turns.count(lane, turns.turn(lane, i) + ahead) - 1 - i);
  }
  return most;
}

/// What the earlier stages of a pipeline allow. While all have the same replicas with the same shares, a microbatch
/// stays at its position, and only the replicas there limit each other.
class Earlier {
 public:
  void meet(const Stage& stage) {
    const std::pair own(alternating_replicas(stage), stage.shares);
    if (!alike_) alike_ = own;
    are_columns_ = are_columns_ && *alike_ == own;
  }
  [[nodiscard]] std::int64_t most(const Rotation& turns, std::uint32_t lane) const {
    if (!are_columns_) return most_within(turns, lane, ahead_);
    return column_.empty() ? kUnlimited : column_[lane];
  }
  void add(const Rotation& turns, const std::vector<std::int64_t>& warmups) {
    column_ = warmups;
    for (std::uint32_t lane = 0; lane < warmups.size(); ++lane) {
      ahead_ = std::min(ahead_, forwards_ahead(turns, lane, warmups[lane]));
    }
  }

 private:
  std::optional<std::pair<std::int64_t, std::vector<std::int64_t>>> alike_;  ///< replicas and shares of the first stage
  bool are_columns_ = true;
  std::vector<std::int64_t> column_;  ///< of the stage before
  std::int64_t ahead_ = kUnlimited;
};

/// The mean time of the later stage's replicas for microbatches of the lane, as a number of times between two
/// microbatches of the stage. Each replica takes all of the time between its own.
double mean_time(const Rotation& turns, std::uint32_t lane, const Rotation& later) {
  constexpr std::int64_t kMostRounds = 64;
  const std::int64_t rounds = std::min(later.round() / std::gcd(turns.round(), later.round()), kMostRounds);
  double sum = 0.0;
  for (std::int64_t i = 0; i < rounds * turns.share(lane); ++i) {
    sum += 1.0 / static_cast<double>(later.share(later.owner(turns.turn(lane, i))));
  }
  return sum * static_cast<double>(later.round()) / static_cast<double>(rounds * turns.share(lane));
}

/// By stage, for each of its alternating replicas: its microbatches that are on later stages if all devices are always
/// busy, rounded up. On a stage with equal shares a microbatch takes as long as it has replicas, so these count alike.
std::vector<std::vector<std::int64_t>> usual_warmups(const Plan& plan) {
  constexpr double kRounding = 1e-9;
  struct Later {
    std::int64_t ranks = 0;  // alternating replicas of later stages with equal shares
    std::vector<Rotation> unequal;
  };
  std::map<std::uint32_t, Later> pipelines;
  std::vector<std::vector<std::int64_t>> counts(plan.stages.size());
  for (std::size_t s = plan.stages.size(); s-- > 0;) {
    const Stage& stage = plan.stages[s];
    const Rotation turns = turns_of(stage);
    Later& later = pipelines[stage.pipeline];
    for (std::uint32_t lane = 0; std::cmp_less(lane, alternating_replicas(stage)); ++lane) {
      auto time = static_cast<double>(later.ranks);
      for (const Rotation& each : later.unequal) time += mean_time(turns, lane, each);
      const double part = static_cast<double>(turns.share(lane)) / static_cast<double>(turns.round());
      counts[s].push_back(static_cast<std::int64_t>(std::ceil(time * part - kRounding)));
    }
    if (turns.round() == alternating_replicas(stage)) {
      later.ranks += turns.round();
    } else {
      later.unequal.push_back(turns);
    }
  }
  return counts;
}

/// Whether caps change what 1F1B has in flight; with equal shares, whether there are any.
bool is_capped(const Plan& plan, std::int64_t eagerness) {
  const auto has_cap = [](const Stage& stage) { return stage.in_flight.has_value(); };
  if (!has_unequal_shares(plan)) return std::ranges::any_of(plan.stages, has_cap);
  const std::vector<std::vector<std::int64_t>> usual = usual_warmups(plan);
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    if (has_cap(plan.stages[s]) && *plan.stages[s].in_flight <= std::ranges::max(usual[s]) * eagerness) return true;
  }
  return false;
}

/// Gives the segments of a run one after the other.
class Segments {
 public:
  explicit Segments(ListRun run) : begin_(std::move(run)), now_(begin_) {}

  Schedule operator()(Segment segment) {
    if (segment.begin < now_.taken()) now_ = begin_;
    if (segment.begin > now_.taken()) static_cast<void>(now_.take(segment.begin));
    return now_.take(segment.end);
  }

 private:
  ListRun begin_;
  ListRun now_;
};

constexpr std::int64_t kCappedWindow = 256;  ///< microbatches

/// Orders the work of a plan with caps from its times. **Requires** that no stages share a device.
void order_capped(const PlanContext& context, std::int64_t eagerness, ScheduleProgram& program) {
  const auto work = std::make_shared<const PipelineWork>(pipeline_work(context, !program.synchronous));
  const auto caps_up_to = [&](std::int64_t most) { return caps_of(context.plan, eagerness, most); };
  const ListRule rule = choose_order(context.kept, work, program.synchronous, program.steady_in_flight, caps_up_to);
  for (std::size_t s = 0; s < rule.caps.size(); ++s) {
    program.in_flight[s] = std::min(program.in_flight[s], rule.caps[s]);
  }
  program.reaches_in_flight = rule.turn == Turn::Strict;
  program.least_window = kCappedWindow;
  program.orders = Segments({context.kept, work, rule, program.synchronous, context.plan.microbatches});
}

}  // namespace

std::vector<std::vector<std::int64_t>> warmups(const Plan& plan, std::int64_t eagerness, std::int64_t most) {
  const std::vector<std::vector<std::int64_t>> usual = usual_warmups(plan);
  std::map<std::uint32_t, Earlier> pipelines;
  const bool levels_lanes = has_unequal_shares(plan) && is_capped(plan, eagerness);
  std::vector<std::vector<std::int64_t>> counts;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const Stage& stage = plan.stages[s];
    const Rotation turns = turns_of(stage);
    Earlier& earlier = pipelines[stage.pipeline];
    earlier.meet(stage);
    std::vector<std::int64_t>& own = counts.emplace_back();
    for (std::uint32_t lane = 0; lane < usual[s].size(); ++lane) {
      std::int64_t count = usual[s][lane] * eagerness;
      if (stage.in_flight) count = std::min({count, *stage.in_flight - 1, most - 1});
      own.push_back(std::min(count, earlier.most(turns, lane)));
    }
    if (levels_lanes) own.assign(own.size(), std::ranges::min(own));  // caps hold for all replicas of a stage
    earlier.add(turns, own);
  }
  return counts;
}

std::vector<std::int64_t> largest_warmups(const Plan& plan, std::int64_t eagerness, std::int64_t most) {
  std::vector<std::int64_t> largest;
  for (const std::vector<std::int64_t>& own : warmups(plan, eagerness, most)) largest.push_back(std::ranges::max(own));
  return largest;
}

ScheduleRefusals round_refusals(const PlanContext& context, const std::string& schedule) {
  const Replicas& replicas = context.replicas;
  const auto alternating = [&](StageId stage) {
    return std::to_string(alternating_replicas(context.plan.stages[stage.value()]));
  };
  for (const GradientRing& ring : replicas.rings()) {
    const Replica& first = replicas[ring.members.front()];
    for (ReplicaId member : ring.members) {
      const Replica& own = replicas[member];
      if (own.turns == first.turns) continue;
      return {{fmt::format("{} runs an all-reduce after each round, in which every replica has had its turns; "
                           "stages {} and {} hold the same layers, but {} and {} of their replicas take microbatches "
                           "in turn: use the same number, or divide microbatches on both (replication: split)",
                           schedule, first.stage.value(), own.stage.value(), alternating(first.stage),
                           alternating(own.stage)),
               ""}};
    }
  }
  return {};
}

ScheduleProgram one_f_one_b_program(const PlanContext& context, bool synchronous, std::int64_t eagerness) {
  ScheduleProgram program;
  program.synchronous = synchronous;
  program.at_once = share_devices(context.replicas);
  program.reaches_in_flight = !program.at_once && !has_unequal_shares(context.plan);
  const std::vector<std::vector<std::int64_t>> warmup = warmups(context.plan, eagerness);
  program.in_flight.resize(context.plan.stages.size());
  for (ReplicaId id : context.replicas.all()) {
    const Replica& own = context.replicas[id];
    const std::int64_t most = warmup[own.stage.value()][own.lane] + 1;
    const std::int64_t reached = std::min(most, context.replicas.count(id, context.plan.microbatches));
    std::int64_t& in_flight = program.in_flight[own.stage.value()];
    in_flight = std::max(in_flight, reached);
    if (has_unequal_shares(context.plan)) program.in_flight_of_replica.push_back(reached);
    program.steady_in_flight = std::max(program.steady_in_flight, most);
  }
  program.weight_versions.assign(context.plan.stages.size(), 1);
  const auto kept = context.kept;
  if (program.at_once && synchronous) {
    program.orders =
        SharedOrders(kept, std::make_shared<const PipelineWork>(pipeline_work(context, true)), program.in_flight);
  } else if (program.at_once) {
    program.orders = [kept, in_flight = program.in_flight](Segment segment) {
      if (segment.begin > 0) return Schedule{};
      return order_by_rounds(kept, in_flight, false);
    };
  } else if (is_capped(context.plan, eagerness)) {
    order_capped(context, eagerness, program);
  } else {
    program.repeats = whole_round_of_work(*kept);
    program.orders = [kept, warmup](Segment segment) { return orders_of(*kept, segment, warmup); };
  }
  return program;
}

}  // namespace stagecraft
