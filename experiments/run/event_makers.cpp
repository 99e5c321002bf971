#include "experiments/run/event_makers.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/model/noise.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace stagecraft {
namespace {

/// A disturbance of one device.
struct Spell {
  DeviceId device;
  Seconds begin;
  Seconds end;
  double strength = 1.0;
};

Seconds in_microseconds(Seconds time) { return Seconds(std::round(time.value() * 1e6) / 1e6); }

std::vector<Spell> spells_of(const Platform& platform, const Disturbances& given) {
  Draws draws(given.seed);
  std::vector<Spell> spells;
  IndexVector<DeviceId, Seconds> free_from(platform.devices.size());
  for (Seconds at = given.every * draws.between(0.0, 2.0); at < given.until;
       at += given.every * draws.between(0.0, 2.0)) {
    const Seconds end = at + given.lasting * draws.between(0.5, 1.5);
    const double strength = draws.between(given.low, given.high);
    const DeviceId device(draws.below(platform.devices.size()));
    if (free_from[device] > at) continue;
    free_from[device] = end;
    spells.push_back({device, in_microseconds(at), in_microseconds(end), strength});
  }
  return spells;
}

NamedEvent event_of(const Platform& platform, const Spell& spell, Seconds at, decltype(Event::change) change) {
  NamedEvent named;
  named.event.at = at;
  named.event.change = std::move(change);
  named.names = {platform.devices[spell.device].name};
  return named;
}

using ChangeOfSpell = std::function<decltype(Event::change)(const Spell& spell, bool begins)>;

std::vector<NamedEvent> events_of(const Platform& platform, const Disturbances& given, const ChangeOfSpell& change) {
  std::vector<NamedEvent> events;
  for (const Spell& spell : spells_of(platform, given)) {
    events.push_back(event_of(platform, spell, spell.begin, change(spell, true)));
    events.push_back(event_of(platform, spell, spell.end, change(spell, false)));
  }
  std::ranges::stable_sort(events, {}, [](const NamedEvent& named) { return named.event.at; });
  return events;
}

/// What fails together, as an events file calls it.
std::vector<std::string> units_of(const Platform& platform, bool nodes) {
  std::vector<std::string> units;
  if (nodes) {
    for (const std::string& node : node_names(platform)) units.push_back(node + ".*");
  } else {
    for (const Device& device : platform.devices) units.push_back(device.name);
  }
  return units;
}

}  // namespace

double Draws::between(double low, double high) {
  const std::uint64_t bits = mix_seeds(seed_, drawn_++);
  return low + (high - low) * (static_cast<double>(bits >> 11U) * 0x1p-53);
}

double Draws::exponential() { return -logarithm(1.0 - between(0.0, 1.0)); }

std::size_t Draws::below(std::size_t count) {
  return static_cast<std::size_t>(between(0.0, static_cast<double>(count)));
}

std::vector<NamedEvent> straggler_events(const Platform& platform, const Disturbances& disturbances) {
  return events_of(platform, disturbances, [](const Spell& spell, bool begins) {
    return Slowdown{DeviceId::none(), begins ? std::round(spell.strength * 1e3) / 1e3 : 1.0};
  });
}

std::vector<NamedEvent> memory_events(const Platform& platform, const Disturbances& disturbances) {
  constexpr double kMebibyte = 0x1p20;
  return events_of(platform, disturbances, [&](const Spell& spell, bool begins) {
    const Bytes whole = platform.memory(spell.device);
    const double left = static_cast<double>(whole.value()) * (1.0 - spell.strength);
    const Bytes rest(static_cast<std::int64_t>(std::floor(left / kMebibyte) * kMebibyte));
    return MemoryLimit{DeviceId::none(), begins ? rest : whole};
  });
}

std::vector<NamedEvent> failure_events(const Platform& platform, const Failures& failures) {
  Draws draws(failures.seed);
  std::vector<NamedEvent> events;
  const std::vector<std::string> units = units_of(platform, failures.of_nodes);
  std::vector<Seconds> down_until(units.size());
  for (Seconds at = failures.every * draws.exponential(); at < failures.until;
       at += failures.every * draws.exponential()) {
    const std::size_t unit = draws.below(down_until.size());
    if (down_until[unit] > at) continue;
    const Seconds lasting = failures.lasting.value_or(kForEver);
    down_until[unit] = at + lasting;
    NamedEvent named;
    named.event.at = in_microseconds(at);
    named.event.change = Failure{DeviceId::none(), lasting};
    named.names = {units[unit]};
    events.push_back(std::move(named));
  }
  return events;
}

std::vector<NamedEvent> bandwidth_events(const CsvTable& trace, const std::string& link) {
  const std::size_t at = trace.column("at");
  const std::size_t bandwidth = trace.column("bandwidth");
  std::vector<NamedEvent> events;
  for (std::size_t row = 0; row < trace.rows(); ++row) {
    const Parsed<Seconds> time = parse_seconds(trace.at(row, at));
    if (!time) throw InputError(time.problem, trace.place(row, at));
    const Parsed<BytesPerSecond> value = parse_bandwidth(trace.at(row, bandwidth));
    if (!value) throw InputError(value.problem, trace.place(row, bandwidth));
    if (*value.value < kLeastEventBandwidth) {
      throw InputError("expected a bandwidth of at least 1 Bps, found " + quote(trace.at(row, bandwidth)),
                       trace.place(row, bandwidth));
    }
    if (!events.empty() && *time.value < events.back().event.at) {
      throw InputError("expected a time from that of the row above on, found " + quote(trace.at(row, at)),
                       trace.place(row, at));
    }
    NamedEvent named;
    named.event.at = *time.value;
    named.event.change = BandwidthChange{LinkId::none(), *value.value};
    named.names = {link};
    events.push_back(std::move(named));
  }
  return events;
}

}  // namespace stagecraft
