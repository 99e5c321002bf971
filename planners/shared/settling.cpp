#include "planners/shared/settling.hpp"

#include "planners/shared/cost_model.hpp"
#include "planners/shared/limits.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/measured_part.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace stagecraft {
namespace {

using Peaks = std::vector<std::pair<DeviceId, Bytes>>;

/// The stage that has most on a host whose memory does not suffice; none if all hosts have enough.
std::optional<std::size_t> overfull_host_stage(const Platform& platform, const std::vector<StagePlace>& places,
                                               const SavedPlan& found) {
  std::map<HostId, Bytes> sums;
  std::vector<Bytes> own;  // of each replica
  for (std::size_t s = 0; s < places.size(); ++s) {
    own.push_back(found.swapped[s] * places[s].in_flight);
    if (own.back() == Bytes(0)) continue;
    for (const DeviceId device : places[s].devices) sums[platform.devices[device].host] += own.back();
  }
  const auto is_on_overfull_host = [&](DeviceId device) {
    const HostId host = platform.devices[device].host;
    return sums.at(host) > platform.hosts[host].memory;
  };
  std::optional<std::size_t> worst;
  for (std::size_t s = 0; s < own.size(); ++s) {
    if (own[s] == Bytes(0) || (worst && own[s] <= own[*worst])) continue;
    if (std::ranges::any_of(places[s].devices, is_on_overfull_host)) worst = s;
  }
  return worst;
}

/// The memory that a device of the stage lacks, at most, and the peak there.
struct Lack {
  Bytes excess;
  Bytes peak;
};

Lack lack_of(const Platform& platform, const StagePlace& place, const Peaks& peaks) {
  std::optional<Lack> worst;
  for (const DeviceId device : place.devices) {
    const Bytes peak = std::ranges::find(peaks, device, &Peaks::value_type::first)->second;
    const Bytes excess = peak - platform.capacity(device);
    if (!worst || excess > worst->excess) worst = {excess, peak};
  }
  return *worst;
}

/// Corrects the figures of each stage whose device lacks memory; false if none does. Where units are swapped, more of
/// them are on the device than was thought: for example, forwards that warm up may follow each other faster than copies
/// leave. Elsewhere the capacity is lowered by what was not planned.
bool correct(const Platform& platform, std::vector<StagePlace>& places, const SavedPlan& found, const Peaks& peaks) {
  bool lacks = false;
  for (std::size_t s = 0; s < places.size(); ++s) {
    StagePlace& place = places[s];
    const auto [excess, peak] = lack_of(platform, place, peaks);
    if (excess <= Bytes(0)) continue;
    lacks = true;
    const Bytes swapped = found.swapped[s];
    const Bytes unplanned = peak - found.savings[s].memory;
    if (swapped > Bytes(0) && unplanned > Bytes(0)) {
      const std::int64_t more = (unplanned.value() + swapped.value() - 1) / swapped.value();
      place.resident = std::min(place.in_flight, place.resident + more);
    } else {
      const Bytes enough = peak - excess - unplanned;  // of the stage's own figures, if as much is unplanned again
      place.capacity -= std::max(excess, place.capacity - enough);
    }
  }
  return lacks;
}

/// The ledger's peaks. What swapping saves depends on times: then the run has to be long enough to be measured, and is
/// no longer than it takes to show the peak. Peaks come while a pipeline fills and right after, so that is enough of
/// runs that take seconds to evaluate.
Peaks peaks_of(const PlanRequest& request, const Platform& platform, Plan plan) {
  constexpr std::int64_t kLongRun = 1024;
  constexpr std::int64_t kManyMicrobatches = 100'000;  // on stages, together
  const ScheduleProgram whole = require_schedule(request.graph, platform, plan);
  const std::int64_t least = least_microbatches(whole, whole.kept->replicas);
  std::size_t replicas = 1;
  for (const Stage& stage : plan.stages) replicas = std::max(replicas, stage.replicas.size());
  const std::int64_t filling = std::ranges::max(whole.in_flight) * static_cast<std::int64_t>(replicas);
  std::int64_t most = std::max({kLongRun, least, 8 * filling});
  if (std::min(plan.microbatches, most) * std::ssize(plan.stages) > kManyMicrobatches)
    most = std::max(least, 2 * filling);
  plan.microbatches = std::clamp(plan.microbatches, least, most);
  const ScheduleProgram program = require_schedule(request.graph, platform, plan);
  return ledger_peaks(request.graph, platform, plan, program);
}

bool swaps(const SavedPlan& found) {
  return std::ranges::any_of(found.swapped, [](Bytes bytes) { return bytes > Bytes(0); });
}

/// The peaks if copies to and from the host take as long as they may on links that others use.
Peaks crowded_peaks(const PlanRequest& request, const std::vector<StagePlace>& places, const SavedPlan& found) {
  const Plan& plan = found.planned.plan;
  return peaks_of(request, with_crowded_host_links(request, places, plan, slowest_time(found.savings)), plan);
}

/// **Shape** the same devices in both.
Peaks larger_of(Peaks peaks, const Peaks& others) {
  for (std::size_t i = 0; i < peaks.size(); ++i) peaks[i].second = std::max(peaks[i].second, others[i].second);
  return peaks;
}

}  // namespace

Seconds slowest_time(const std::vector<SavingPlan>& savings) {
  return std::ranges::max(savings, {}, &SavingPlan::time).time;
}

Bytes swapped_stash(const std::vector<SavingUnit>& units, const std::vector<Saving>& actions) {
  Bytes swapped;
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (actions[i] == Saving::Swap) swapped += units[i].stash;
  }
  return swapped;
}

Settled settle(const PlanRequest& request, std::vector<StagePlace>& places,
               const std::function<std::optional<SavedPlan>()>& find,
               const std::function<Figures(const SavedPlan&)>& claim) {
  Settled settled;
  std::int64_t rounds = 0;
  for (std::int64_t corrected = 0; corrected < kMostSettlingRounds;) {
    ++rounds;
    std::optional<SavedPlan> found = find();
    if (!found) break;
    if (const auto stage = overfull_host_stage(request.platform, places, *found)) {
      places[*stage].host_bandwidth = 0.0;
      continue;
    }
    Plan& plan = found->planned.plan;
    plan.predicted = claim(*found);
    plan.predicted.peak_memory = peaks_of(request, request.platform, plan);
    Peaks peaks = plan.predicted.peak_memory;
    if (swaps(*found)) peaks = larger_of(peaks, crowded_peaks(request, places, *found));
    found->planned.details.emplace_back("ledger_rounds", rounds);
    if (!correct(request.platform, places, *found, peaks)) {
      settled.planned = std::move(found->planned);
      return settled;
    }
    settled.overflow = memory_overflow(request.platform, plan, peaks);
    ++corrected;
  }
  return settled;
}

}  // namespace stagecraft
