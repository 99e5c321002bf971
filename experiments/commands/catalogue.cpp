#include "experiments/commands/catalogue.hpp"

#include "experiments/run/inputs.hpp"
#include "experiments/study/study.hpp"
#include "experiments/study/study_file.hpp"
#include "planners/registry.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/json.hpp"
#include "sim/io/text_file.hpp"
#include "sim/model/graph_order.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "sim/workload/catalogue.hpp"

#include <cmath>
#include <map>

namespace stagecraft {
namespace {

Detail detail_of(const OptionValue& value) {
  return std::visit([](const auto& v) { return Detail(v); }, value);
}

Detail bound(double value) { return std::isfinite(value) ? Detail(value) : Detail(); }

Detail::Record option_record(const OptionInfo& option) {
  return {{"name", option.name},          {"type", type_name(option)},  {"default", detail_of(option.default_value)},
          {"least", bound(option.least)}, {"most", bound(option.most)}, {"description", option.description}};
}

std::vector<CatalogueEntry> planner_entries() {
  std::vector<CatalogueEntry> entries;
  for (const PlannerInfo* planner : all_planners()) {
    CatalogueEntry entry{planner->name, planner->summary, planner->source, {}, {}};
    const std::string& schedule = planner->default_schedule;
    entry.facts = {{"default_schedule", schedule.empty() ? std::string("chosen by the planner") : schedule}};
    for (const OptionInfo& option : planner->options) entry.options.emplace_back(option_record(option));
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::vector<CatalogueEntry> schedule_entries() {
  std::vector<CatalogueEntry> entries;
  for (const ScheduleFamily* family : all_families()) {
    CatalogueEntry entry{family->name, family->summary, family->source, {}, {}};
    entry.facts = {{"synchronous", family->synchronous}};
    for (const OptionInfo& parameter : family->parameters) entry.options.emplace_back(option_record(parameter));
    entries.push_back(std::move(entry));
  }
  return entries;
}

/// The number of devices of each kind, such as `4 x A, 2 x B`.
std::string devices_text(const Platform& platform) {
  std::map<DeviceKindId, std::size_t> counts;
  for (const Device& device : platform.devices) ++counts[device.kind];
  std::string text;
  for (const auto& [kind, count] : counts) {
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " x " + platform.spec.device_kinds[kind].name;
  }
  return text;
}

std::vector<CatalogueEntry> platform_entries() {
  std::vector<CatalogueEntry> entries;
  for (const ShippedFile& file : shipped_files("platforms")) {
    const Platform platform = build_platform(load_platform_spec(file.path));
    CatalogueEntry entry{file.name, devices_text(platform), {}, {}, {}};
    entry.facts = {{"devices", static_cast<std::int64_t>(platform.devices.size())},
                   {"nodes", static_cast<std::int64_t>(platform.nodes.size())},
                   {"file", file.path}};
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::vector<CatalogueEntry> model_entries() {
  std::vector<CatalogueEntry> entries;
  for (const ShippedFile& file : shipped_files("traces")) {
    const LayerGraph graph = load_model(file.path).profiles.front();
    CatalogueEntry entry{file.name, graph.name + " on " + graph.device_kind, graph.source, {}, {}};
    entry.facts = {{"network", graph.name},
                   {"device", graph.device_kind},
                   {"microbatch_size", graph.microbatch_size},
                   {"layers", static_cast<std::int64_t>(graph.layers.size())},
                   {"parameters_bytes", totals(graph).parameters.value()},
                   {"file", file.path}};
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::vector<CatalogueEntry> device_entries() {
  std::vector<CatalogueEntry> entries;
  for (const WorkloadInfo& info : known_devices()) {
    CatalogueEntry entry{info.name, info.summary, info.source, {}, {}};
    const DeviceDescription device = *find_device(info.name);
    entry.facts = {{"memory_bytes", device.memory.value()}, {"precision", to_string(device.precision)}};
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::vector<CatalogueEntry> architecture_entries() {
  std::vector<CatalogueEntry> entries;
  for (const WorkloadInfo& info : known_architectures()) {
    CatalogueEntry entry{info.name, info.summary, info.source, {}, {}};
    entry.facts = {{"parameters", parameter_count(*find_architecture(info.name))}};
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::vector<CatalogueEntry> study_entries() {
  std::vector<CatalogueEntry> entries;
  for (const ShippedFile& file : shipped_files("experiments/studies")) {
    const Study study = parse_study(read_text_file(file.path), file.path);
    const auto cells = static_cast<std::int64_t>(expand(study).cells.size());
    entries.push_back({file.name, counted(cells, "cell"), {}, {}, {}});
    entries.back().facts = {{"cells", cells}, {"file", file.path}};
  }
  return entries;
}

struct Source {
  std::string kind;
  std::vector<CatalogueEntry> (*load)();
  std::string summary_word;
};

const std::vector<Source>& sources() {
  static const std::vector<Source> kSources = {{"planners", planner_entries, "summary"},
                                               {"schedules", schedule_entries, "summary"},
                                               {"platforms", platform_entries, "kinds"},
                                               {"models", model_entries, ""},
                                               {"devices", device_entries, "summary"},
                                               {"architectures", architecture_entries, "network"},
                                               {"studies", study_entries, ""}};
  return kSources;
}

}  // namespace

const std::vector<std::string>& catalogue_kinds() {
  static const std::vector<std::string> kKinds = [] {
    std::vector<std::string> kinds;
    for (const Source& source : sources()) kinds.push_back(source.kind);
    return kinds;
  }();
  return kKinds;
}

Catalogue load_catalogue(const std::string& kind) {
  for (const Source& source : sources()) {
    if (source.kind == kind) return {kind, source.load(), source.summary_word};
  }
  throw InputError("unknown list " + quote(kind), {}, suggest_name(kind, catalogue_kinds()));
}

Detail::Record catalogue_record(const Catalogue& catalogue) {
  Detail::List list;
  for (const CatalogueEntry& entry : catalogue.entries) {
    Detail::Record record{{"name", entry.name},
                          {"summary", entry.summary},
                          {"source", entry.source.empty() ? Detail() : Detail(entry.source)}};
    record.insert(record.end(), entry.facts.begin(), entry.facts.end());
    if (catalogue.kind == "planners" || catalogue.kind == "schedules") record.emplace_back("options", entry.options);
    list.emplace_back(std::move(record));
  }
  return {{catalogue.kind, std::move(list)}};
}

}  // namespace stagecraft
