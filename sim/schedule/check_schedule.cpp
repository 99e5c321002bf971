#include "sim/schedule/check_schedule.hpp"

#include "sim/base/counted.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/replicas.hpp"
#include "sim/schedule/boundaries.hpp"
#include "sim/schedule/fixed/device_order.hpp"
#include "sim/schedule/stage_program.hpp"
#include "sim/schedule/transfer_ends.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::size_t kKinds = 8;

std::size_t index_of(ActionKind kind) { return static_cast<std::size_t>(kind); }

/// For one replica and one microbatch: how often the order contains each kind of action, and the position of the first.
struct Mentions {
  std::array<std::uint32_t, kKinds> count{};
  std::array<std::size_t, kKinds> at{};
  [[nodiscard]] bool has(ActionKind kind) const { return count[index_of(kind)] > 0; }
  [[nodiscard]] std::size_t where(ActionKind kind) const { return at[index_of(kind)]; }
};

/// The content of the orders for one replica.
struct Told {
  ReplicaId id;
  StageId stage;
  std::map<std::uint32_t, Mentions> microbatches;
  bool strict = true;
};

struct Judge {
  const Platform& platform;
  const Plan& plan;
  const Schedule& schedule;
  std::vector<Boundary> boundaries;
  Replicas replicas;
  std::map<std::pair<DeviceId, StageId>, Told> told;
  std::vector<std::string> sentences;
  const OrderSteps& steps;

  [[nodiscard]] const Stage& stage(StageId id) const { return plan.stages[id.value()]; }
  /// The device of the stage that runs the microbatch, or the first of those that divide it.
  [[nodiscard]] DeviceId runner(StageId id, std::uint32_t microbatch) const {
    return replicas[replicas.runners(id, microbatch).front()].device;
  }
  /// The device, with its rank if the orders are of a table.
  [[nodiscard]] std::string name(DeviceId device) const {
    const std::string& own = platform.devices[device].name;
    const std::size_t rank = steps.empty() ? 0 : rank_of(device);
    return rank < steps.size() ? fmt::format("rank {} ({})", rank, own) : own;
  }
  /// Where an action of the device's order stands, if the orders are of a table: ` at step 3`.
  [[nodiscard]] std::string at_step(DeviceId device, std::size_t position) const {
    const std::size_t rank = steps.empty() ? 0 : rank_of(device);
    return rank < steps.size() ? fmt::format(" at step {}", steps[rank][position]) : "";
  }
  [[nodiscard]] std::size_t rank_of(DeviceId device) const {
    const auto order = std::ranges::find(schedule.devices, device, &DeviceOrder::device);
    return static_cast<std::size_t>(order - schedule.devices.begin());
  }
};

std::string work_name(ActionKind kind, std::uint32_t microbatch, StageId stage) {
  return fmt::format("{} of microbatch {} of stage {}", to_string(kind), microbatch, stage.value());
}

/// Says that the microbatch does not run in the pipeline.
std::string another_pipeline(const Judge& judge, std::uint32_t microbatch, std::int64_t pipeline) {
  return fmt::format(" in pipeline {}, but that microbatch runs in pipeline {}: microbatches go to the {} in turn",
                     pipeline, judge.replicas.pipeline_turns().owner(microbatch),
                     counted(judge.replicas.pipelines(), "pipeline"));
}

/// Checks one action of an order on its own. If the plan does not run it on that device, returns a sentence that says
/// why.
std::optional<std::string> refusal(const Judge& judge, DeviceId device, const Action& action, std::size_t position) {
  const std::string work = work_name(action.kind, action.microbatch, action.stage) + judge.at_step(device, position);
  if (action.stage.value() >= judge.plan.stages.size()) {
    return judge.name(device) + " has the " + work + ", but the plan has only " +
           counted(judge.plan.stages.size(), "stage") + ", counted from 0";
  }
  const auto replica = judge.told.find({device, action.stage});
  if (replica == judge.told.end())
    return judge.name(device) + " has the " + work + ", but that stage is not on this device";
  if (action.microbatch >= judge.plan.microbatches) {
    return judge.name(device) + " has the " + work + ", but the plan has only " +
           counted(judge.plan.microbatches, "microbatch") + ", counted from 0";
  }
  const std::int64_t pipeline = judge.stage(action.stage).pipeline;
  if (judge.replicas.pipeline_turns().owner(action.microbatch) != pipeline) {
    return judge.name(device) + " has the " + work + another_pipeline(judge, action.microbatch, pipeline);
  }
  if (!runs(judge.replicas, replica->second.id, action.microbatch)) {
    return judge.name(device) + " has the " + work + ", but that microbatch runs on " +
           judge.name(judge.runner(action.stage, action.microbatch));
  }
  return std::nullopt;
}

