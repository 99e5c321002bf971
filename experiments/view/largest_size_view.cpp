#include "experiments/view/largest_size_view.hpp"

#include "experiments/run/simulation.hpp"
#include "experiments/view/cost_view.hpp"
#include "experiments/view/plan_view.hpp"
#include "experiments/view/rates_view.hpp"
#include "experiments/view/table.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/short_number.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

Bytes idle_bytes(const DeviceReport& device) { return std::max(Bytes(0), device.memory.capacity - device.memory.peak); }

/// The part of the memory of a plan's devices that is never used; none without memory.
std::optional<double> idle_share(const Report& report) {
  double idle = 0.0;
  double all = 0.0;
  for (const DeviceReport& device : report.devices) {
    idle += static_cast<double>(idle_bytes(device).value());
    all += static_cast<double>(device.memory.capacity.value());
  }
  return all > 0.0 ? std::optional(idle / all) : std::nullopt;
}

/// `9.1 GiB of 16 GiB on gpu7`.
std::string part_text(Bytes part, const DeviceReport& device, const Platform& platform) {
  return format_human_bytes(part) + " of " + format_human_bytes(device.memory.capacity) + " on " +
         platform.devices[device.device].name;
}

std::string idle_text(const Report& report, const Platform& platform) {
  const auto share = idle_share(report);
  if (report.devices.empty() || !share) return "";
  const DeviceReport& fullest = *std::ranges::min_element(report.devices, {}, idle_bytes);
  const DeviceReport& emptiest = *std::ranges::max_element(report.devices, {}, idle_bytes);
  return "memory: least idle " + part_text(idle_bytes(fullest), fullest, platform) + ", most idle " +
         part_text(idle_bytes(emptiest), emptiest, platform) + "; " + percent(*share) +
         " of the memory of the plan's devices is never used\n";
}

std::string throughput_text(const LargestSizeRun& run, const LayerGraph& graph, const Platform& platform) {
  const WorkRates rates = work_rates(graph, platform, run.report());
  const std::string text = rates_text(rates);
  return "samples/s: " + short_number(run.report().throughput) + (text.empty() ? "" : "; " + text) +
         (run.replayed ? ", simulated" : ", evaluated without contention") + "\n" +
         cost_line(run_cost(platform, run.report(), rates));
}

/// `22 samples lack 1048576 B on gpu0, in stage 0: no pipeline fits; …`.
std::string next_text(const LargestSize& largest, const Platform& platform) {
  const SizeTry* next = largest.next();
  if (next == nullptr) return "no larger size was tried\n";
  const std::string samples = counted(next->size, "sample");
  if (next->refusal) return samples + ": refused: " + next->refusal->what() + "\n";
  const Infeasible& lacking = *next->lacking;
  std::string text = samples + (next->size == 1 ? " does not fit" : " do not fit");
  if (lacking.excess > Bytes(0)) text += ", lacking " + format_human_bytes(lacking.excess);
  if (lacking.device) text += " on " + platform.devices[*lacking.device].name;
  if (lacking.stage) text += " in stage " + std::to_string(*lacking.stage);
  return text + ": " + lacking.reason + (lacking.hint.empty() ? "" : " (" + lacking.hint + ")") + "\n";
}

/// The sizes that belong to a group, with runs of three and more shortened: `32, 64, 66 to 73`.
std::string sizes_that(const LargestSize& largest, bool (*belongs)(const SizeTry&)) {
  std::string text;
  const std::vector<SizeTry>& tried = largest.tried;
  for (std::size_t i = 0; i < tried.size();) {
    std::size_t end = i + 1;
    if (belongs(tried[i])) {
      while (end < tried.size() && tried[end].size == tried[end - 1].size + 1 && belongs(tried[end])) ++end;
      if (end - i == 2) --end;
      text += (text.empty() ? "" : ", ") + std::to_string(tried[i].size);
      if (end - i > 1) text += " to " + std::to_string(tried[end - 1].size);
    }
    i = end;
  }
  return text;
}

/// `tried 9 sizes; these fit: 32, 64, 65; these do not: 66, 67, 128; these are refused: 7`.
std::string tried_text(const LargestSize& largest) {
  std::string text = "tried " + counted(largest.tried.size(), "size");
  const auto add = [&](const char* what, bool (*belongs)(const SizeTry&)) {
    const std::string sizes = sizes_that(largest, belongs);
    if (!sizes.empty()) text += std::string("; ") + what + ": " + sizes;
  };
  add("these fit", [](const SizeTry& each) { return each.fits(); });
  add("these do not", [](const SizeTry& each) { return each.lacking.has_value(); });
  add("these are refused", [](const SizeTry& each) { return each.refusal.has_value(); });
  return text + "\n";
}

