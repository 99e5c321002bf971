#include "experiments/view/explanation.hpp"

#include "experiments/run/simulation.hpp"
#include "experiments/view/figures.hpp"
#include "experiments/view/table.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/short_number.hpp"
#include "sim/base/text.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/time_shares.hpp"

#include <algorithm>
#include <vector>

namespace stagecraft {
namespace {

constexpr std::size_t kLinksShown = 5;
constexpr std::size_t kCausesShown = 3;
constexpr double kLeastShare = 0.0005;  // of the time, that is told

double total(const Loads& loads) {
  double sum = 0.0;
  for (const auto& [cause, bytes] : loads) sum += bytes;
  return sum;
}

/// `gradients 1 -> 0 (61 %), activations 0 -> 1 (39 %)`, the largest first.
std::string loads_text(const Loads& loads) {
  std::string text;
  const double all = total(loads);
  for (std::size_t i = 0; i < loads.size(); ++i) {
    if (i == kCausesShown) return text + ", ...";
    text += (i == 0 ? "" : ", ") + cause_text(loads[i].first);
    if (loads.size() > 1) text += " (" + percent(loads[i].second / all) + ")";
  }
  return text;
}

const Loads& loads_of(const Explanation& explanation, LinkId link) {
  static const Loads none;
  const auto found = explanation.loads.find(link);
  return found == explanation.loads.end() ? none : found->second;
}

std::string links_table(const Report& report, const Platform& platform, const Explanation& explanation) {
  if (report.links.empty()) return "";
  std::vector<LinkReport> links = report.links;
  std::ranges::stable_sort(links, std::greater<>(), &LinkReport::utilisation);
  Table table{{"busiest links", "carry", "bytes", "busy"}, {}, 2};
  for (std::size_t i = 0; i < std::min(links.size(), kLinksShown); ++i) {
    table.rows.push_back({platform.links[links[i].link].name, loads_text(loads_of(explanation, links[i].link)),
                          format_human_bytes(links[i].bytes()), percent(links[i].utilisation)});
  }
  std::string text = "\n" + to_text(table);
  if (links.size() > kLinksShown) text += "(and " + std::to_string(links.size() - kLinksShown) + " more)\n";
  return text;
}

std::string breakdown_text(const MemoryBreakdown& breakdown) {
  std::vector<std::pair<Bytes, std::string>> parts;
  for (std::size_t i = 0; i < breakdown.size(); ++i) {
    if (breakdown.at(i) > Bytes(0)) parts.emplace_back(breakdown.at(i), to_string(static_cast<MemoryCategory>(i)));
  }
  std::ranges::stable_sort(parts, std::greater<>(), &std::pair<Bytes, std::string>::first);
  std::string text;
  for (const auto& [bytes, name] : parts) text += (text.empty() ? "" : ", ") + name + " " + format_human_bytes(bytes);
  return text;
}

/// The memory at its peak, by category, of a place that lacks some.
std::string held_text(const std::string& name, const MemoryPeak& memory) {
  return "  at its peak " + name + " holds " + format_human_bytes(memory.peak) + " of " +
         format_human_bytes(memory.capacity) + ":\n    " + breakdown_text(memory.breakdown) + "\n";
}

/// The one that lacks most; null if none lacks anything.
template <class PlaceReport>
const PlaceReport* fullest(const std::vector<PlaceReport>& places) {
  const PlaceReport* fullest = nullptr;
  for (const PlaceReport& place : places) {
    const auto lacks = [](const PlaceReport& each) { return each.memory.peak - each.memory.capacity; };
    if (lacks(place) > Bytes(0) && (fullest == nullptr || lacks(place) > lacks(*fullest))) fullest = &place;
  }
  return fullest;
}

/// Of the device and of the host that lack most.
std::string fullest_text(const Report& report, const Platform& platform) {
  std::string text;
  if (const auto* device = fullest(report.devices)) {
    text += held_text(platform.devices[device->device].name, device->memory);
  }
  if (const auto* host = fullest(report.hosts)) text += held_text(platform.hosts[host->host].name, host->memory);
  return text;
}

/// Where events have changed something, the memory may suffice again.
std::string until_text(const Report& report, const MemoryOverflow& overflow) {
  return overflow.until && !report.course.strikes.empty() ? ", last until " + format_human_seconds(*overflow.until)
                                                          : "";
}

std::string caps_text(const Remedies& remedies) {
  std::string caps;
  for (const auto& [stage, cap] : remedies.in_flight) {
    caps += (caps.empty() ? "" : ", ") + std::to_string(cap) + " in stage " + std::to_string(stage.value());
  }
  return caps;
}

std::string change_text(const Remedies& remedies, Change change) {
  switch (change) {
    case Change::Memory: return "at least " + format_enough_bytes(*remedies.memory) + " on every device";
    case Change::MicrobatchSize: return "as many microbatches of " + counted(*remedies.microbatch_size, "sample");
    case Change::InFlight: return "fewer microbatches in flight (in_flight): " + caps_text(remedies);
    case Change::RecomputeLayers: return "recomputation of each single layer, in the stages that lack memory";
    case Change::RecomputeStages:
      return "recomputation of the whole stage as one segment, for each stage that lacks memory";
    case Change::Swap: break;
  }
  return "the stash of each layer swapped to the host, in the stages that lack memory";
}

std::string remedies_text(const Remedies& remedies) {
  if (remedies.tried.empty()) return "";
  std::string text = "  the plan would fit with any one of (samples/s: without contention):";
  std::size_t number = 0;
  for (const std::string& line : remedy_lines(remedies)) text += "\n    " + std::to_string(++number) + ". " + line;
  return text + "\n";
}

const char* change_name(Change change) {
  switch (change) {
    case Change::Memory: return "memory";
    case Change::MicrobatchSize: return "microbatch_size";
    case Change::InFlight: return "in_flight";
    case Change::RecomputeLayers: return "recompute_layer";
    case Change::RecomputeStages: return "recompute_stage";
    case Change::Swap: break;
  }
  return "swap";
}

/// Then memory is not that of the platform, for which remedies are sought.
bool has_memory_events(const Simulation& simulation) {
  return std::ranges::any_of(simulation.choices.events,
                             [](const Event& event) { return std::holds_alternative<MemoryLimit>(event.change); });
}

}  // namespace

std::vector<std::string> remedy_lines(const Remedies& remedies) {
  std::vector<std::string> lines;
  for (const TriedChange& tried : remedies.tried) {
    const std::string rate = tried.throughput ? ": " + short_number(*tried.throughput) + " samples/s" : "";
    lines.push_back(change_text(remedies, tried.change) + rate);
  }
  return lines;
}

Explanation explain(const Inputs& inputs, const LayerGraph& graph, const ScheduleProgram& program,
                    const Simulation& simulation) {
  Explanation explanation;
  explanation.loads = loads_by_link(inputs.platform, simulation.traffic);
  const Report& report = simulation.report;
  if (report.out_of_memory() && report.course.replans.empty() && !has_memory_events(simulation)) {
    LowerOptions options;
    options.network = simulation.choices.network;
    options.literal = simulation.choices.literal;
    explanation.remedies = find_remedies(inputs, graph, program, report, options, simulation.choices.run_length);
  }
  return explanation;
}

std::string cause_text(const TrafficCause& cause) {
  const std::string from = std::to_string(cause.from.value());
  const std::string direction =
      cause.to.is_none() ? "of stage " + from : from + " -> " + std::to_string(cause.to.value());
  switch (cause.kind) {
    case OpKind::Activation: return "activations " + direction;
    case OpKind::Gradient: return "gradients " + direction;
    case OpKind::AllReduce:
    case OpKind::ReduceScatter:
    case OpKind::AllGather:
      return to_string(cause.kind) + std::string(cause.to.is_none() ? " of what is tied to stage " : " of stage ") +
             from;
    case OpKind::ExchangeFlow: return "exchange of stage " + from;
    case OpKind::SwapOut: return "swap-out of stage " + from;
    case OpKind::Migration: return "migration to stage " + from;
    default: return "swap-in of stage " + from;
  }
}

Seconds all_busy_time(const Report& report) {
  return headline(report.figures()).value_or(Seconds(0)) * (1.0 - report.bubble_ratio);
}

std::vector<Bottleneck> bottleneck_shares(const Report& report) {
  if (!report.bottleneck) return {};
  const auto device = std::ranges::find(report.devices, report.bottleneck->device, &DeviceReport::device);
  return time_shares(*device, report.bottleneck->stage);
}

std::string bottleneck_text(const Report& report, const Platform& platform, const Explanation& explanation) {
  if (!report.bottleneck) return "";
  const Bottleneck& bottleneck = *report.bottleneck;
  std::string text = "bottleneck: ";
  if (bottleneck.kind == Bottleneck::Kind::Link) {
    text += "link " + bottleneck_name(bottleneck, platform) + " busy " + percent(bottleneck.share);
    const std::string carried = loads_text(loads_of(explanation, bottleneck.link));
    text += (carried.empty() ? "" : " with " + carried) + "; ";
  }
  const std::string device = platform.devices[bottleneck.device].name;
  std::string parts;
  for (const Bottleneck& share : bottleneck_shares(report)) {
    const std::string place = share.kind == Bottleneck::Kind::Stage ? " on " + device : "";
    if (share.share >= kLeastShare) {
      parts += (parts.empty() ? "" : ", ") + bottleneck_name(share, platform) + place + " " + percent(share.share);
    }
  }
  text += parts + "\nif no device were ever idle: " + format_human_seconds(all_busy_time(report)) +
          (report.period ? " per microbatch\n" : "\n");
  return text + links_table(report, platform, explanation);
}

std::string lacking_text(const Report& report, const Platform& platform) {
  const std::vector<MemoryOverflow>& overflows = report.overflows;
  std::string text;
  for (std::size_t begin = 0, end = 0; begin < overflows.size(); begin = end) {
    const auto continues = [&](std::size_t i) {
      return overflows[i].excess == overflows[begin].excess &&
             overflows[i].place.value() == overflows[i - 1].place.value() + 1;
    };
    for (end = begin + 1; end < overflows.size() && continues(end);) ++end;
    const bool several = end - begin > 1;
    text += "out of memory: " + platform.place_name(overflows[begin].place) +
            (several ? " .. " + platform.place_name(overflows[end - 1].place) + " lack " : " lacks ") +
            format_human_bytes(overflows[begin].excess) + (several ? " each" : "") + ", first after " +
            format_human_seconds(overflows[begin].at) + until_text(report, overflows[begin]) + "\n";
  }
  return text;
}

std::string overflow_text(const Report& report, const Platform& platform, const Remedies& remedies) {
  if (report.overflows.empty()) return "";
  if (std::ranges::any_of(report.overflows, [&](const auto& each) { return !platform.is_device(each.place); })) {
    return lacking_text(report, platform) + fullest_text(report, platform) +
           "  no change is tried where a host lacks memory. A host holds swapped stashes (stash), boundary tensors on\n"
           "  their way (buffers) and old weight versions (weights): a plan that swaps less needs less\n";
  }
  return lacking_text(report, platform) + fullest_text(report, platform) + remedies_text(remedies);
}

Detail::List load_list(const Loads& loads) {
  Detail::List list;
  const double all = total(loads);
  for (const auto& [cause, bytes] : loads) {
    list.emplace_back(Detail::Record{{"what", cause_text(cause)}, {"share", bytes / all}});
  }
  return list;
}

Detail::Record remedy_record(const Remedies& remedies) {
  Detail::List caps;
  for (const auto& [stage, cap] : remedies.in_flight) {
    caps.emplace_back(Detail::Record{{"stage", std::int64_t{stage.value()}}, {"in_flight", cap}});
  }
  Detail::List recompute;
  if (remedies.recompute_layers) recompute.emplace_back("layer");
  if (remedies.recompute_stages) recompute.emplace_back("stage");
  Detail::List tried;
  for (const TriedChange& each : remedies.tried) {
    const std::optional<double>& throughput = each.throughput;
    tried.emplace_back(Detail::Record{{"change", change_name(each.change)},
                                      {"throughput_samples_per_s", throughput ? Detail(*throughput) : Detail()}});
  }
  return {{"memory_bytes", remedies.memory ? Detail(remedies.memory->value()) : Detail()},
          {"microbatch_size", remedies.microbatch_size ? Detail(*remedies.microbatch_size) : Detail()},
          {"in_flight", std::move(caps)},
          {"recompute", std::move(recompute)},
          {"swap", remedies.swap},
          {"fastest_first", std::move(tried)}};
}

}  // namespace stagecraft
