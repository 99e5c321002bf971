#include "experiments/view/events_view.hpp"

#include "experiments/run/begun_models.hpp"
#include "experiments/view/table.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/short_number.hpp"
#include "sim/base/text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <variant>
#include <vector>

namespace stagecraft {
namespace {

constexpr std::size_t kMissedShown = 3;
constexpr std::size_t kIdleShown = 3;
constexpr std::size_t kStruckShown = 10;
constexpr std::size_t kNamesShown = 3;

/// The name of the device or link that an event changes; empty for one that changes the whole run.
struct NameOf {
  const Platform& platform;
  std::string operator()(const ModelChange&) const { return {}; }
  std::string operator()(const SizeChange&) const { return {}; }
  std::string operator()(const BandwidthChange& change) const { return platform.links[change.link].name; }
  std::string operator()(const LinkFailure& change) const { return platform.links[change.link].name; }
  std::string operator()(const Jitter&) const { return {}; }
  std::string operator()(const MicrobatchWork&) const { return {}; }
  template <class Change>
  std::string operator()(const Change& change) const {
    return platform.devices[change.device].name;
  }
};

std::string model_name(const SimulationChoices& choices, const ModelChange& change) {
  return choices.models[change.model].profiles.front().name;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// What it changes, as in the file, and the new value.
struct ChangeOf {
  const SimulationChoices& choices;
  using Entry = std::pair<const char*, Detail>;
  Entry operator()(const ModelChange& change) const { return {"model", model_name(choices, change)}; }
  Entry operator()(const SizeChange& change) const { return {"microbatch_size", change.samples}; }
  Entry operator()(const Slowdown& change) const { return {"slowdown", change.factor}; }
  Entry operator()(const BandwidthChange& change) const { return {"bandwidth", change.bandwidth.value()}; }
  Entry operator()(const MemoryLimit& change) const { return {"memory", change.memory.value()}; }
  Entry operator()(const Failure& change) const { return {"fails_for", change.duration.value()}; }
  Entry operator()(const LinkFailure& change) const { return {"fails_for", change.duration.value()}; }
  Entry operator()(const Departure& change) const { return {"leaves_at", change.leaves_at.value()}; }
  Entry operator()(const Jitter& change) const { return {"jitter", change.sigma}; }
  Entry operator()(const MicrobatchWork& change) const { return {"work", mean(change.factors)}; }
};

/// What happens to devices or links, behind their names.
struct WordsOf {
  const SimulationChoices& choices;
  bool several = false;
  std::string operator()(const ModelChange& change) const { return "model " + model_name(choices, change); }
  std::string operator()(const SizeChange& change) const {
    return "microbatches of " + counted(change.samples, "sample");
  }
  [[nodiscard]] const char* has() const { return several ? " have " : " has "; }
  std::string operator()(const Slowdown& change) const {
    return (several ? " take " : " takes ") + short_number(change.factor) + " times the time";
  }
  std::string operator()(const BandwidthChange& change) const {
    return has() + format_human_bandwidth(change.bandwidth);
  }
  std::string operator()(const MemoryLimit& change) const {
    return has() + format_human_bytes(change.memory) + " of memory";
  }
  [[nodiscard]] std::string fails_for(Seconds duration) const {
    return (several ? " fail for " : " fails for ") + format_human_seconds(duration);
  }
  std::string operator()(const Failure& change) const { return fails_for(change.duration); }
  std::string operator()(const LinkFailure& change) const { return fails_for(change.duration); }
  std::string operator()(const Departure& change) const {
    return (several ? " are to leave at " : " is to leave at ") + format_human_seconds(change.leaves_at);
  }
  std::string operator()(const Jitter& change) const { return "noise of sigma " + format_number(change.sigma); }
  std::string operator()(const MicrobatchWork& change) const {
    return "microbatches have work of their own: " + counted(change.factors.size(), "factor") + ", " +
           short_number(mean(change.factors)) + " on average";
  }
};

/// `at 10 s`, or `at microbatch 200`.
std::string moment_text(const Event& event) {
  return "at " +
         (event.at_microbatch ? "microbatch " + std::to_string(*event.at_microbatch) : format_human_seconds(event.at));
}

/// An event of the file that has happened, with the events of the run that it stands for.
struct Struck {
  Seconds at;
  std::vector<const Event*> events;
};

std::vector<Struck> struck_events(const Simulation& simulation) {
  std::vector<Struck> struck;
  for (const Strike& strike : simulation.report.course.strikes) {
    const Event& event = simulation.choices.events.at(strike.event);
    const bool goes_on =
        !struck.empty() && struck.back().at == strike.at && struck.back().events.front()->listed == event.listed;
    if (!goes_on) struck.push_back({strike.at, {}});
    struck.back().events.push_back(&event);
  }
  return struck;
}

/// `gpu1`; `gpu0.up, gpu0.down`.
std::string names_of(const Struck& struck, const Platform& platform) {
  std::string names;
  for (std::size_t i = 0; i < std::min(struck.events.size(), kNamesShown); ++i) {
    names += (i == 0 ? "" : ", ") + std::visit(NameOf{platform}, struck.events[i]->change);
  }
  if (struck.events.size() > kNamesShown) names += fmt::format(" and {} more", struck.events.size() - kNamesShown);
  return names;
}

/// `gpu1 takes 1.5 times the time`; `gpu0.up, gpu0.down have 1 GBps`.
std::string words(const Struck& struck, const SimulationChoices& choices, const Platform& platform) {
  return names_of(struck, platform) +
         std::visit(WordsOf{choices, struck.events.size() > 1}, struck.events.front()->change);
}

std::string struck_table(const Simulation& simulation, const Platform& platform) {
  const std::vector<Struck> struck = struck_events(simulation);
  if (struck.empty()) return "";
  Table table{{"at", "event"}, {}, 0, true};
  for (std::size_t i = 0; i < std::min(struck.size(), kStruckShown); ++i) {
    table.rows.push_back({format_human_seconds(struck[i].at), words(struck[i], simulation.choices, platform)});
  }
  std::string text = to_text(table);
  if (struck.size() > kStruckShown) text += fmt::format("(and {} more)\n", struck.size() - kStruckShown);
  return text;
}

/// Why these events never happen.
std::string why_missed(const Simulation& simulation, const std::vector<std::size_t>& missed) {
  const auto has_come = [&](std::size_t i) {
    const Event& event = simulation.choices.listed_events[i];
    return changes_work(event) && std::int64_t{*event.at_microbatch} < simulation.microbatches();
  };
  const auto unbegun = std::ranges::count_if(missed, has_come);
  std::string text = "the run ends after " + counted(simulation.microbatches(), "microbatch") + ", at " +
                     format_human_seconds(simulation.report.end);
  if (unbegun == 0) return text;
  text = unbegun == std::ssize(missed) ? "" : text + "; ";
  return text +
         "a model or a size begins with the next iteration or round, unless the run ends before or another one "
         "begins with it";
}

/// `, of which 1 never happens (at 10 s): the run ends after 8 microbatches, at 1.9 s`.
std::string missed_text(const Simulation& simulation) {
  const std::vector<std::size_t> missed = simulation.missed_events();
  if (missed.empty()) return "";
  std::string times;
  for (std::size_t i = 0; i < std::min(missed.size(), kMissedShown); ++i) {
    times += (i == 0 ? "" : ", ") + moment_text(simulation.choices.listed_events[missed[i]]);
  }
  if (missed.size() > kMissedShown) times += ", ...";
  return fmt::format(", of which {} never {} ({}): {}", missed.size(), missed.size() == 1 ? "happens" : "happen", times,
                     why_missed(simulation, missed));
}

Detail::List struck_list(const Simulation& simulation, const Platform& platform) {
  Detail::List list;
  for (const Strike& strike : simulation.report.course.strikes) {
    const Event& event = simulation.choices.events.at(strike.event);
    const std::string name = std::visit(NameOf{platform}, event.change);
    auto [kind, value] = std::visit(ChangeOf{simulation.choices}, event.change);
    list.emplace_back(Detail::Record{{"event", std::int64_t{event.listed}},
                                     {"at_s", strike.at.value()},
                                     {"name", name.empty() ? Detail() : Detail(name)},
                                     {"kind", kind},
                                     {"value", std::move(value)}});
  }
  return list;
}

/// A line for each device that leaves for ever while the run goes on to wait for it.
std::string awaited_text(const Simulation& simulation, const Platform& platform) {
  if (simulation.choices.replan || simulation.report.end < kForEver) return "";
  std::string text;
  for (const Struck& struck : struck_events(simulation)) {
    const auto* departure = std::get_if<Departure>(&struck.events.front()->change);
    if (departure == nullptr || departure->leaves_at >= simulation.report.end) continue;
    text += fmt::format(
        "{} leaves at {} and does not come back; nothing plans without it (--replan), so the run waits {}\n",
        names_of(struck, platform), format_human_seconds(departure->leaves_at), format_human_seconds(kForEver));
  }
  return text;
}

}  // namespace

Detail events_record(const Simulation& simulation, const Platform& platform) {
  const SimulationChoices& choices = simulation.choices;
  if (choices.events_hash.empty()) return {};
  const auto& seed = choices.noise_seed;
  const auto list_of = [](const std::vector<std::size_t>& positions) {
    Detail::List list;
    for (std::size_t i : positions) list.emplace_back(static_cast<std::int64_t>(i));
    return list;
  };
  return Detail::Record{{"sha256", choices.events_hash},
                        {"noise_seed", seed ? Detail(static_cast<std::int64_t>(*seed)) : Detail()},
                        {"count", static_cast<std::int64_t>(choices.listed_events.size())},
                        {"happened", struck_list(simulation, platform)},
                        {"never_happen", list_of(simulation.missed_events())},
                        {"of_unused_devices", list_of(simulation.idle_events)}};
}

std::vector<EventWords> events_words(const Simulation& simulation, const Platform& platform) {
  std::vector<EventWords> list;
  for (const Struck& struck : struck_events(simulation)) {
    list.push_back({struck.at, words(struck, simulation.choices, platform)});
  }
  return list;
}

std::vector<std::string> idle_events_words(const Simulation& simulation, const Platform& platform) {
  const std::vector<std::size_t>& idle = simulation.idle_events;
  std::vector<std::string> lines;
  for (const Struck& struck : struck_events(simulation)) {
    const std::uint32_t listed = struck.events.front()->listed;
    if (!std::ranges::binary_search(idle, listed)) continue;
    if (lines.size() == kIdleShown) {
      lines.push_back(fmt::format("(and {} more)", idle.size() - kIdleShown));
      break;
    }
    lines.push_back(fmt::format("events[{}] ({}) names {}, which the plan does not use", listed,
                                moment_text(*struck.events.front()), names_of(struck, platform)));
  }
  return lines;
}

std::string events_text(const Simulation& simulation, const Platform& platform) {
  const Events& events = simulation.choices.listed_events;
  if (events.empty()) return "";
  std::string text = "events: " + std::to_string(events.size()) + missed_text(simulation) + "\n" +
                     struck_table(simulation, platform) + awaited_text(simulation, platform);
  for (const std::string& line : idle_events_words(simulation, platform)) text += line + "\n";
  return text;
}

}  // namespace stagecraft
