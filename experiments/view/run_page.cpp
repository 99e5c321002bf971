#include "experiments/view/run_page.hpp"

#include "experiments/run/limits.hpp"
#include "experiments/run/simulation.hpp"
#include "experiments/view/page.hpp"
#include "experiments/view/part_of_run.hpp"
#include "experiments/view/run_columns.hpp"
#include "experiments/view/simulation_record.hpp"
#include "experiments/view/simulation_text.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/model/plan.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

Detail::List layer_list(const LayerGraph& graph) {
  Detail::List list;
  for (const Layer& layer : graph.layers) {
    list.emplace_back(Detail::Record{{"name", layer.name},
                                     {"forward_s", layer.forward.value()},
                                     {"backward_s", layer.backward.value()},
                                     {"parameters_bytes", layer.parameters.value()}});
  }
  return list;
}

Detail::List stage_list(const Plan& plan, const Platform& platform) {
  Detail::List list;
  for (const Stage& stage : plan.stages) {
    Detail::List layers;
    for (const LayerId layer : stage.layers) layers.emplace_back(std::int64_t{layer.value()});
    Detail::List devices;
    for (const DeviceId device : devices_of(stage)) {
      devices.emplace_back(std::int64_t{platform.place(device).value()});
    }
    list.emplace_back(Detail::Record{{"layers", std::move(layers)}, {"devices", std::move(devices)}});
  }
  return list;
}

Detail window_record(const std::optional<TimeRange>& window) {
  if (!window) return {};
  return Detail::Record{{"from_s", window->begin.value()}, {"to_s", window->end.value()}};
}

Detail::Record page_data(const ShownRun& shown, const RunRecord& record, const std::optional<TimeRange>& window) {
  const auto& [simulation, plan, platform] = shown.run;
  const bool crosses_links = simulation.choices.network == NetworkModel::Platform;
  const std::vector<std::string> remedies = remedy_lines(shown.explanation.remedies);
  Detail::Record data{
      {"model", shown.graph.name},
      {"platform", platform.spec.name},
      {"planner", plan.planner},
      {"microbatches", microbatches_text(simulation, plan)},
      {"report", simulation_record(simulation, shown.graph, plan, platform, shown.explanation, shown.timings)},
      {"text", simulation_text(simulation, plan, platform, shown.explanation, shown.timings)},
      {"bottleneck", bottleneck_text(simulation.report, platform, shown.explanation)},
      {"remedies", Detail::List(remedies.begin(), remedies.end())},
      {"layers", layer_list(shown.graph)},
      {"stages", stage_list(plan, platform)},
      {"window", window_record(window)}};
  Detail::Record columns = run_columns(record, run_marks(simulation, platform, window), platform, crosses_links);
  std::ranges::move(columns, std::back_inserter(data));
  return data;
}

}  // namespace

void run_page(const ShownRun& shown, const std::optional<TimeRange>& window, const TextSink& sink) {
  const RunRecord& whole = shown.run.simulation.record;
  const RunRecord part = window ? part_of(whole, *window) : RunRecord();
  const RunRecord& record = window ? part : whole;
  if (window && record.timeline.empty()) {
    throw InputError("no operation of the run lies between " + format_human_seconds(window->begin) + " and " +
                         format_human_seconds(window->end),
                     {"", 0, 0, "--timeline-window"},
                     "the run ends at " + format_human_seconds(shown.run.simulation.report.end));
  }
  if (std::ssize(record.timeline) > run_limits::kMostWritten) {
    throw InputError("a page shows at most " + counted(run_limits::kMostWritten, "operation") + ", and the run has " +
                         std::to_string(record.timeline.size()),
                     {"", 0, 0, "--report"}, "a shorter part of the run has fewer");
  }
  write_page(Page::Run, page_data(shown, record, window), sink);
}

}  // namespace stagecraft
