#include "experiments/commands/catalogue.hpp"

#include "experiments/run/inputs.hpp"
#include "experiments/study/study.hpp"
#include "experiments/study/study_file.hpp"
#include "experiments/view/table.hpp"
#include "planners/registry.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/json.hpp"
#include "sim/io/text_file.hpp"
#include "sim/model/graph_order.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "sim/workload/catalogue.hpp"

#include <algorithm>
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
    entry.facts = {{"microbatch_size", graph.microbatch_size},
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
};

const std::vector<Source>& sources() {
  static const std::vector<Source> kSources = {{"planners", planner_entries},   {"schedules", schedule_entries},
                                               {"platforms", platform_entries}, {"models", model_entries},
                                               {"devices", device_entries},     {"architectures", architecture_entries},
                                               {"studies", study_entries}};
  return kSources;
}

std::string number_text(double value) {
  const bool is_whole = std::abs(value) < 1e15 && value == std::floor(value);
  return is_whole ? std::to_string(static_cast<std::int64_t>(value)) : format_number(value);
}

/// The value as JSON, but a text without quotes and a whole number without a decimal point.
std::string plain(const Detail& value) {
  if (const auto* number = std::get_if<double>(&value.value)) return number_text(*number);
  const auto* text = std::get_if<std::string>(&value.value);
  return text != nullptr ? *text : to_json(value, -1);
}

const Detail& at(const Detail::Record& record, const std::string& key) {
  return std::ranges::find(record, key, &std::pair<std::string, Detail>::first)->second;
}

std::string bounds_text(const Detail::Record& option) {
  const Detail& least = at(option, "least");
  const Detail& most = at(option, "most");
  const auto text = [](const Detail& value) { return number_text(std::get<double>(value.value)); };
  const bool has_least = least != Detail();
  const bool has_most = most != Detail();
  if (has_least && has_most) return text(least) + " to " + text(most);
  if (has_least) return "at least " + text(least);
  return has_most ? "at most " + text(most) : "";
}

std::string option_text(const Detail::Record& option) {
  std::string text = "  " + plain(at(option, "name")) + " (";
  if (at(option, "type") != Detail()) text += plain(at(option, "type")) + "; ";
  text += "default " + plain(at(option, "default"));
  const std::string bounds = bounds_text(option);
  if (!bounds.empty()) text += "; " + bounds;
  return text + "): " + plain(at(option, "description")) + "\n";
}

/// One line of an entry, such as `memory: 16 GiB` for the key `memory_bytes`.
std::string fact_text(std::string key, const Detail& value) {
  const std::string ending = "_bytes";
  const bool is_size = key.ends_with(ending);
  if (is_size) key.resize(key.size() - ending.size());
  std::ranges::replace(key, '_', ' ');
  return "  " + key + ": " + (is_size ? format_human_bytes(Bytes(std::get<std::int64_t>(value.value))) : plain(value)) +
         "\n";
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
    if (source.kind == kind) return {kind, source.load()};
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

std::string catalogue_text(const Catalogue& catalogue) {
  std::string text;
  for (const CatalogueEntry& entry : catalogue.entries) {
    text += (text.empty() ? "" : "\n") + entry.name + ": " + entry.summary + "\n";
    for (const auto& [key, value] : entry.facts) text += fact_text(key, value);
    if (!entry.source.empty()) text += "  source: " + entry.source + "\n";
    for (const Detail& option : entry.options) text += option_text(std::get<Detail::Record>(option.value));
  }
  return text;
}

}  // namespace stagecraft
