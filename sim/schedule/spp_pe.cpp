#include "sim/schedule/spp_pe.hpp"

#include "sim/schedule/processing_pieces.hpp"
#include "sim/schedule/ranks.hpp"
#include "sim/schedule/schedule_info.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::int64_t kAtOnce = 512;  ///< microbatches that are ordered in one piece

std::int64_t one_weight_version(const Plan& /*plan*/, StageId /*stage*/) { return 1; }

std::vector<std::int64_t> caps_of(const Plan& plan, InFlightCap cap) {
  std::vector<std::int64_t> alternating;
  std::vector<std::int64_t> own;
  for (const Stage& stage : plan.stages) {
    alternating.push_back(alternating_replicas(stage));
    own.push_back(stage.in_flight.value_or(std::numeric_limits<std::int64_t>::max()));
  }
  return in_flight_caps(alternating, cap, own);
}

bool is_divided(const Stage& stage) { return stage.replication == Replication::Split && stage.devices.size() > 1; }

/// For each device the first one that it is bound to: all devices of a stage that divides its microbatches are one
/// resource.
std::map<DeviceId, DeviceId> bound_devices(const Plan& plan) {
  std::map<DeviceId, DeviceId> bound;
  for (const Stage& stage : plan.stages) {
    for (DeviceId device : stage.devices) bound.try_emplace(device, device);
    if (!is_divided(stage)) continue;
    const DeviceId first = bound.at(stage.devices.front());
    for (DeviceId device : stage.devices) {
      const DeviceId old = bound.at(device);
      for (auto& [other, to] : bound) {
        if (to == old) to = first;
      }
    }
  }
  return bound;
}

/// Each alternating replica is a resource, stages that share a device share its; then the channels.
ProcessingChain chain_of(const Plan& plan, const ProcessingSettings& settings) {
  ProcessingChain chain;
  chain.caps = caps_of(plan, settings.cap);
  const std::map<DeviceId, DeviceId> bound = bound_devices(plan);
  std::map<DeviceId, std::uint32_t> resource_of;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const Stage& stage = plan.stages[s];
    auto& seats = chain.stages.emplace_back();
    for (std::int64_t r = 0; r < alternating_replicas(stage); ++r) {
      const DeviceId device = stage.devices[static_cast<std::size_t>(r)];
      const auto [found, is_new] =
          resource_of.try_emplace(bound.at(device), static_cast<std::uint32_t>(chain.resources));
      if (is_new) ++chain.resources;
      // Nothing else is at the place of a stage of several devices.
      const std::uint32_t place = is_divided(stage)
                                      ? std::numeric_limits<std::uint32_t>::max() - static_cast<std::uint32_t>(s)
                                      : device.value();
      seats.push_back({found->second, place});
    }
    if (s == 0) continue;
    const auto forward = static_cast<std::uint32_t>(chain.resources++);
    chain.cuts.push_back({forward, settings.full_duplex ? static_cast<std::uint32_t>(chain.resources++) : forward});
  }
  return chain;
}

bool share_a_device(const Stage& a, const Stage& b) {
  return std::ranges::any_of(a.devices,
                             [&](DeviceId device) { return std::ranges::find(b.devices, device) != b.devices.end(); });
}

std::optional<std::string> problem(const Plan& plan) {
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const Stage& stage = plan.stages[s];
    if (stage.pipeline != 0) return "spp-pe runs one pipeline; stage " + std::to_string(s) + " is of another";
    if (s + 1 == plan.stages.size()) continue;
    const Stage& next = plan.stages[s + 1];
    if ((is_divided(stage) || is_divided(next)) && share_a_device(stage, next)) {
      return "spp-pe orders whole transfers between stages; of stage " + std::to_string(s) + " and stage " +
             std::to_string(s + 1) + ", which share a device, one divides its microbatches";
    }
  }
  return std::nullopt;
}

/// Whether nothing but the number of stages decides the order.
bool is_plain(const Plan& plan, const ProcessingSettings& settings) {
  return settings.cap == InFlightCap::None && !shares_devices(plan) &&
         std::ranges::all_of(plan.stages,
                             [](const Stage& stage) { return alternating_replicas(stage) == 1 && !stage.in_flight; });
}

/// In list execution times decide: whatever a stage's cap, and the one before it, lets in.
std::int64_t most_in_list(const Plan& plan, const ProcessingSettings& settings, StageId id) {
  const Stage& stage = plan.stages[id.value()];
  const std::int64_t own = microbatches_of(stage, 0, plan.microbatches);
  const std::vector<std::int64_t> caps = caps_of(plan, settings.cap);
  const bool is_alone = !shares_devices(plan) && std::ranges::all_of(plan.stages, [](const Stage& each) {
    return alternating_replicas(each) == 1;
  });
  if (!is_alone) return std::min(caps[id.value()], own);
  // The backward of the last stage comes in the round after its forward: before any other forward.
  if (id.value() + 1 == plan.stages.size()) return std::min<std::int64_t>(1, own);
  return std::min(own, *std::min_element(caps.begin(), caps.begin() + static_cast<std::ptrdiff_t>(id.value()) + 1));
}

std::int64_t order_in_flight(const Plan& plan, StageId id) {
  const ProcessingSettings settings = processing_settings(plan.schedule);
  if (!settings.strict) return most_in_list(plan, settings, id);
  if (is_plain(plan, settings)) {
    const auto behind = static_cast<std::int64_t>(plan.stages.size() - 1 - id.value());
    return std::min(plan.microbatches, 4 * behind + 1);
  }
  return order_peaks(chain_of(plan, settings), plan.microbatches)[id.value()];
}

