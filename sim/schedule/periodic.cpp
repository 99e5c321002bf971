#include "sim/schedule/periodic.hpp"

#include <algorithm>
#include <tuple>

namespace stagecraft {

// Forwards of a microbatch follow each other without a pause; only backwards wait. So from a resource to the one before
// it, a single number goes on: the *reach*, from the end of the earlier one's forward, when the forward of the later
// one starts, to the end of the later one's backward. The earlier one's backward cannot start sooner.
//
// **Invariant** of both passes from the last resource to the first: reach = (group - 1) periods + load, where `load` is
// that of the resources of the present group so far, at most a period. A resource whose load still fits into the period
// adds to it. Another one would cross a multiple of the period, so its delay becomes that multiple, and it begins the
// next group with a load of its own. So ⌈reach / period⌉ is the group, and `star_groups` finds the counts of
// `star_times` without times.

namespace {

Ticks ceil_div(Ticks a, Ticks b) { return (a + b - 1) / b; }

bool is_within(std::span<const ChainResource> resources, Ticks period) {
  return std::ranges::all_of(resources, [&](const ChainResource& resource) { return resource.load() <= period; });
}

TickOperation operation(std::size_t resource, bool backward, Ticks start, Ticks period) {
  return {resource % 2 == 1, static_cast<std::uint32_t>(resource / 2), backward, start % period, start / period};
}

}  // namespace

Ticks stack_delay(Ticks delay, Ticks load, Ticks period) {
  const Ticks periods = ceil_div(delay, period);
  return periods == ceil_div(delay + load, period) ? delay + load : periods * period + load;
}

std::int64_t in_flight_within(Ticks reach, Ticks period) { return std::max<std::int64_t>(1, ceil_div(reach, period)); }

std::optional<StarTimes> star_times(std::span<const ChainResource> resources, Ticks period) {
  if (!is_within(resources, period)) return std::nullopt;
  const std::size_t count = resources.size();
  StarTimes times{std::vector<Ticks>(count), std::vector<Ticks>(count), std::vector<std::int64_t>(count), {}};
  times.resources.assign(resources.begin(), resources.end());
  Ticks start = 0;
  for (std::size_t r = 0; r < count; ++r) {
    times.forward[r] = start;
    start += resources[r].forward;
  }
  Ticks reach = 0;  // D + u of the resource after r
  for (std::size_t r = count; r-- > 0;) {
    reach = stack_delay(reach, resources[r].load(), period);
    times.backward[r] = times.forward[r] + resources[r].forward + reach - resources[r].load();
    times.in_flight[r] = in_flight_within(reach, period);
  }
  return times;
}

std::optional<std::vector<std::int64_t>> star_groups(std::span<const ChainResource> resources, Ticks period) {
  if (!is_within(resources, period)) return std::nullopt;
  std::vector<std::int64_t> groups(resources.size());
  std::int64_t group = 1;
  Ticks load = 0;
  for (std::size_t r = resources.size(); r-- > 0;) {
    load += resources[r].load();
    if (load > period) {
      ++group;
      load = resources[r].load();
    }
    groups[r] = group;
  }
  return groups;
}

std::optional<Ticks> least_star_period(std::span<const ChainResource> resources,
                                       const std::function<bool(std::span<const std::int64_t>)>& fits) {
  // Bisection: `lacking` is always too short and `enough` always fits.
  Ticks lacking = 0;  // at first one less than the largest load: too short for that resource
  Ticks enough = 1;   // at first more than all loads together: one group
  for (const ChainResource& resource : resources) {
    lacking = std::max(lacking, resource.load() - 1);
    enough += resource.load();
  }
  if (!fits(*star_groups(resources, enough))) return std::nullopt;
  while (enough - lacking > 1) {
    const Ticks middle = lacking + (enough - lacking) / 2;  // at least the largest load, so there are groups
    (fits(*star_groups(resources, middle)) ? enough : lacking) = middle;
  }
  return enough;
}

TickPattern star_pattern(const StarTimes& times, Ticks period) {
  TickPattern pattern{period, {}};
  for (std::size_t r = 0; r < times.forward.size(); ++r) {
    pattern.operations.push_back(operation(r, false, times.forward[r], period));
  }
  for (std::size_t r = times.backward.size(); r-- > 0;) {
    pattern.operations.push_back(operation(r, true, times.backward[r], period));
  }
  list_in_order(pattern.operations, [&](const TickOperation& o) {
    const ChainResource& resource = times.resources[std::size_t{2} * o.index + (o.is_cut ? 1 : 0)];
    return o.backward ? resource.backward : resource.forward;
  });
  return pattern;
}

void list_in_order(std::vector<TickOperation>& operations, const std::function<Ticks(const TickOperation&)>& duration) {
  std::ranges::stable_sort(operations, {}, [&](const TickOperation& o) {
    const bool takes_time = duration(o) > 0;
    return std::tuple(o.start, takes_time, takes_time ? 0 : -o.shift);
  });
}

Pattern to_pattern(const TickPattern& pattern, bool timed) {
  Pattern result{to_seconds(pattern.period), timed, {}};
  for (const TickOperation& o : pattern.operations) {
    result.operations.push_back({o.is_cut, o.index, o.backward, to_seconds(o.start), o.shift});
  }
  return result;
}

}  // namespace stagecraft