/// Checks what an action is joined to: a forward and a backward are a pair, and sends and receives a batch of any size.
void check_joined(Judge& judge, const DeviceOrder& order, std::size_t second) {
  const Action& action = order.actions[second];
  const std::string what = judge.name(order.device) + ": the " +
                           work_name(action.kind, action.microbatch, action.stage) +
                           judge.at_step(order.device, second);
  const bool is_batch = second > 0 && is_mark(action.kind) && is_mark(order.actions[second - 1].kind);
  if (second == 0 || (order.actions[second - 1].joined && !is_batch)) {
    judge.sentences.push_back(what + " has no action before it to be joined to");
    return;
  }
  const ActionKind before = order.actions[second - 1].kind;
  const bool is_pair = (before == ActionKind::Forward && action.kind == ActionKind::Backward) ||
                       (before == ActionKind::Backward && action.kind == ActionKind::Forward);
  if (is_pair || is_batch) return;
  judge.sentences.push_back(what + " is joined to a " + to_string(before) + "; a pair is a forward and a backward");
}

void take_order(Judge& judge, const DeviceOrder& order) {
  for (std::size_t i = 0; i < order.actions.size(); ++i) {
    const Action& action = order.actions[i];
    if (action.joined) check_joined(judge, order, i);
    if (const auto sentence = refusal(judge, order.device, action, i)) {
      judge.sentences.push_back(*sentence);
      continue;
    }
    Told& replica = judge.told.at({order.device, action.stage});
    replica.strict = order.discipline == Discipline::Strict;
    Mentions& mentions = replica.microbatches[action.microbatch];
    if (mentions.count[index_of(action.kind)]++ == 0) {
      mentions.at[index_of(action.kind)] = i;
    } else {
      judge.sentences.push_back(judge.name(order.device) + " has the " +
                                work_name(action.kind, action.microbatch, action.stage) + " more than once" +
                                judge.at_step(order.device, i));
    }
  }
}

void take_orders(Judge& judge) {
  std::vector<DeviceId> seen;
  for (const DeviceOrder& order : judge.schedule.devices) {
    if (std::ranges::find(seen, order.device) != seen.end()) {
      judge.sentences.push_back(judge.name(order.device) + " has two orders");
    }
    seen.push_back(order.device);
    take_order(judge, order);
  }
}

/// Of orders of a table, where the device has other work of a microbatch: `, whose forward is at step 3`.
std::string present_work(const Judge& judge, DeviceId device, const Mentions& mentions) {
  std::optional<std::size_t> first;  // kind
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    const bool is_earlier = mentions.count[kind] > 0 && (!first || mentions.at[kind] < mentions.at[*first]);
    if (is_earlier) first = kind;
  }
  const std::string step = first ? judge.at_step(device, mentions.at[*first]) : "";
  return step.empty() ? "" : fmt::format(", whose {} is{}", to_string(static_cast<ActionKind>(*first)), step);
}

/// Checks that a replica has exactly the actions that it needs for one microbatch, in a possible order.
void check_microbatch(Judge& judge, DeviceId device, const Told& replica, std::uint32_t microbatch,
                      const Mentions& mentions) {
  const auto work = [&](ActionKind kind) { return work_name(kind, microbatch, replica.stage); };
  const auto say = [&](const std::string& text) { judge.sentences.push_back(judge.name(device) + " " + text); };
  const auto lacks = [&](ActionKind kind) { say("lacks the " + work(kind) + present_work(judge, device, mentions)); };
  const bool whole = mentions.has(ActionKind::Backward);
  const bool input = mentions.has(ActionKind::BackwardInput);
  const bool weight = mentions.has(ActionKind::BackwardWeight);
  if (!mentions.has(ActionKind::Forward)) lacks(ActionKind::Forward);
  if (whole && (input || weight)) say("has the " + work(ActionKind::Backward) + " both whole and in halves");
  if (!whole && !input) lacks(weight ? ActionKind::BackwardInput : ActionKind::Backward);
  if (!whole && input && !weight) lacks(ActionKind::BackwardWeight);
  if (!replica.strict) return;
  const auto check_order = [&](ActionKind first, ActionKind second) {
    if (mentions.has(first) && mentions.has(second) && mentions.where(first) > mentions.where(second)) {
      say("has the " + work(second) + judge.at_step(device, mentions.where(second)) + " before its " +
          to_string(first) + judge.at_step(device, mentions.where(first)));
    }
  };
  check_order(ActionKind::Forward, ActionKind::Backward);
  check_order(ActionKind::Forward, ActionKind::BackwardInput);
  check_order(ActionKind::BackwardInput, ActionKind::BackwardWeight);
  check_order(ActionKind::Forward, ActionKind::SendActivation);
  check_order(ActionKind::ReceiveActivation, ActionKind::Forward);
  for (ActionKind backward : {ActionKind::Backward, ActionKind::BackwardInput}) {
    check_order(backward, ActionKind::SendGradient);
    check_order(ActionKind::ReceiveGradient, backward);
  }
}