/// Orders made of the lists of resources.
class Writer {
 public:
  Writer(const Plan& plan, const ProcessingSettings& settings)
      : plan_(plan),
        discipline_(settings.strict ? Discipline::Strict : Discipline::Ready),
        caps_(caps_of(plan, settings.cap)) {
    // No cap above the microbatches has an effect; so products of caps stay small.
    for (std::int64_t& cap : caps_) cap = std::min(cap, plan.microbatches);
    for (const Stage& stage : plan.stages) {
      for (DeviceId device : stage.devices) {
        if (order_of_.try_emplace(device, schedule_.devices.size()).second) {
          schedule_.devices.push_back({device, discipline_, {}});
        }
      }
    }
    const bool exclusive = parameter(plan.schedule, "channels") == "exclusive";
    for (std::size_t s = 0; s + 1 < plan.stages.size(); ++s) {
      ChannelOrder channel{{{StageId(s), StageId(s + 1)}}, discipline_, {}, exclusive, Direction::Both};
      ways_ = settings.full_duplex ? 2 : 1;
      if (settings.full_duplex) {
        channel.direction = Direction::Forward;
        schedule_.channels.push_back(channel);
        channel.direction = Direction::Backward;
      }
      schedule_.channels.push_back(std::move(channel));
    }
  }

  void add(const ProcessingBlock& block) {
    const std::int32_t priority = discipline_ == Discipline::Ready ? static_cast<std::int32_t>(block.round) : 0;
    if (block.hop % 2 != 0) {
      const std::size_t channel = ways_ * (block.hop / 2) + (block.backward ? ways_ - 1 : 0);
      schedule_.channels[channel].actions.push_back({block.backward, priority, block.microbatch, Seconds(0), 0});
      return;
    }
    const Stage& stage = plan_.stages[block.hop / 2];
    Action action;
    action.kind = block.backward ? ActionKind::Backward : ActionKind::Forward;
    action.stage = StageId(block.hop / 2);
    action.microbatch = block.microbatch;
    action.priority = priority;
    // Where times decide, the order does not keep the caps.
    const auto cap =
        static_cast<std::uint64_t>(caps_[block.hop / 2]) * static_cast<std::uint64_t>(alternating_replicas(stage));
    if (discipline_ == Discipline::Ready && !block.backward && block.microbatch >= cap) {
      action.after = static_cast<std::uint32_t>(block.microbatch - cap);
    }
    if (!is_divided(stage)) {
      push(stage.devices[block.microbatch % stage.devices.size()], action);
      return;
    }
    for (DeviceId device : stage.devices) push(device, action);
  }

  Schedule take() { return std::move(schedule_); }

 private:
  void push(DeviceId device, const Action& action) {
    schedule_.devices[order_of_.at(device)].actions.push_back(action);
  }

  const Plan& plan_;
  Discipline discipline_;
  std::vector<std::int64_t> caps_;  ///< by stage
  std::size_t ways_ = 1;            ///< channels of a cut
  std::map<DeviceId, std::size_t> order_of_;
  Schedule schedule_;
};

bool builds_at_once(const Plan& plan) {
  return !processing_settings(plan.schedule).strict || plan.microbatches <= kAtOnce || shares_devices(plan);
}

Schedule build(const Plan& plan, Segment segment) {
  const ProcessingSettings settings = processing_settings(plan.schedule);
  Writer writer(plan, settings);
  const ProcessingChain chain = chain_of(plan, settings);
  const bool at_once = builds_at_once(plan);
  if (at_once && segment.begin > 0) return writer.take();
  const auto lists =
      at_once ? order_blocks(chain, plan.microbatches).lists : order_piece(chain, plan.microbatches, segment);
  for (const auto& list : lists) {
    for (const ProcessingBlock& block : list) writer.add(block);
  }
  return writer.take();
}

}  // namespace

ProcessingSettings processing_settings(const ScheduleChoice& choice) {
  const std::string cap = parameter(choice, "inflight_cap");
  ProcessingSettings settings;
  if (cap == "1f1b") settings.cap = InFlightCap::OneForwardOneBackward;
  if (cap == "double") settings.cap = InFlightCap::Double;
  settings.strict = parameter(choice, "pe_exec") == "strict";
  settings.full_duplex = parameter(choice, "duplex") == "full";
  return settings;
}

const ScheduleInfo spp_pe_schedule = {
    .name = "spp-pe",
    .summary = "forwards and backwards in the order of rounds in which every stage and every transfer takes one unit",
    .source = "SPP's execution ordering (Luo, Yi, Long, Fan, Wu, Yang, Lin, INFOCOM 2022)",
    .synchronous = true,
    .parameters =
        {{"channels",
          "exclusive: transfers over a cut go in the order's turn, one at a time; free: as the links let them",
          "exclusive",
          {"exclusive", "free"}},
         {"duplex", "channels of a cut; half: one for both ways; full: one for each", "half", {"half", "full"}},
         {"inflight_cap",
          "microbatches in flight on a stage; 1f1b: as many as stages from it on; double: twice that less one",
          "none",
          {"none", "1f1b", "double"}},
         {"pe_exec",
          "strict: devices and channels keep the order; list: an idle one takes what is ready of the "
          "earliest round",
          "strict",
          {"strict", "list"}}},
    .problem = &problem,
    .weight_versions = &one_weight_version,
    .in_flight = &order_in_flight,
    .build = &build,
    .builds_at_once = &builds_at_once};

}  // namespace stagecraft
