#include "experiments/commands/model_answer.hpp"

#include "experiments/run/written_file.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/text.hpp"
#include "sim/io/json.hpp"
#include "sim/io/model_file.hpp"
#include "sim/io/yaml_values.hpp"

namespace stagecraft {
namespace {

/// The same keys and values as JSON.
std::string as_json(const std::string& yaml) { return to_json(read_detail(parse_yaml(yaml, "model"))); }

}  // namespace

Answer model_answer(const Model& model, const std::optional<std::string>& output, bool only_recipe) {
  const std::string yaml = write_model(model, only_recipe);
  if (!names_file(output)) return {.text = yaml, .json = as_json(yaml)};
  write_file_atomically(*output, output->ends_with(".json") ? as_json(yaml) + "\n" : yaml);
  const LayerGraph& graph = model.profiles.front();
  const LayerTotals sums = totals(graph);
  const auto layers = static_cast<std::int64_t>(graph.layers.size());
  const Detail::Record record{{"file", *output},
                              {"model", graph.name},
                              {"device", graph.device_kind},
                              {"microbatch_size", graph.microbatch_size},
                              {"layers", layers},
                              {"forward_s", sums.forward.value()},
                              {"backward_s", sums.backward.value()},
                              {"parameters_bytes", sums.parameters.value()}};
  const std::string mode = graph.precision.empty() ? "" : " in " + graph.precision;
  return {.text = *output + ": " + graph.name + " on " + graph.device_kind + mode + ", " + counted(layers, "layer") +
                  ", " + format_human_bytes(sums.parameters) + " of parameters; a microbatch of " +
                  counted(graph.microbatch_size, "sample") + " takes " + format_human_seconds(sums.forward) +
                  " forward and " + format_human_seconds(sums.backward) + " backward\n",
          .json = to_json(record)};
}

}  // namespace stagecraft