/// Reports microbatches that the replica runs but its order does not contain: the first one, and how many more.
void check_complete(Judge& judge, DeviceId device, const Told& replica) {
  const std::int64_t wanted = judge.replicas.count(replica.id, judge.plan.microbatches);
  const std::int64_t missing = wanted - static_cast<std::int64_t>(replica.microbatches.size());
  if (missing <= 0) return;
  std::int64_t first = 0;
  for (const auto& [microbatch, mentions] : replica.microbatches) {
    if (microbatch != judge.replicas.microbatch(replica.id, first)) break;
    ++first;
  }
  const std::string others = missing > 1 ? ", and of " + std::to_string(missing - 1) + " more" : "";
  judge.sentences.push_back(fmt::format("{} lacks the forward and the backward of microbatch {} of stage {}{}",
                                        judge.name(device), judge.replicas.microbatch(replica.id, first),
                                        replica.stage.value(), others));
}

/// The most microbatches in flight that the order itself leads to.
std::int64_t in_flight_of(const DeviceOrder& order, StageId stage) {
  std::int64_t in_flight = 0;
  std::int64_t peak = 0;
  for (const Action& action : order.actions) {
    if (action.stage != stage) continue;
    if (action.kind == ActionKind::Forward) peak = std::max(peak, ++in_flight);
    if (action.kind == ActionKind::Backward || action.kind == ActionKind::BackwardWeight) --in_flight;
  }
  return peak;
}

void check_caps(Judge& judge) {
  for (const DeviceOrder& order : judge.schedule.devices) {
    if (order.discipline != Discipline::Strict) continue;
    for (const auto& [key, replica] : judge.told) {
      const std::optional<std::int64_t> cap = judge.stage(replica.stage).in_flight;
      if (key.first != order.device || !cap) continue;
      const std::int64_t peak = in_flight_of(order, replica.stage);
      if (peak <= *cap) continue;
      judge.sentences.push_back(fmt::format("{} has {} microbatches of stage {} in flight, more than its cap of {}",
                                            judge.name(order.device), peak, replica.stage.value(), *cap));
    }
  }
}

void check_listed(Judge& judge) {
  const std::string transfers = std::string(to_string(judge.schedule.transfers)) + " transfers";
  if (std::ranges::any_of(judge.plan.stages, divides_microbatches)) {
    judge.sentences.push_back(transfers + " are not possible with stages that divide their microbatches");
    return;
  }
  const TransferEnds ends(judge.boundaries, judge.replicas);
  for (const auto& [key, replica] : judge.told) {
    if (!replica.strict) {
      judge.sentences.push_back(judge.name(key.first) + " has the discipline 'ready': " + transfers + " need 'strict'");
    }
    for (const auto& [microbatch, mentions] : replica.microbatches) {
      for (std::size_t kind = index_of(ActionKind::SendActivation); kind < kKinds; ++kind) {
        const auto mark = static_cast<ActionKind>(kind);
        const bool is_needed = !ends.of(action_of(mark, replica.stage.value(), microbatch)).empty();
        if (is_needed == mentions.has(mark)) continue;
        judge.sentences.push_back(
            judge.name(key.first) + (is_needed ? " lacks the " : " has the ") +
            work_name(mark, microbatch, replica.stage) +
            (is_needed ? present_work(judge, key.first, mentions)
                       : judge.at_step(key.first, mentions.at[kind]) + ", but nothing is transferred there"));
      }
    }
  }
}

void refuse_marks(Judge& judge) {
  for (const DeviceOrder& order : judge.schedule.devices) {
    if (!has_marks(order)) continue;
    judge.sentences.push_back(judge.name(order.device) + " has sends or receives, but transfers are " +
                              to_string(judge.schedule.transfers) + ", not explicit, stream or blocking");
  }
}

