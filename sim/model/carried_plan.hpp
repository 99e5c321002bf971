#pragma once

#include "sim/base/index.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/plan.hpp"

namespace stagecraft {

/// For each layer of `after` the layer of `before` that has its name; none for a layer that is new.
/// **Cost** O(layers).
[[nodiscard]] IndexVector<LayerId, LayerId> layers_before(const LayerGraph& before, const LayerGraph& after);

/// The plan of `before` for another model, with its size of a microbatch. Layers of the same name keep their stage and
/// what is done with their stash. A new layer joins the stage of its last predecessor, and is treated there like the
/// layer before it. A layer whose predecessors are in later stages than before moves to the last of these. Recomputed
/// layers that no longer follow each other are segments of their own. A pattern is left out.
/// **Throws** InputError naming a stage that is left without layers, or that divides microbatches of fewer samples than
/// it has devices.
/// **Cost** O((layers + edges) log layers) for each pipeline.
[[nodiscard]] Plan carried_over(const Plan& plan, const LayerGraph& before, const LayerGraph& after);

}  // namespace stagecraft
