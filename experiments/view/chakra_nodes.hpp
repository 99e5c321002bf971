#pragma once

#include "sim/model/platform.hpp"
#include "sim/model/timeline.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace stagecraft {

/// What a node of a Chakra execution trace is, by its number in the schema.
enum class ChakraKind : std::uint8_t {
  Metadata = 1,
  MemoryLoad = 2,
  MemoryStore = 3,
  Compute = 4,
  Send = 5,
  Receive = 6,
  Collective = 7,
};

/// A node of the trace of one device. Its number is its position in the trace, and so are its dependencies.
struct ChakraNode {
  ChakraKind kind = ChakraKind::Compute;
  std::string name;
  std::uint32_t microbatch = 0;
  StageId stage;  ///< may be none
  Seconds start;
  Seconds end;
  Bytes bytes;                           ///< sent, received, moved, or reduced by each member
  DeviceId peer;                         ///< of a send or a receive: the other device
  std::uint32_t tag = 0;                 ///< of a send or a receive: which of the messages from one device to the other
  std::uint32_t group = 0;               ///< of a collective: which of `ChakraRun::groups`
  std::vector<std::uint32_t> data_deps;  ///< what it waited for on its device, in ascending order
  std::vector<std::uint32_t> ctrl_deps;  ///< the computation before it on its device, unless it waited for that one
};

/// A run as Chakra has it: a graph for each device. Devices depend on one another by messages and collectives alone.
struct ChakraRun {
  IndexVector<DeviceId, std::vector<ChakraNode>> devices;  ///< each in the order of starts
  std::vector<std::vector<DeviceId>> groups;               ///< of collectives, each in ascending order
};

/// By the number of a ring (`Op::chunk`): the bytes of its buckets of gradients.
using RingBytes = std::vector<std::vector<Bytes>>;

/// A tensor that passes host memory is one message: the send is its first leg, the receive is its last one. What moves
/// within a device is no node.
/// **Requires** a run of one iteration without aborted operations and another plan, in which transfers are messages
/// from one device to another (not the channels of the analytic network).
/// **Cost** O((entries + dependencies) · log entries).
[[nodiscard]] ChakraRun chakra_run(const RunRecord& record, const Platform& platform, const RingBytes& rings);

}  // namespace stagecraft
