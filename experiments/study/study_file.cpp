#include "experiments/study/study_file.hpp"

#include "experiments/external_planner.hpp"
#include "experiments/option_text.hpp"
#include "experiments/study/table_file.hpp"
#include "planners/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/yaml_values.hpp"
#include "sim/schedule/schedule_info.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

namespace stagecraft {
namespace {

constexpr std::int64_t kMostMicrobatches = 1'000'000'000;  // as on the command line
constexpr std::int64_t kMostIterations = 1'000'000;
constexpr std::int64_t kMostCopies = 4096;
constexpr std::int64_t kMostSeeds = 1'000'000;
constexpr std::int64_t kMostRetries = 100;
constexpr std::uint64_t kMostNodes = 10'000;  // of one value, which every cell keeps by itself
constexpr Bytes kLeastMemory(std::int64_t{64} << 20);
constexpr Seconds kLeastTime(1e-3);
constexpr Seconds kMostTime(1000.0 * 24 * 3600);

Detail read_word(const YamlNode& node, const std::vector<std::string>& known) {
  if (std::ranges::find(known, node.text()) == known.end()) {
    node.fail("unknown value " + quote(node.text()), suggest_name(node.text(), known));
  }
  return node.text();
}

std::vector<std::string> planner_names() {
  std::vector<std::string> names;
  for (const PlannerInfo* planner : all_planners()) names.push_back(planner->name);
  return names;
}

std::vector<std::string> schedule_names() {
  std::vector<std::string> names;
  for (const ScheduleInfo* schedule : all_schedules()) {
    if (std::string_view(schedule->name) != "literal") names.emplace_back(schedule->name);
  }
  return names;
}

/// An option of a planner, checked against its table; an external one has none.
void read_option(const std::string& planner, const std::string& option, const YamlNode& node, Keys& into) {
  if (!is_external(planner)) {
    try {
      static_cast<void>(parse_options(find_planner(planner), {{option, node.text()}}));
    } catch (const InputError& error) {
      node.fail(error.message(), error.hint());
    }
  }
  set_key(into, option_prefix(planner) + option, read_detail(node, kMostNodes));
}

void check_parameter(const YamlNode& node, const ScheduleInfo& schedule, const std::string& name,
                     const std::string& value) {
  if (const auto problem = parameter_problem(schedule, name, value)) node.fail(problem->message, problem->hint);
}

ScheduleChoice read_schedule_text(const YamlNode& node) {
  try {
    return read_schedule_option("schedule", node.text());
  } catch (const InputError& error) {
    node.fail(error.message(), error.hint());
  }
}

/// `schedule: NAME`, `NAME,PARAMETER=VALUE,…` or `{name: NAME, PARAMETER: VALUE, …}`: as the command line has it, the
/// parameters in the order of the schedule's table.
void read_schedule(const YamlNode& node, Keys& into) {
  const bool is_map = node.kind() == YamlKind::Map;
  ScheduleChoice choice = is_map ? ScheduleChoice{read_name(node.at("name")), {}} : read_schedule_text(node);
  const std::vector<std::string> known = schedule_names();
  if (std::ranges::find(known, choice.name) == known.end()) {
    node.fail("unknown value " + quote(choice.name), suggest_name(choice.name, known));
  }
  const ScheduleInfo& schedule = *find_schedule(choice.name);
  for (const auto& [key, value] : choice.parameters) {
    check_parameter(node, schedule, key, std::get<std::string>(value.value));
  }
  if (is_map) {
    for (const auto& [key, value] : node.entries()) {
      if (key == "name") continue;
      check_parameter(value, schedule, key, value.text());
      choice.parameters.emplace_back(key, value.text());
    }
  }
  std::ranges::stable_sort(choice.parameters, {}, [&](const auto& each) {
    return std::ranges::find(schedule.parameters, each.first, &ScheduleParameter::name) - schedule.parameters.begin();
  });
  set_key(into, "schedule", schedule_text(choice));
}

/// `planner: NAME`, or `planner: {name: NAME, label: …, schedule: …, OPTION: VALUE, …}`. An external planner may have
/// an option `schedule` of its own.
void read_planner(const YamlNode& node, Keys& into) {
  const bool is_map = node.kind() == YamlKind::Map;
  const YamlNode name_node = is_map ? node.at("name") : node;
  const std::string name = read_name(name_node);
  if (name == "exec:") name_node.fail_expected("a program behind exec:");
  if (!is_external(name)) static_cast<void>(read_word(name_node, planner_names()));
  set_key(into, "planner", name);
  if (!is_map) return;
  for (const auto& [key, value] : node.entries()) {
    if (key == "name") continue;
    if (key == "label") {
      set_key(into, "label", read_name(value));
    } else if (key == "schedule" && !is_external(name)) {
      read_schedule(value, into);
    } else {
      read_option(name, key, value, into);
    }
  }
}

void read_training_key(const std::string& key, const YamlNode& node, Keys& into) {
  const std::array<std::string, 3> copies = {"gradient_copies", "optimizer_copies", "boundary_buffers"};
  if (std::ranges::find(copies, key) != copies.end()) {
    set_key(into, "training." + key, read_count(node, 0, kMostCopies));
  } else if (key == "input_gradient_release") {
    const double share = read_number(node);
    if (share > 1.0) node.fail_expected("a number from 0 to 1");
    set_key(into, "training." + key, share);
  } else {
    node.fail("there is no training key " + quote(key),
              suggest_name(key, {"gradient_copies", "optimizer_copies", "boundary_buffers", "input_gradient_release"}));
  }
}

/// A word of the user's own, which nothing but tables reads.
void read_tag(const std::string& key, const YamlNode& node, Keys& into) {
  static_cast<void>(read_name(node));
  set_key(into, key, read_detail(node));
}

using ReadKey = std::function<void(const YamlNode&, Keys&)>;

ReadKey count_key(const char* name, std::int64_t most) {
  return [=](const YamlNode& node, Keys& into) { set_key(into, name, read_count(node, 1, most)); };
}
ReadKey name_key(const char* name) {
  return [=](const YamlNode& node, Keys& into) { set_key(into, name, read_name(node)); };
}

/// The keys that are no path into something else.
const std::vector<std::pair<std::string, ReadKey>>& plain_keys() {
  static const std::vector<std::pair<std::string, ReadKey>> kKeys = {
      {"model", name_key("model")},
      {"platform", name_key("platform")},
      {"planner", read_planner},
      {"label", name_key("label")},
      {"schedule", read_schedule},
      {"microbatches", count_key("microbatches", kMostMicrobatches)},
      {"microbatch_size", count_key("microbatch_size", kMostMicrobatches)},
      {"global_batch", count_key("global_batch", kMostMicrobatches)},
      {"nodes", count_key("platform.nodes.count", kMostMicrobatches)},
      {"engine",
       [](const YamlNode& node, Keys& into) { set_key(into, "engine", read_word(node, {"replay", "evaluate"})); }},
      {"network",
       [](const YamlNode& node, Keys& into) { set_key(into, "network", read_word(node, {"platform", "analytic"})); }},
      {"iterations", count_key("iterations", kMostIterations)},
      {"events", name_key("events")},
      {"training",
       [](const YamlNode& node, Keys& into) {
         for (const auto& [key, value] : node.entries()) read_training_key(key, value, into);
       }},
  };
  return kKeys;
}

/// `options.PLANNER.KEY`; the name of an external planner may itself hold points.
void read_option_path(const std::string& path, const YamlNode& node, Keys& into) {
  const std::string rest = path.substr(std::string("options.").size());
  const std::size_t point = is_external(rest) ? rest.rfind('.') : rest.find('.');
  if (point == std::string::npos) node.fail("expected a key options.PLANNER.OPTION, found " + quote(path));
  const std::string planner = rest.substr(0, point);
  const std::vector<std::string> known = planner_names();
  if (!is_external(planner) && std::ranges::find(known, planner) == known.end()) {
    node.fail("unknown planner " + quote(planner), suggest_name(planner, known));
  }
  read_option(planner, rest.substr(point + 1), node, into);
}

void read_key(const std::string& key, const YamlNode& node, Keys& into) {
  const auto& plain = plain_keys();
  const auto found = std::ranges::find(plain, key, &std::pair<std::string, ReadKey>::first);
  if (found != plain.end()) {
    found->second(node, into);
  } else if (key.starts_with("options.")) {
    read_option_path(key, node, into);
  } else if (key.starts_with("training.")) {
    read_training_key(key.substr(std::string("training.").size()), node, into);
  } else if (key.starts_with("tag.") && !key.ends_with('.')) {
    read_tag(key, node, into);
  } else if ((key.starts_with("model.") || key.starts_with("platform.")) && !key.ends_with('.')) {
    set_key(into, key, read_detail(node, kMostNodes));  // looked at where the file is read
  } else {
    std::vector<std::string> known = {"options.PLANNER.OPTION", "training.KEY", "platform.KEY", "model.KEY",
                                      "tag.NAME"};
    for (const auto& [name, read] : plain) known.push_back(name);
    node.fail("there is no key " + quote(key) + " of a cell", suggest_name(key, known));
  }
}

Keys read_keys(const YamlNode& node) {
  Keys keys;
  for (const auto& [key, value] : node.entries()) read_key(key, value, keys);
  return keys;
}

Keys read_pattern(const YamlNode& node) {
  Keys keys = read_keys(node);
  if (keys.empty()) node.fail("expected at least one key, found none");
  return keys;
}

std::vector<Keys> read_patterns(const YamlNode& node) {
  std::vector<Keys> patterns;
  for (const YamlNode& item : node.items()) patterns.push_back(read_pattern(item));
  return patterns;
}

Axis read_axis(const std::string& key, const YamlNode& node) {
  Axis axis;
  for (const YamlNode& item : node.items()) read_key(key, item, axis.emplace_back());
  if (axis.empty()) node.fail("expected at least one value, found none");
  return axis;
}

/// Keys that vary together: the i-th value of each.
Axis read_zip(const YamlNode& node) {
  Axis axis;
  for (const auto& [key, values] : node.entries()) {
    const Axis column = read_axis(key, values);
    if (axis.empty()) axis.resize(column.size());
    if (axis.size() != column.size()) {
      values.fail("expected " + std::to_string(axis.size()) + " values, as many as the keys before have, found " +
                  std::to_string(column.size()));
    }
    for (std::size_t i = 0; i < column.size(); ++i) {
      for (const auto& [name, value] : column[i]) set_key(axis[i], name, value);
    }
  }
  if (axis.empty()) node.fail("expected at least one key, found none");
  return axis;
}

std::uint64_t read_seed(const YamlNode& node) {
  return static_cast<std::uint64_t>(read_count(node, 0, std::int64_t{1} << 53));
}

std::vector<std::uint64_t> seeds_from(std::uint64_t first, std::int64_t count) {
  std::vector<std::uint64_t> seeds(static_cast<std::size_t>(count));
  std::iota(seeds.begin(), seeds.end(), first);
  return seeds;
}

std::vector<std::uint64_t> read_seeds(const YamlNode& node) {
  std::vector<std::uint64_t> seeds;
  if (node.kind() == YamlKind::List) {
    for (const YamlNode& item : node.items()) {
      const std::uint64_t seed = read_seed(item);
      if (std::ranges::find(seeds, seed) != seeds.end()) item.fail("the seed is given twice");
      seeds.push_back(seed);
    }
    if (seeds.empty()) node.fail("expected at least one seed, found none");
    return seeds;
  }
  if (node.kind() != YamlKind::Map) node.fail_expected("a list of seeds, or their number such as {count: 3}");
  node.allow_keys({"count", "base"});
  const auto base = node.find("base");
  return seeds_from(base ? read_seed(*base) : 1, read_count(node.at("count"), 1, kMostSeeds));
}

void read_limit(const std::string& name, const YamlNode& node, StudyLimits& limits) {
  if (name == "time") {
    limits.time = read_seconds(node);
    if (limits.time < kLeastTime || limits.time > kMostTime) node.fail_expected("a time from 1 ms to 1000 days");
  } else if (name == "memory") {
    limits.memory = read_bytes(node);
    if (*limits.memory < kLeastMemory) node.fail_expected("at least 64 MiB, what the program itself needs");
  } else if (name == "retries") {
    limits.retries = read_count(node, 0, kMostRetries);
  } else {
    node.fail("there is no limit " + quote(name), suggest_name(name, {"time", "memory", "retries"}));
  }
}

/// A value given on the command line; what is wrong with it names the option.
void read_setting(const std::string& option, const std::string& text,
                  const std::function<void(const std::string&, const YamlNode&)>& take) {
  const auto [path, value] = read_assignment(option, text);
  if (value.empty()) throw InputError("expected a value, found nothing", {"", 0, 0, option + " " + path});
  try {
    take(path, parse_yaml(value, option));
  } catch (const InputError& error) {
    throw InputError(error.message(), {"", 0, 0, option + " " + path}, error.hint());
  }
}

void apply_setting(const std::string& path, const YamlNode& node, Study& study) {
  const std::string limits = "limits.";
  if (path.starts_with(limits)) {
    read_limit(path.substr(limits.size()), node, study.limits);
  } else if (path == "seeds.count") {
    study.seeds = seeds_from(study.seeds.front(), read_count(node, 1, kMostSeeds));
  } else if (path == "seeds.base") {
    study.seeds = seeds_from(read_seed(node), std::ssize(study.seeds));
  } else {
    read_key(path, node, study.fixed);
  }
}

std::vector<std::string> read_columns(const YamlNode& node) {
  std::vector<std::string> columns;
  for (const YamlNode& item : node.items()) {
    std::string name = read_figure(item);
    if (std::ranges::find(columns, name) != columns.end()) {
      item.fail("the column " + quote(name) + " stands here twice");
    }
    columns.push_back(std::move(name));
  }
  return columns;
}

}  // namespace

Study parse_study(std::string_view text, const std::string& file_name) {
  const YamlNode root = parse_yaml(text, file_name);
  check_schema(root, "stagecraft/study/1");
  root.allow_keys({"schema", "study", "base", "matrix", "zip", "exclude", "include", "seeds", "baseline", "columns",
                   "tables", "limits"});
  Study study;
  study.name = read_name(root.at("study"));
  study.file = file_name;
  if (const auto base = root.find("base")) study.base = read_keys(*base);
  if (const auto matrix = root.find("matrix")) {
    for (const auto& [key, values] : matrix->entries()) study.axes.push_back(read_axis(key, values));
  }
  if (const auto zips = root.find("zip")) {
    for (const YamlNode& zip : zips->items()) study.axes.push_back(read_zip(zip));
  }
  if (const auto exclude = root.find("exclude")) study.exclude = read_patterns(*exclude);
  if (const auto include = root.find("include")) study.include = read_patterns(*include);
  if (const auto seeds = root.find("seeds")) study.seeds = read_seeds(*seeds);
  if (const auto baseline = root.find("baseline")) study.baseline = read_pattern(*baseline);
  if (const auto columns = root.find("columns")) study.columns = read_columns(*columns);
  if (const auto tables = root.find("tables")) {
    study.tables = read_tables(*tables, study.baseline.has_value(), read_pattern);
  }
  if (const auto limits = root.find("limits")) {
    for (const auto& [name, value] : limits->entries()) read_limit(name, value, study.limits);
  }
  return study;
}

void apply_setting(Study& study, const std::string& text) {
  read_setting("--set", text, [&](const std::string& path, const YamlNode& node) { apply_setting(path, node, study); });
}

Keys parse_filter(const std::string& text) {
  Keys keys;
  read_setting("--filter", text, [&](const std::string& path, const YamlNode& node) { read_key(path, node, keys); });
  return keys;
}

}  // namespace stagecraft
