#include "sim/schedule/families/spp_pe/spp_pe.hpp"

#include "sim/schedule/families/spp_pe/processing_pieces.hpp"
#include "sim/schedule/kept_plan.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::int64_t kAtOnce = 512;  ///< up to so many microbatches are ordered in one segment

/// One of the plan's pipelines, which is ordered by itself.
struct OwnPipeline {
  std::uint32_t number = 0;
  std::vector<StageId> stages;
  /// Its stages and microbatches alone, of a stage only what an order depends on.
  Plan plan;
};

std::vector<OwnPipeline> pipelines_of(const Plan& plan, const Replicas& replicas) {
  std::vector<OwnPipeline> pipelines(static_cast<std::size_t>(replicas.pipelines()));
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const Stage& stage = plan.stages[s];
    pipelines[stage.pipeline].stages.emplace_back(s);
    Stage& own = pipelines[stage.pipeline].plan.stages.emplace_back();
    own.replicas = stage.replicas;
    own.replication = stage.replication;
    own.in_flight = stage.in_flight;
  }
  for (std::uint32_t number = 0; number < pipelines.size(); ++number) {
    pipelines[number].number = number;
    pipelines[number].plan.microbatches = replicas.pipeline_turns().count(number, plan.microbatches);
  }
  return pipelines;
}

std::vector<std::int64_t> caps_of(const Plan& plan, InFlightCap cap) {
  std::vector<std::int64_t> alternating;
  std::vector<std::int64_t> own;
  for (const Stage& stage : plan.stages) {
    alternating.push_back(alternating_replicas(stage));
    own.push_back(stage.in_flight.value_or(std::numeric_limits<std::int64_t>::max()));
  }
  return in_flight_caps(alternating, cap, own);
}

/// Groups devices into resources, and maps each device to one that represents its group. All devices of a stage that
/// divides its microbatches work together, so they are in one group.
std::map<DeviceId, DeviceId> bound_devices(const Plan& plan) {
  std::map<DeviceId, DeviceId> bound;
  for (const Stage& stage : plan.stages) {
    for (DeviceId device : devices_of(stage)) bound.try_emplace(device, device);
    if (!divides_microbatches(stage)) continue;
    const DeviceId first = bound.at(stage.replicas.front().lead());
    for (DeviceId device : devices_of(stage)) {
      const DeviceId old = bound.at(device);
      for (auto& [other, to] : bound) {
        if (to == old) to = first;
      }
    }
  }
  return bound;
}

/// The chain of a pipeline. Each alternating replica is a resource, and stages that share a device share its resource;
/// each cut has resources for its channels.
ProcessingChain chain_of(const Plan& plan, const ProcessingSettings& settings) {
  ProcessingChain chain;
  chain.caps = caps_of(plan, settings.cap);
  const std::map<DeviceId, DeviceId> bound = bound_devices(plan);
  std::map<DeviceId, std::uint32_t> resource_of;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const Stage& stage = plan.stages[s];
    auto& slots = chain.stages.emplace_back();
    const auto alternating = static_cast<std::size_t>(alternating_replicas(stage));
    for (std::size_t at = 0; at < alternating; ++at) {
      const DeviceId device = stage.replicas[at].lead();
      const auto [found, is_new] =
          resource_of.try_emplace(bound.at(device), static_cast<std::uint32_t>(chain.resources));
      if (is_new) ++chain.resources;
      // A stage that divides its microbatches gets a place of its own, so everything to and from it is transferred.
      const std::uint32_t place = divides_microbatches(stage)
                                      ? std::numeric_limits<std::uint32_t>::max() - static_cast<std::uint32_t>(s)
                                      : device.value();
      slots.push_back({found->second, place});
    }
    if (s == 0) continue;
    const auto forward = static_cast<std::uint32_t>(chain.resources++);
    chain.cuts.push_back({forward, settings.full_duplex ? static_cast<std::uint32_t>(chain.resources++) : forward});
  }
  return chain;
}

/// Pipelines on the same devices would have to be ordered together.
ScheduleRefusals sharing_refusals(const Plan& plan) {
  std::map<DeviceId, std::size_t> first_on;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    for (const DeviceId device : devices_of(plan.stages[s])) {
      const std::size_t first = first_on.try_emplace(device, s).first->second;
      if (plan.stages[first].pipeline == plan.stages[s].pipeline) continue;
      return {
          {fmt::format("spp-pe orders each pipeline by itself, but stages {} and {} of two pipelines share a device",
                       first, s),
           ""}};
    }
  }
  return {};
}

ScheduleRefusals refusals_of(const Plan& plan, const std::vector<OwnPipeline>& pipelines) {
  for (const OwnPipeline& pipeline : pipelines) {
    for (std::size_t s = 0; s + 1 < pipeline.stages.size(); ++s) {
      const Stage& stage = pipeline.plan.stages[s];
      const Stage& next = pipeline.plan.stages[s + 1];
      if ((divides_microbatches(stage) || divides_microbatches(next)) && share_a_device(stage, next)) {
        return {
            {fmt::format("spp-pe orders whole transfers, but stages {} and {} share a device and one of them divides "
                         "its microbatches",
                         pipeline.stages[s].value(), pipeline.stages[s + 1].value()),
             ""}};
      }
    }
  }
  if (ScheduleRefusals refusals = sharing_refusals(plan); !refusals.empty()) return refusals;
  if (has_unequal_shares(plan)) return {{"spp-pe gives all replicas of a stage equal shares", ""}};
  return {};
}

