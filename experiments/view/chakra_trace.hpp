#pragma once

#include "experiments/view/chakra_nodes.hpp"
#include "sim/model/detail.hpp"

#include <string>

namespace stagecraft {

/// The file of one device: the metadata of the trace, then its nodes, each a message of Protocol Buffers with its
/// length before it. Starts and ends are rounded to whole microseconds, and a duration is their difference. A device
/// without operations has a node of metadata, because readers refuse an empty trace. `about` describes the run.
/// **Cost** O(nodes + dependencies), some 150 bytes for each node.
/// **Source** schema/protobuf/et_def.proto of MLCommons Chakra, version 0.0.4.
[[nodiscard]] std::string chakra_trace(DeviceId device, const ChakraRun& run, const Detail::Record& about);

/// The members of each group of collectives, as ASTRA-sim reads them from a file of their own: a JSON object from the
/// number of a group, from 1, to its devices.
[[nodiscard]] std::string chakra_groups(const ChakraRun& run);

}  // namespace stagecraft
