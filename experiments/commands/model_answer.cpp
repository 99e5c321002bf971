#include "experiments/commands/model_answer.hpp"

#include "experiments/run/written_file.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/text.hpp"
#include "sim/io/json.hpp"
#include "sim/io/model_file.hpp"
#include "sim/io/yaml_values.hpp"

#include <fmt/core.h>

namespace stagecraft {
namespace {

/// The same keys and values as JSON.
std::string as_json(const std::string& yaml) { return to_json(read_detail(parse_yaml(yaml, "model"))); }

void add_counts(const Architecture& network, Detail::Record& record) {
  record.emplace_back("parameters", parameter_count(network));
  record.emplace_back("active_parameters", active_parameter_count(network));
}

/// What a token uses of a network with experts.
std::string active_text(const Architecture* network) {
  if (network == nullptr) return "";
  const std::int64_t all = parameter_count(*network);
  const std::int64_t active = active_parameter_count(*network);
  return active == all ? "" : fmt::format(" (a token uses {} of {})", active, all);
}

}  // namespace

Answer model_answer(const Model& model, const std::optional<std::string>& output, bool only_recipe,
                    const Architecture* network) {
  const std::string yaml = write_model(model, only_recipe);
  if (!names_file(output)) return {.text = yaml, .json = as_json(yaml)};
  write_file_atomically(*output, output->ends_with(".json") ? as_json(yaml) + "\n" : yaml);
  const LayerGraph& graph = model.profiles.front();
  const LayerTotals sums = totals(graph);
  const auto layers = static_cast<std::int64_t>(graph.layers.size());
  Detail::Record record{{"file", *output},
                        {"model", graph.name},
                        {"device", graph.device_kind},
                        {"microbatch_size", graph.microbatch_size},
                        {"layers", layers},
                        {"forward_s", sums.forward.value()},
                        {"backward_s", sums.backward.value()},
                        {"parameters_bytes", sums.parameters.value()}};
  if (network != nullptr) add_counts(*network, record);
  const std::string mode = graph.precision.empty() ? "" : " in " + graph.precision;
  return {.text = *output + ": " + graph.name + " on " + graph.device_kind + mode + ", " + counted(layers, "layer") +
                  ", " + format_human_bytes(sums.parameters) + " of parameters" + active_text(network) +
                  "; a microbatch of " + counted(graph.microbatch_size, "sample") + " takes " +
                  format_human_seconds(sums.forward) + " forward and " + format_human_seconds(sums.backward) +
                  " backward\n",
          .json = to_json(record)};
}

}  // namespace stagecraft
