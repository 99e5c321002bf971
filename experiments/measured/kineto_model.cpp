#include "experiments/measured/kineto_model.hpp"

#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/model_file.hpp"
#include "sim/io/text_file.hpp"

#include <cstddef>
#include <utility>

namespace stagecraft {
namespace {

Layer layer_of(const KinetoLayer& source, const KinetoProfile& profile, const std::string& prefix) {
  const InputPlace place{profile.file, 0, 0, ""};
  if (has_control_characters(source.name)) {
    throw InputError("the name of a layer, " + quote(source.name) + ", has control characters", place,
                     "choose other layers (--layers)");
  }
  const auto passes = static_cast<double>(profile.passes);
  Layer layer;
  layer.name = prefix + source.name;
  layer.forward = to_seconds(source.forward.time) / passes;
  layer.backward = to_seconds(source.backward.time) / passes;
  // A layer whose operators were recorded and have no parameters has no gradient of them.
  if (source.parameters > Bytes(0) || source.input < Bytes(0)) layer.backward_weight = layer.backward / 2;
  layer.parameters = source.parameters;
  layer.stash = Bytes(-1);
  layer.checkpoint = Bytes(-1);
  return layer;
}

Bytes input_of(const KinetoLayer& layer, const KinetoProfile& profile, bool without_shapes) {
  if (layer.input >= Bytes(0)) return layer.input;
  if (without_shapes) return Bytes(0);
  throw InputError("the trace has no shapes of the inputs of " + quote(layer.name), {profile.file, 0, 0, ""},
                   "profile with record_shapes=True, or take sizes that are not recorded as 0 (--without-shapes)");
}

/// A layer in place keeps its output, which the next one reads: one tensor in the memory of its input. Two of them in a
/// row have that memory in common. Where the next layer reads another size, what it reads is another tensor.
void share_outputs(const std::vector<bool>& in_place, LayerGraph& graph) {
  Bytes input = graph.input;
  for (std::size_t i = 0; i + 1 < in_place.size(); ++i) {
    Layer& layer = graph.layers[LayerId(static_cast<LayerId::rep>(i))];
    const Bytes output = layer.output;
    if (in_place[i] && output == input && output > Bytes(0)) {
      if (in_place[i + 1]) {
        layer.stash = Bytes(0);
      } else {
        Layer& next = graph.layers[LayerId(static_cast<LayerId::rep>(i + 1))];
        layer.stash = output;
        layer.keeps = next.reads = next.keeps = {static_cast<std::uint32_t>(graph.tensors.size())};
        graph.tensors.push_back({LayerId(static_cast<LayerId::rep>(i)), output});
      }
    }
    input = output;
  }
}

std::string source_of(const std::vector<KinetoProfile>& profiles, std::size_t unknown) {
  std::string text = "kernels of ";
  for (const KinetoProfile& profile : profiles) {
    text += (&profile == &profiles.front() ? "" : ", ") + file_stem(profile.file);
  }
  text += ", traces of the PyTorch profiler; gradients of parameters are assumed to be half of a layer's backward; ";
  if (unknown == 0) return text + "sizes from the shapes of operators";
  return text + "the sizes of " + counted(unknown, "layer") + " were not recorded and are 0";
}

}  // namespace

Model kineto_model(const std::vector<KinetoProfile>& profiles, const KinetoModelChoice& choice) {
  LayerGraph graph;
  std::size_t unknown = 0;
  std::vector<bool> in_place;
  for (std::size_t p = 0; p < profiles.size(); ++p) {
    const std::string prefix = profiles.size() == 1 ? "" : "stage" + std::to_string(p) + ".";
    if (profiles[p].layers.empty()) {
      throw InputError("the trace has no layers", {profiles[p].file, 0, 0, ""},
                       "profile with with_stack=True, or name the layers with record_function (--layers)");
    }
    for (const KinetoLayer& source : profiles[p].layers) {
      const Bytes input = input_of(source, profiles[p], choice.without_shapes);
      if (source.input < Bytes(0)) ++unknown;
      if (graph.layers.empty()) {
        graph.input = input;
      } else {
        graph.layers.back().output = input;
        const LayerId before(static_cast<LayerId::rep>(graph.layers.size() - 1));
        graph.edges.push_back({before, LayerId(before.value() + 1), input});
      }
      graph.layers.push_back(layer_of(source, profiles[p], prefix));
      in_place.push_back(source.in_place);
    }
  }
  share_outputs(in_place, graph);
  graph.source = source_of(profiles, unknown);
  return measured_model(std::move(graph), profiles.front().file, choice.microbatch_size, choice.device_kind);
}

}  // namespace stagecraft
