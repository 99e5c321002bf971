#pragma once

#include "sim/base/error.hpp"
#include "sim/io/yaml_node.hpp"
#include "sim/model/detail.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/workload/device.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// The model a file of the schema `stagecraft/model/1` describes (docs/reference/formats/model.md), defaults filled in,
/// profiles by increasing microbatch size.
/// **Throws** InputError naming the place of the first defect.
/// **Cost** O(profiles · (layers + edges) · log layers).
[[nodiscard]] Model read_model_file(const std::string& path);

/// The same of a text; `file_name` is used in messages only. A file without figures may be computed for `own` devices,
/// which come before those of the catalogue.
[[nodiscard]] Model parse_model(std::string_view text, const std::string& file_name,
                                const std::vector<DeviceDescription>& own = {});

/// The keys and values of a model file: times in `s`, sizes in `B`. With `only_recipe` without the figures, which the
/// reader then computes.
/// **Requires** a model as `parse_model` returns them; with `only_recipe` one that has a recipe.
[[nodiscard]] Detail::Record model_record(const Model& model, bool only_recipe = false);

/// The file that `parse_model` reads back to an equal value.
/// **Requires** a model as `parse_model` returns them.
[[nodiscard]] std::string write_model(const Model& model, bool only_recipe = false);

/// Checks a graph. **Throws** InputError for an empty or cyclic one, or for sums that no file may reach.
void check_graph(const LayerGraph& graph, const InputPlace& place);
void check_graph(const LayerGraph& graph, const YamlNode& node);

/// The model of a graph that an importer has read of a file, after which it is called; defaults filled in.
/// **Throws** InputError as `check_graph`.
[[nodiscard]] Model measured_model(LayerGraph graph, const std::string& file_name, std::int64_t microbatch_size,
                                   const std::string& device_kind);

}  // namespace stagecraft