std::string open_text(const LargestSize& largest) {
  const std::string open = open_sizes_text(largest);
  return open.empty() ? "" : open + " (--tries)\n";
}

const char* outcome_of(const SizeTry& tried) {
  if (tried.refusal) return "refused";
  return tried.fits() ? "fits" : "does_not_fit";
}

Detail::Record try_record(const SizeTry& tried, const Platform& platform) {
  Detail::Record record{{"microbatch_size", tried.size}, {"outcome", outcome_of(tried)}};
  if (tried.fits()) return record;
  record.emplace_back("reason", tried.refusal ? tried.refusal->what() : tried.lacking->reason);
  if (tried.refusal) return record;
  const Infeasible& lacking = *tried.lacking;
  record.emplace_back("device", lacking.device ? Detail(platform.devices[*lacking.device].name) : Detail());
  record.emplace_back("stage", lacking.stage ? Detail(std::int64_t{*lacking.stage}) : Detail());
  record.emplace_back("excess_bytes", lacking.excess.value());
  return record;
}

Detail::List memory_list(const Report& report, const Platform& platform) {
  Detail::List devices;
  for (const DeviceReport& device : report.devices) {
    devices.emplace_back(Detail::Record{{"name", platform.devices[device.device].name},
                                        {"peak_memory_bytes", device.memory.peak.value()},
                                        {"memory_bytes", device.memory.capacity.value()},
                                        {"idle_memory_bytes", idle_bytes(device).value()}});
  }
  return devices;
}

}  // namespace

std::string largest_size_text(const LargestSize& largest, const std::optional<LargestSizeRun>& run,
                              const Platform& platform, bool timings) {
  const Planning& planning = largest.planning;
  std::string text;
  if (largest.size) {
    text = "largest microbatch size: " + counted(*largest.size, "sample") + "\n\n" +
           plan_text(planning.graph, platform, *planning.program, run->evaluated) +
           throughput_text(*run, planning.graph, platform) + idle_text(run->report(), platform) +
           next_text(largest, platform);
  } else {
    text = std::string("no microbatch size ") + (largest.ended_early ? "that was tried " : "") + "fits; with " +
           counted(planning.graph.microbatch_size, "sample") + ": " + infeasible_text(planning, platform, "");
  }
  text += tried_text(largest) + open_text(largest);
  if (timings) text += "searched in " + format_human_seconds(planning.time) + "\n";
  return text;
}

Detail::Record largest_size_record(const LargestSize& largest, const std::optional<LargestSizeRun>& run,
                                   const Platform& platform, bool timings) {
  const Figures evaluated = run ? run->evaluated.figures() : Figures();
  Detail::Record record{{"microbatch_size", largest.size ? Detail(*largest.size) : Detail()}};
  for (auto& entry : planning_record(largest.planning, evaluated, platform, timings)) {
    record.push_back(std::move(entry));
  }
  if (run) {
    const auto idle = idle_share(run->report());
    record.emplace_back("engine", to_string(run->replayed ? EngineChoice::Replay : EngineChoice::Evaluate));
    record.emplace_back("throughput_samples_per_s", run->report().throughput);
    const WorkRates rates = work_rates(largest.planning.graph, platform, run->report());
    for (auto& entry : rates_record(rates)) record.push_back(std::move(entry));
    for (auto& entry : cost_record(run_cost(platform, run->report(), rates))) record.push_back(std::move(entry));
    record.emplace_back("devices", memory_list(run->report(), platform));
    record.emplace_back("idle_memory_ratio", idle ? Detail(*idle) : Detail());
  }
  const SizeTry* next = largest.size ? largest.next() : nullptr;
  record.emplace_back("next", next != nullptr ? Detail(try_record(*next, platform)) : Detail());
  Detail::List tried;
  for (const SizeTry& each : largest.tried) tried.emplace_back(try_record(each, platform));
  record.emplace_back("tried", std::move(tried));
  record.emplace_back("ended_early", largest.ended_early);
  return record;
}

}  // namespace stagecraft
