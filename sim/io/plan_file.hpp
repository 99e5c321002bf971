#pragma once

#include "sim/base/error.hpp"
#include "sim/io/yaml_node.hpp"
#include "sim/model/detail.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// The header of a plan file. Its inputs must be known before its layers and devices can be resolved.
struct PlanHeader {
  std::string planner;  ///< empty if the file does not give it; so are the names and hashes
  std::string model;
  std::string platform;
  std::string model_hash;
  std::string platform_hash;
  std::int64_t microbatch_size = 1;
  StashConvention stash = StashConvention::Autograd;
  ComputedChoice computed = {};
  Degrees degrees = {};
  friend bool operator==(const PlanHeader&, const PlanHeader&) = default;
};

/// A plan, without the parts whose names could not be resolved.
struct PlanReading {
  Plan plan;
  /// One for each name that the model or the platform does not have, and for each empty range. After a thousand a last
  /// one says that there are more. The plan leaves these names and ranges out.
  std::vector<InputError> problems = {};
  std::optional<YamlNode> schedule = {};  ///< where the plan names its schedule, if it is read from a file
};

/// The header of a file of the schema `stagecraft/plan/1`, YAML or JSON (docs/reference/formats/plan.md).
/// **Throws** InputError naming the place of the first defect in it.
[[nodiscard]] PlanHeader read_plan_header(const std::string& path);
[[nodiscard]] PlanHeader parse_plan_header(std::string_view text, const std::string& file_name);

/// The whole plan, in which each stage's layers are put into canonical order.
/// **Requires** an acyclic graph, at the plan's microbatch size and degrees.
/// **Throws** InputError for a file that is not a plan at all: unknown keys, wrong types, missing values.
[[nodiscard]] PlanReading parse_plan(std::string_view text, const std::string& file_name, const LayerGraph& graph,
                                     const Platform& platform);

/// The same of a document, or of a part of one.
[[nodiscard]] PlanReading read_plan_node(const YamlNode& root, const LayerGraph& graph, const Platform& platform);

/// The keys and values of a plan file, the same for YAML and JSON, and of two of its parts.
[[nodiscard]] Detail::Record plan_record(const Plan& plan, const LayerGraph& graph, const Platform& platform);
[[nodiscard]] Detail::Record schedule_record(const ScheduleChoice& schedule);
[[nodiscard]] Detail::Record training_record(const Training& training);

/// Texts that `parse_plan` reads back to an equal value, provided that each stage's layers are in canonical order.
[[nodiscard]] std::string write_plan_yaml(const Plan& plan, const LayerGraph& graph, const Platform& platform);
[[nodiscard]] std::string plan_to_json(const Plan& plan, const LayerGraph& graph, const Platform& platform);

}  // namespace stagecraft
