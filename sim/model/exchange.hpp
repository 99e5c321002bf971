#pragma once

#include "sim/base/quantity.hpp"

#include <compare>
#include <cstdint>
#include <vector>

namespace stagecraft {

/// What the members of a group exchange while they run a layer: a collective in which all take part that differ in one
/// index only (`Degrees`), or all of an expert group.
struct Exchange {
  enum class Kind : std::uint8_t {
    AllReduce,      ///< every member has a sum of whole tensors, and afterwards the whole sum
    ReduceScatter,  ///< likewise, and afterwards its part of the sum
    AllGather,      ///< every member has its part, and afterwards the whole tensor
    AllToAll,       ///< every member has a tensor, and sends each member, itself too, an equal part of it
    Shift           ///< every member sends a tensor to the next one of the ring
  };
  enum class Among : std::uint8_t { Tensor, Context, Expert };
  Kind kind = Kind::AllReduce;
  Bytes bytes;             ///< of the whole tensor
  std::int64_t count = 1;  ///< how many such follow each other
  bool hidden = false;     ///< it runs beside a computation, so that no time is left of it
  Among among = Among::Tensor;
  Seconds beside = {};  ///< what the layer computes at the same time as each of them: of longer ones the rest is left
  friend auto operator<=>(const Exchange&, const Exchange&) = default;
};

/// Adds an exchange to others that a group makes one after the other; equal ones are counted together.
void add_exchange(std::vector<Exchange>& exchanges, const Exchange& exchange);

}  // namespace stagecraft