/// Whether each stage has a resource of its own.
bool is_alone(const Plan& plan) {
  std::map<DeviceId, std::size_t> stages_on;
  for (const Stage& stage : plan.stages) {
    if (alternating_replicas(stage) > 1) return false;
    for (const DeviceId device : devices_of(stage)) {
      if (++stages_on[device] > 1) return false;
    }
  }
  return true;
}

/// The most microbatches in flight in list execution. There the order depends on times, so a stage may reach whatever
/// its own cap and the caps of the stages before it allow.
std::vector<std::int64_t> most_in_list(const Plan& plan, const ProcessingSettings& settings) {
  const std::vector<std::int64_t> caps = caps_of(plan, settings.cap);
  const bool alone = is_alone(plan);
  std::vector<std::int64_t> most;
  std::int64_t least_cap = caps.front();
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const std::int64_t own = turns_of(plan.stages[s]).count(0, plan.microbatches);
    least_cap = std::min(least_cap, caps[s]);
    most.push_back(std::min(own, alone ? least_cap : caps[s]));
    // The last stage's backward is in the round after its forward, so it has priority over any later forward.
    if (alone && s + 1 == plan.stages.size()) most.back() = std::min<std::int64_t>(1, own);
  }
  return most;
}

/// The microbatches in flight where the order depends on the number of stages alone (see `order_blocks`).
std::vector<std::int64_t> plain_in_flight(const Plan& plan) {
  std::vector<std::int64_t> counts;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const auto behind = static_cast<std::int64_t>(plan.stages.size() - 1 - s);
    counts.push_back(std::min(plan.microbatches, 4 * behind + 1));
  }
  return counts;
}

std::vector<std::int64_t> in_flight_of(const Plan& plan, const ProcessingSettings& settings) {
  if (!settings.strict) return most_in_list(plan, settings);
  const auto is_capped = [](const Stage& stage) { return stage.in_flight.has_value(); };
  if (settings.cap == InFlightCap::None && is_alone(plan) && std::ranges::none_of(plan.stages, is_capped)) {
    return plain_in_flight(plan);
  }
  return order_peaks(chain_of(plan, settings), plan.microbatches);
}

/// Writes the blocks of the resources' lists into the orders of devices and channels.
class Writer {
 public:
  Writer(const KeptPlan& kept, const ProcessingSettings& settings, bool exclusive)
      : replicas_(kept.replicas),
        discipline_(settings.strict ? Discipline::Strict : Discipline::Ready),
        settings_(settings),
        exclusive_(exclusive) {
    for (ReplicaId id : replicas_.all()) {
      const DeviceId device = replicas_[id].device;
      if (order_of_.try_emplace(device, schedule_.devices.size()).second) {
        schedule_.devices.push_back({device, discipline_, {}});
      }
    }
  }

  /// The pipeline whose blocks are added from now on.
  void begin(const OwnPipeline& pipeline) {
    pipeline_ = &pipeline;
    caps_ = caps_of(pipeline.plan, settings_.cap);
    // A cap above the number of microbatches has no effect; lowering it keeps products of caps small.
    for (std::int64_t& cap : caps_) cap = std::min(cap, pipeline.plan.microbatches);
    first_channel_ = schedule_.channels.size();
    for (std::size_t s = 0; s + 1 < pipeline.stages.size(); ++s) {
      ChannelOrder channel{
          {{pipeline.stages[s], pipeline.stages[s + 1]}}, discipline_, {}, exclusive_, Direction::Both};
      if (settings_.full_duplex) {
        channel.direction = Direction::Forward;
        schedule_.channels.push_back(channel);
        channel.direction = Direction::Backward;
      }
      schedule_.channels.push_back(std::move(channel));
    }
  }

  void add(const ProcessingBlock& block) {
    const std::int32_t priority = discipline_ == Discipline::Ready ? static_cast<std::int32_t>(block.round) : 0;
    const std::uint32_t microbatch = of_plan(block.microbatch);
    if (block.hop % 2 != 0) {
      const std::size_t per_cut = settings_.full_duplex ? 2 : 1;
      const std::size_t channel = first_channel_ + per_cut * (block.hop / 2) + (block.backward ? per_cut - 1 : 0);
      schedule_.channels[channel].actions.push_back({block.backward, priority, microbatch, Seconds(0), 0});
      return;
    }
    const Stage& stage = pipeline_->plan.stages[block.hop / 2];
    Action action;
    action.kind = block.backward ? ActionKind::Backward : ActionKind::Forward;
    action.stage = pipeline_->stages[block.hop / 2];
    action.microbatch = microbatch;
    action.priority = priority;
    // On a ready lane times decide which forward starts, so the order alone does not keep the caps; `after` does.
    const auto cap =
        static_cast<std::uint64_t>(caps_[block.hop / 2]) * static_cast<std::uint64_t>(alternating_replicas(stage));
    if (discipline_ == Discipline::Ready && !block.backward && block.microbatch >= cap) {
      action.after = of_plan(static_cast<std::uint32_t>(block.microbatch - cap));
    }
    for (ReplicaId id : replicas_.runners(action.stage, microbatch)) push(replicas_[id].device, action);
  }

