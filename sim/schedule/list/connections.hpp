#pragma once

#include "sim/base/quantity.hpp"
#include "sim/model/op_graph.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stagecraft {

/// A tensor on its way from one device to another, leg by leg. Without legs it is there at once.
struct TensorWay {
  struct Part {
    std::uint32_t connection = 0;
    Seconds latency;
    Seconds bytes;  ///< the time of its bytes
  };
  std::array<Part, 3> parts{};
  std::size_t count = 0;
};

/// What connections carry in a run without contention: the tensors of each one after the other (`Lane::connection`).
class Connections {
 public:
  explicit Connections(std::size_t count) : last_(count) {}

  /// When a tensor arrives that leaves at `sent`. **Requires** that those of a connection come in the order in which
  /// they leave.
  Seconds arrival(const TensorWay& way, Seconds sent) {
    Seconds at = sent;
    for (std::size_t i = 0; i < way.count; ++i) {
      const TensorWay::Part& part = way.parts[i];
      const Seconds start = std::max(at, last_[part.connection]);
      at = start + (latency_left(part.latency, start - at) + part.bytes);
      last_[part.connection] = at;
    }
    return at;
  }

 private:
  std::vector<Seconds> last_;  ///< by connection: the arrival of its last tensor
};

}  // namespace stagecraft