/// Checks that a channel lists each transfer at most once, and a strict channel all of them.
void check_channel_actions(Judge& judge, const ChannelOrder& channel, const std::string& name) {
  const Rotation& turns = judge.replicas.pipeline_turns();
  const std::uint32_t pipeline = judge.stage(channel.boundaries.front().from).pipeline;
  std::array<std::map<std::uint32_t, int>, 2> listed;
  for (const ChannelAction& action : channel.actions) {
    std::string what = name + " lists the ";
    what += action.gradient ? "gradient" : "activation";
    what += " of microbatch " + std::to_string(action.microbatch);
    if (action.microbatch >= judge.plan.microbatches) {
      what += ", but the plan has only " + counted(judge.plan.microbatches, "microbatch") + ", counted from 0";
      judge.sentences.push_back(std::move(what));
    } else if (turns.owner(action.microbatch) != pipeline) {
      judge.sentences.push_back(what + another_pipeline(judge, action.microbatch, pipeline));
    } else if (++listed.at(action.gradient ? 1 : 0)[action.microbatch] == 2) {
      judge.sentences.push_back(what + " more than once");
    }
  }
  if (channel.discipline == Discipline::Ready) return;
  for (std::size_t gradient = 0; gradient < 2; ++gradient) {
    const std::int64_t wanted = turns.count(pipeline, judge.plan.microbatches);
    const auto missing = wanted - static_cast<std::int64_t>(listed.at(gradient).size());
    if (missing == 0) continue;
    std::int64_t present = 0;
    for (const auto& [microbatch, count] : listed.at(gradient)) {
      if (microbatch != turns.turn(pipeline, present)) break;
      ++present;
    }
    judge.sentences.push_back(fmt::format("{} lacks the {} of microbatch {}{}", name,
                                          gradient == 1 ? "gradient" : "activation", turns.turn(pipeline, present),
                                          missing > 1 ? fmt::format(", and of {} more", missing - 1) : ""));
  }
}

void check_channels(Judge& judge) {
  if (judge.schedule.channels.empty()) return;
  if (judge.schedule.transfers != Transfers::Eager) {
    judge.sentences.push_back(std::string("channels cannot have orders if transfers are ") +
                              to_string(judge.schedule.transfers));
    return;
  }
  std::vector<std::pair<StageId, StageId>> seen;
  for (const ChannelOrder& channel : judge.schedule.channels) {
    const auto [from, to] = channel.boundaries.front();
    const std::string name = "channel " + std::to_string(from.value()) + "->" + std::to_string(to.value());
    const std::pair<StageId, StageId> ends{from, to};
    if (std::ranges::find(seen, ends) != seen.end()) judge.sentences.push_back(name + " has two orders");
    seen.push_back(ends);
    const bool exists = std::ranges::any_of(judge.boundaries, [&](const Boundary& boundary) {
      return boundary.from == ends.first && boundary.to == ends.second;
    });
    if (!exists) {
      judge.sentences.push_back(name + " does not lead from a stage to one that uses its tensors");
    } else if (channel.discipline == Discipline::Strict &&
               share_a_device(judge.stage(ends.first), judge.stage(ends.second))) {
      judge.sentences.push_back(name +
                                " cannot have a strict order: its stages share a device, so some tensors are not sent");
    } else {
      check_channel_actions(judge, channel, name);
    }
  }
}

}  // namespace

std::vector<std::string> check_schedule(const LayerGraph& graph, const Platform& platform, const Plan& plan,
                                        const Schedule& schedule, const OrderSteps& steps) {
  Judge judge{platform, plan, schedule, boundaries(graph, plan), Replicas(plan), {}, {}, steps};
  for (ReplicaId id : judge.replicas.all()) {
    const Replica& replica = judge.replicas[id];
    judge.told[{replica.device, replica.stage}] = {id, replica.stage, {}, true};
  }
  take_orders(judge);
  for (const auto& [key, replica] : judge.told) {
    for (const auto& [microbatch, mentions] : replica.microbatches) {
      check_microbatch(judge, key.first, replica, microbatch, mentions);
    }
    check_complete(judge, key.first, replica);
  }
  check_caps(judge);
  if (lists_transfers(schedule.transfers)) {
    check_listed(judge);
  } else {
    refuse_marks(judge);
  }
  check_channels(judge);
  return std::move(judge.sentences);
}

}  // namespace stagecraft