  Schedule take() { return std::move(schedule_); }

 private:
  /// The plan's number of a microbatch of the pipeline.
  [[nodiscard]] std::uint32_t of_plan(std::uint32_t own) const {
    return static_cast<std::uint32_t>(replicas_.pipeline_turns().turn(pipeline_->number, own));
  }
  void push(DeviceId device, const Action& action) {
    schedule_.devices[order_of_.at(device)].actions.push_back(action);
  }

  const Replicas& replicas_;
  Discipline discipline_;
  ProcessingSettings settings_;
  bool exclusive_;
  const OwnPipeline* pipeline_ = nullptr;
  std::vector<std::int64_t> caps_;  ///< by stage of the pipeline
  std::size_t first_channel_ = 0;   ///< of the pipeline
  std::map<DeviceId, std::size_t> order_of_;
  Schedule schedule_;
};

ProcessingSettings settings_of(const Options& parameters) {
  const std::string& cap = parameters.word("inflight_cap");
  ProcessingSettings settings;
  if (cap == "1f1b") settings.cap = InFlightCap::OneForwardOneBackward;
  if (cap == "double") settings.cap = InFlightCap::Double;
  settings.strict = parameters.word("pe_exec") == "strict";
  settings.full_duplex = parameters.word("duplex") == "full";
  return settings;
}

Schedule orders_of(const KeptPlan& kept, const ProcessingSettings& settings, bool exclusive, bool at_once,
                   Segment segment) {
  Writer writer(kept, settings, exclusive);
  for (const OwnPipeline& pipeline : pipelines_of(kept.plan, kept.replicas)) {
    writer.begin(pipeline);
    if (at_once && segment.begin > 0) continue;
    const ProcessingChain chain = chain_of(pipeline.plan, settings);
    const auto own = [&](std::int64_t end) { return kept.replicas.pipeline_turns().count(pipeline.number, end); };
    const std::int64_t microbatches = pipeline.plan.microbatches;
    const auto lists = at_once ? order_blocks(chain, microbatches).lists
                               : order_piece(chain, microbatches, {own(segment.begin), own(segment.end)});
    for (const auto& list : lists) {
      for (const ProcessingBlock& block : list) writer.add(block);
    }
  }
  return writer.take();
}

Compilation compile_spp_pe(const PlanContext& context, const Options& parameters) {
  const std::vector<OwnPipeline> pipelines = pipelines_of(context.plan, context.replicas);
  ScheduleRefusals refusals = refusals_of(context.plan, pipelines);
  if (!refusals.empty()) return refusals;
  const ProcessingSettings settings = settings_of(parameters);
  ScheduleProgram program;
  program.strict = settings.strict;
  program.at_once = !settings.strict || context.plan.microbatches <= kAtOnce || share_devices(context.replicas);
  program.in_flight.resize(context.plan.stages.size());
  for (const OwnPipeline& pipeline : pipelines) {
    const std::vector<std::int64_t> own = in_flight_of(pipeline.plan, settings);
    for (std::size_t s = 0; s < own.size(); ++s) program.in_flight[pipeline.stages[s].value()] = own[s];
  }
  program.weight_versions.assign(context.plan.stages.size(), 1);
  const bool exclusive = parameters.word("channels") == "exclusive";
  program.orders = [kept = context.kept, settings, exclusive, at_once = program.at_once](Segment segment) {
    return orders_of(*kept, settings, exclusive, at_once, segment);
  };
  return program;
}

}  // namespace

ProcessingSettings processing_settings(const ScheduleChoice& choice) {
  return settings_of(schedule_parameters(choice));
}

const ScheduleFamily family_spp_pe{
    .name = "spp-pe",
    .summary = "the order of a run in rounds, in which every stage and every transfer takes one unit of time",
    .source = "SPP's execution ordering (Luo, Yi, Long, Fan, Wu, Yang, Lin, INFOCOM 2022)",
    .synchronous = true,
    .parameters =
        {{"channels",
          std::string("exclusive"),
          "exclusive: transfers over a cut run one at a time, in the schedule's order; free: they share the links",
          {"exclusive", "free"}},
         {"duplex",
          std::string("half"),
          "channels of a cut; half: one for both directions; full: one for each direction",
          {"half", "full"}},
         {"inflight_cap",
          std::string("none"),
          "cap on microbatches in flight on a stage; 1f1b: the number of stages from it to the last; double: twice "
          "that, less one",
          {"none", "1f1b", "double"}},
         {"pe_exec",
          std::string("strict"),
          "strict: devices and channels keep the order; list: an idle one takes the ready work of "
          "the earliest round",
          {"strict", "list"}}},
    .compile = compile_spp_pe,
};

}  // namespace stagecraft
