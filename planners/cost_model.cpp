#include "planners/cost_model.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/schedule/memory_ledger.hpp"
#include "sim/schedule/pattern.hpp"
#include "sim/schedule/schedule_info.hpp"
#include "sim/schedule/workers.hpp"

#include <algorithm>
#include <map>

namespace stagecraft {
namespace {

/// What a replica of a stage alone on its device holds at most with that many microbatches in flight.
Bytes replica_peak(const Plan& plan, const std::vector<Boundary>& all, const StageWork& work, StageId id,
                   std::size_t replica, std::int64_t pending) {
  const Stage& stage = plan.stages[id.value()];
  const Share share = replica_share(stage, replica);
  const Bytes boundary = boundary_bytes(plan, all, id, stage.devices[replica]);
  const StaticMemory held = static_memory(plan.training, work, weight_versions(plan, id), boundary, share);
  return peak_memory(held, work, pending, pending, share);
}

std::optional<std::uint32_t> stage_on(const Plan& plan, DeviceId device) {
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    if (std::ranges::find(plan.stages[s].devices, device) != plan.stages[s].devices.end()) {
      return static_cast<std::uint32_t>(s);
    }
  }
  return std::nullopt;
}

}  // namespace

StageTime stage_time(const LayerGraph& graph, const Platform& platform, const Stage& stage) {
  const StageWork work = stage_work(graph, stage);
  const double factor = slowest_factor(graph, platform, stage.devices);
  return {work.forward * factor, work.backward_total() * factor};
}

double slowest_factor(const LayerGraph& graph, const Platform& platform, const std::vector<DeviceId>& devices) {
  STAGECRAFT_CHECK(!devices.empty(), "a stage with at least one device");
  double factor = 0.0;
  for (DeviceId device : devices) {
    factor = std::max(factor, require_time_factor(platform, graph.device_kind, device));
  }
  return factor;
}

std::vector<DeviceId> all_devices(const Platform& platform) {
  std::vector<DeviceId> devices;
  for (DeviceId device : indices(platform.devices)) devices.push_back(device);
  return devices;
}

Bytes smallest_capacity(const Platform& platform) {
  Bytes smallest = platform.capacity(DeviceId(0));
  for (DeviceId device : indices(platform.devices)) smallest = std::min(smallest, platform.capacity(device));
  return smallest;
}

Seconds ring_all_reduce(const Platform& platform, const std::vector<DeviceId>& ring, Bytes bytes) {
  if (ring.size() < 2) return Seconds(0);
  BytesPerSecond slowest(kNever.value());
  for (std::size_t i = 0; i < ring.size(); ++i) {
    const DeviceId next = ring[(i + 1) % ring.size()];
    const std::optional<BytesPerSecond> bandwidth = pair_bandwidth(platform, ring[i], next);
    if (!bandwidth) {
      throw InputError("devices " + quote(platform.devices[ring[i]].name) + " and " +
                       quote(platform.devices[next].name) + " of platform " + quote(platform.spec.name) +
                       " are not connected");
    }
    slowest = std::min(slowest, *bandwidth);
  }
  const auto replicas = static_cast<double>(ring.size());
  return bytes / slowest * (2.0 * (replicas - 1.0) / replicas);
}

Seconds slowest_update(const Platform& platform, const Training& training, const std::vector<DeviceId>& devices,
                       Bytes parameters) {
  Seconds slowest{0};
  for (DeviceId device : devices) slowest = std::max(slowest, update_time(platform.kind(device), training, parameters));
  return slowest;
}

bool is_asynchronous(const ScheduleChoice& schedule) {
  const ScheduleInfo* info = find_schedule(schedule.name);
  if (info != nullptr) return !info->synchronous;
  std::vector<std::string> known;
  for (const ScheduleInfo* each : all_schedules()) known.emplace_back(each->name);
  throw InputError("there is no schedule " + quote(schedule.name), {}, suggest_name(schedule.name, known));
}

Figures claimed_figures(const Plan& plan, Seconds largest_stage_time, std::int64_t replicas) {
  Figures figures;
  if (is_asynchronous(plan.schedule)) {
    figures.period = largest_stage_time / static_cast<double>(replicas);
    return figures;
  }
  const std::int64_t rounds = (plan.microbatches + replicas - 1) / replicas;
  const auto stages = static_cast<std::int64_t>(plan.stages.size());
  figures.iteration_time = largest_stage_time * static_cast<double>(rounds + stages - 1);
  return figures;
}

