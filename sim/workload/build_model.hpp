#pragma once

#include "sim/model/layer_graph.hpp"
#include "sim/workload/architecture.hpp"
#include "sim/workload/device.hpp"

#include <cstdint>
#include <vector>

namespace stagecraft {

/// The operators of each layer, in the order of the network.
/// **Throws** InputError as `places_of`.
[[nodiscard]] IndexVector<LayerId, std::vector<OperatorId>> operators_of_layers(const Architecture& architecture,
                                                                                Granularity granularity);

/// A profile computed instead of measured: the operators of each layer timed one after the other on `device`, in the
/// device's own precision (`network_costs`).
///
/// A layer's figures: times (of each operator, rounded to the nanosecond) and parameters (tied copies included) are
/// sums over its operators; `output` is the sum of the tensors that other layers read; `stash` is every tensor that the
/// backward of one of its operators needs, each once, and masks, indices and statistics; `checkpoint` is the tensors
/// that enter the layer; `workspace` is the largest sum over its operators of scratch memory and of the tensors that
/// live only while it runs. Operators that are recomputed (`with_selective_recompute`) add their forward to the
/// backward; what they make again belongs to the workspace of each of them in place of the stash. `tensors` are those
/// that pass between layers. So the stash, the time and the workspace of a stage do not depend on the granularity of
/// its layers.
///
/// With `degrees` the figures are those of one member of a group, and layers have what the group exchanges; work is
/// that of the whole. Edges and tensors are as a member holds them: what all members have alike counts in full. A
/// member has `microbatch_size` samples, or parts of them that it shares with its tensor and context group; members
/// with samples of their own (`Degrees::samples`) have as many each.
/// **Requires** microbatch_size > 0. **Throws** InputError where the device lacks the precision, where the network is
/// larger than 2^53 bytes, as `member_of` and as `places_of`.
/// **Cost** O(operators log operators).
/// **Source** docs/explanation/cost-model.md.
[[nodiscard]] Model build_model(const Architecture& architecture, const DeviceDescription& device,
                                std::int64_t microbatch_size, Granularity granularity = Granularity::Layer,
                                const Degrees& degrees = {});

}  // namespace stagecraft
