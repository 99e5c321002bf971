#include "sim/io/pipedream_conf.hpp"

#include "sim/base/counted.hpp"
#include "sim/base/text.hpp"
#include "sim/io/yaml_node.hpp"
#include "sim/io/yaml_values.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <unordered_map>

namespace stagecraft {
namespace {

constexpr std::int64_t kMostDepth = 100'000;

/// The values of a map whose keys are the stages, from 0 without gaps.
std::vector<YamlNode> values_by_stage(const YamlNode& map) {
  std::map<std::int64_t, YamlNode> by_stage;
  for (const auto& [key, value] : map.entries()) {
    const Parsed<std::int64_t> stage = parse_count(key);
    if (!stage) value.fail("expected the number of a stage as the key, found " + quote(key), stage.hint);
    by_stage.emplace(*stage.value, value);
  }
  std::vector<YamlNode> values;
  for (const auto& [stage, value] : by_stage) {
    if (stage != std::ssize(values)) {
      value.fail("expected stages numbered from 0 without gaps, found stage " + std::to_string(stage) +
                 " and no stage " + std::to_string(values.size()));
    }
    values.push_back(value);
  }
  return values;
}

std::vector<std::vector<PlacedCount>> read_ranks(const YamlNode& map) {
  std::vector<std::vector<PlacedCount>> ranks;
  std::unordered_map<std::int64_t, std::size_t> stage_of_rank;
  for (const YamlNode& list : values_by_stage(map)) {
    std::vector<PlacedCount>& own = ranks.emplace_back();
    for (const YamlNode& item : list.items()) {
      own.push_back({read_count(item, 0, kMostStages - 1), item.place()});
      const auto [first, is_new] = stage_of_rank.emplace(own.back().value, ranks.size() - 1);
      if (!is_new) {
        item.fail("expected each rank once, found " + item.text() + ", which stage " + std::to_string(first->second) +
                  " has already");
      }
    }
    if (own.empty()) list.fail("expected at least one rank, found none");
  }
  if (ranks.empty()) map.fail("expected at least one stage, found none");
  return ranks;
}

std::vector<PlacedCount> read_modules(const YamlNode& list, std::size_t stages) {
  std::vector<PlacedCount> modules;
  const std::string last = std::to_string(stages - 1);
  std::vector<char> has_module(stages);
  for (const YamlNode& item : list.items()) {
    const std::int64_t stage = read_count(item);
    if (stage >= static_cast<std::int64_t>(stages)) {
      item.fail_expected("a stage of stage_to_rank_map, which has the stages 0 to " + last);
    }
    if (!modules.empty()) has_module[static_cast<std::size_t>(modules.back().value)] = 1;
    modules.push_back({stage, item.place()});
  }
  if (modules.size() < 2) {
    list.fail("expected at least two modules, the last of which is the loss, found " + std::to_string(modules.size()));
  }
  if (modules.back().value != static_cast<std::int64_t>(stages) - 1) {
    list.items().back().fail_expected("the last stage, " + last + ", for the last module, which is the loss");
  }
  const auto empty = std::ranges::find(has_module, 0);
  if (empty != has_module.end()) {
    list.fail("expected a module beside the loss on each stage of stage_to_rank_map, found none on stage " +
              std::to_string(empty - has_module.begin()));
  }
  return modules;
}

std::vector<std::int64_t> read_depths(const YamlNode& map, std::size_t stages) {
  std::vector<std::int64_t> depths;
  for (const YamlNode& value : values_by_stage(map)) depths.push_back(read_count(value, 0, kMostDepth));
  if (depths.size() == stages) return depths;
  map.fail("expected " + counted(stages, "stage") + ", as many as stage_to_rank_map has, found " +
           std::to_string(depths.size()));
}

}  // namespace

PipedreamConf parse_pipedream_conf(std::string_view text, const std::string& file_name) {
  const YamlNode root = parse_yaml(text, file_name);
  root.allow_keys({"module_to_stage_map", "stage_to_rank_map", "stage_to_depth_map"});
  const YamlNode modules = root.at("module_to_stage_map");
  PipedreamConf conf;
  conf.modules_place = modules.place();
  conf.ranks = read_ranks(root.at("stage_to_rank_map"));
  conf.modules = read_modules(modules, conf.ranks.size());
  const std::optional<YamlNode> depths = root.find("stage_to_depth_map");
  const bool is_null = depths && depths->kind() == YamlKind::Nothing;  // as Python writes None
  if (depths && !is_null) conf.depths = read_depths(*depths, conf.ranks.size());
  return conf;
}

}  // namespace stagecraft