std::vector<std::pair<DeviceId, Bytes>> ledger_peaks(const LayerGraph& graph, const Plan& plan) {
  if (runs_pattern(plan)) return pattern_peaks(graph, plan);
  const std::vector<Boundary> all = boundaries(graph, plan);
  std::map<DeviceId, Bytes> peaks;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const StageWork work = stage_work(graph, plan.stages[s]);
    const std::int64_t pending = in_flight(plan, StageId(s));
    for (std::size_t replica = 0; replica < plan.stages[s].devices.size(); ++replica) {
      peaks[plan.stages[s].devices[replica]] += replica_peak(plan, all, work, StageId(s), replica, pending);
    }
  }
  return {peaks.begin(), peaks.end()};
}

std::int64_t most_in_flight(const LayerGraph& graph, const Platform& platform, const Plan& plan, StageId stage,
                            std::int64_t most) {
  const std::vector<Boundary> all = boundaries(graph, plan);
  const StageWork work = stage_work(graph, plan.stages[stage.value()]);
  const std::vector<DeviceId>& devices = plan.stages[stage.value()].devices;
  for (std::size_t replica = 0; replica < devices.size(); ++replica) {
    const auto fits = [&](std::int64_t pending) {
      return replica_peak(plan, all, work, stage, replica, pending) <= platform.capacity(devices[replica]);
    };
    std::int64_t held = 0;  // fits, or nothing does
    while (held < most) {
      const std::int64_t middle = held + (most - held + 1) / 2;
      if (fits(middle)) {
        held = middle;
      } else {
        most = middle - 1;
      }
    }
  }
  return most;
}

std::optional<Infeasible> memory_overflow(const Platform& platform, const Plan& plan,
                                          const std::vector<std::pair<DeviceId, Bytes>>& peaks) {
  std::optional<Infeasible> worst;
  for (const auto& [device, peak] : peaks) {
    const Bytes excess = peak - platform.capacity(device);
    if (excess <= Bytes(0) || (worst && excess <= worst->excess)) continue;
    worst = Infeasible{"device '" + platform.devices[device].name + "' would hold " + format_human_bytes(peak) +
                           " of " + format_human_bytes(platform.capacity(device)),
                       device, stage_on(plan, device), excess, ""};
  }
  if (worst) worst->smallest_memory = memory_needed(platform, peaks);
  return worst;
}

Bytes memory_needed(const Platform& platform, const std::vector<std::pair<DeviceId, Bytes>>& peaks) {
  Bytes needed{0};
  for (const auto& [device, peak] : peaks) {
    if (peak > platform.capacity(device)) needed = std::max(needed, peak + platform.kind(device).reserved);
  }
  return needed;
}

Platform with_memory(const Platform& platform, Bytes least) {
  Platform larger = platform;
  for (DeviceKind& kind : larger.spec.device_kinds) kind.memory = std::max(kind.memory, least);
  return larger;
}

PlanRequest on_platform(const PlanRequest& request, const Platform& platform) {
  return {.graph = request.graph,
          .platform = platform,
          .schedule = request.schedule,
          .microbatches = request.microbatches,
          .training = request.training,
          .options = request.options,
          .explain = false};
}

Bytes least_memory(const Platform& platform, Bytes enough, const std::function<bool(const Platform&)>& finds) {
  constexpr Bytes kMebibyte{std::int64_t{1} << 20};
  constexpr std::int64_t kSteps = 4096;
  Bytes lacking = enough;
  for (DeviceId device : indices(platform.devices)) lacking = std::min(lacking, platform.kind(device).memory);
  const Bytes step = std::clamp(Bytes((enough - lacking).value() / kSteps), Bytes(1), kMebibyte);
  while (enough - lacking > step) {
    const Bytes middle = lacking + Bytes((enough - lacking).value() / 2);
    (finds(with_memory(platform, middle)) ? enough : lacking) = middle;
  }
  return enough;
}

PlanResult judged(const PlanRequest& request, Planned planned) {
  planned.plan = prepared(request.graph, request.platform, std::move(planned.plan));
  planned.plan.predicted.peak_memory = ledger_peaks(request.graph, planned.plan);
  const auto overflow = memory_overflow(request.platform, planned.plan, planned.plan.predicted.peak_memory);
  if (overflow) return *overflow;
  return planned;
}

}  // namespace stagecraft
