#include "experiments/study/study_file.hpp"

#include "experiments/run/option_text.hpp"
#include "experiments/run/set_items.hpp"
#include "experiments/run/set_option.hpp"
#include "experiments/study/cell_keys.hpp"
#include "experiments/study/limits.hpp"
#include "experiments/study/table_file.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/yaml_values.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

namespace stagecraft {
namespace {

Keys read_keys(const YamlNode& node) {
  Keys keys;
  for (const auto& [key, value] : node.entries()) read_cell_key(key, value, keys);
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
  for (const YamlNode& item : node.items()) read_cell_key(key, item, axis.emplace_back());
  if (axis.empty()) node.fail("expected at least one value, found none");
  return axis;
}

/// Reads an axis of keys that vary together: its i-th value sets the i-th value of each key.
Axis read_zip(const YamlNode& node) {
  Axis axis;
  for (const auto& [key, values] : node.entries()) {
    const Axis column = read_axis(key, values);
    if (axis.empty()) axis.resize(column.size());
    if (axis.size() != column.size()) {
      values.fail("expected " + counted(axis.size(), "value") + ", as many as the keys before have, found " +
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
  return seeds_from(base ? read_seed(*base) : 1, read_count(node.at("count"), 1, study_limits::kMostSeeds));
}

void read_limit(const std::string& name, const YamlNode& node, StudyLimits& limits) {
  if (name == "time") {
    limits.time = read_seconds(node);
    if (limits.time < study_limits::kLeastTime || limits.time > study_limits::kMostTime)
      node.fail_expected("a time from 1 ms to 1000 days");
  } else if (name == "memory") {
    limits.memory = read_bytes(node);
    if (*limits.memory < study_limits::kLeastMemory)
      node.fail_expected("at least 64 MiB, which the program itself needs");
  } else if (name == "retries") {
    limits.retries = read_count(node, 0, study_limits::kMostRetries);
  } else {
    node.fail("there is no limit " + quote(name), suggest_name(name, {"time", "memory", "retries"}));
  }
}

/// Reads a value given on the command line. An error names the option in place of a file.
void read_setting(const std::string& option, const std::string& value,
                  const std::function<void(const YamlNode&)>& take) {
  try {
    take(parse_yaml(value, option));
  } catch (const InputError& error) {
    throw InputError(error.message(), {"", 0, 0, option}, error.hint());
  }
}

constexpr std::string_view kLimits = "limits.";
constexpr std::string_view kSeedCount = "seeds.count";
constexpr std::string_view kFirstSeed = "seeds.base";

void apply_setting(const std::string& name, const YamlNode& node, Study& study) {
  if (name.starts_with(kLimits)) {
    read_limit(name.substr(kLimits.size()), node, study.limits);
  } else if (name == kSeedCount) {
    study.seeds = seeds_from(study.seeds.front(), read_count(node, 1, study_limits::kMostSeeds));
  } else if (name == kFirstSeed) {
    study.seeds = seeds_from(read_seed(node), std::ssize(study.seeds));
  } else {
    Keys keys;
    read_cell_key(name, node, keys);
    for (const auto& [key, value] : keys) {
      if (find_key(study.fixed, key) != nullptr) node.fail((key == name ? "" : quote(key) + " ") + "is given twice");
      set_key(study.fixed, key, value);
    }
  }
}

bool is_setting_name(std::string_view name) {
  return name.starts_with(kLimits) || name == kSeedCount || name == kFirstSeed || is_cell_key(name);
}

/// Whether a value of `replan` has begun, to which all that follows belongs.
bool is_in_replan(std::string_view before) { return before.find("replan=") != std::string_view::npos; }

std::vector<std::string> read_columns(const YamlNode& node) {
  std::vector<std::string> columns;
  for (const YamlNode& item : node.items()) {
    std::string name = read_figure(item);
    if (std::ranges::find(columns, name) != columns.end()) {
      item.fail("the column " + quote(name) + " is given twice");
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
                   "tables", "limits"},
                  suggest_place);
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

void apply_settings(Study& study, const std::vector<std::string>& texts) {
  std::set<std::string> given;
  for (const std::string& text : texts) {
    const auto name_length = [&](std::string_view rest) {
      const std::string_view before = std::string_view(text).substr(0, text.size() - rest.size());
      return is_in_replan(before) ? 0 : length_before_equals(rest, is_setting_name);
    };
    for (const SetItem& item : set_items({text}, name_length)) {
      read_setting(item.option(), item.value, [&](const YamlNode& node) {
        if (!given.insert(item.name).second) node.fail("is given twice");
        apply_setting(item.name, node, study);
      });
    }
  }
}

void refuse_unused_settings(const Study& study, const Expansion& expansion) {
  for (const auto& [key, value] : study.fixed) {
    const auto has_key = [&](const Cell& cell) { return find_key(cell.keys, key) != nullptr; };
    if (!is_option_key(key) || std::ranges::any_of(expansion.cells, has_key)) continue;
    throw InputError("the planner " + quote(key.substr(0, planner_end(key))) + " is not used here",
                     {"", 0, 0, "--set " + key});
  }
}

Keys parse_filter(const std::string& text) {
  const auto [name, value] = read_assignment("--filter", text);
  if (value.empty()) throw InputError("expected a value, found nothing", {"", 0, 0, "--filter " + name});
  Keys keys;
  read_setting("--filter " + name, value, [&](const YamlNode& node) { read_cell_key(name, node, keys); });
  return keys;
}

}  // namespace stagecraft
