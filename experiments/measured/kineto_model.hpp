#pragma once

#include "experiments/measured/kineto_layers.hpp"
#include "sim/model/layer_graph.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace stagecraft {

/// What a model needs that traces lack.
struct KinetoModelChoice {
  std::int64_t microbatch_size = 1;  ///< samples in a forward pass
  std::string device_kind;
  bool without_shapes = false;  ///< sizes that are not recorded are 0
};

/// The model of traces: the layers of the first one, then those of the next one, as a chain. Of several traces each is
/// a stage, and its number is part of its layers' names. Times are those of a pass; the output of a layer is the input
/// of the next one, and that of the last one 0; the stash is the bytes of the inputs. A
/// layer in place keeps the tensor that the next one reads. Of the backward of layers with parameters, or with unknown
/// ones, half is assumed to be the gradient of the parameters.
/// **Requires** at least one profile. **Throws** InputError for a trace without layers, for a layer whose input was not
/// recorded unless `without_shapes`, and for names or sums that no model file may have.
[[nodiscard]] Model kineto_model(const std::vector<KinetoProfile>& profiles, const KinetoModelChoice& choice);

}  // namespace stagecraft
