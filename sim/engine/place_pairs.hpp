#pragma once

#include "sim/base/index.hpp"
#include "sim/model/op_graph.hpp"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace stagecraft {

/// Numbers the pairs of places that exchange bytes, each leg of their way by itself, in the order in which they are
/// first asked for.
class PlacePairs {
 public:
  struct Pair {
    PlaceId from;
    PlaceId to;
    Leg leg = Leg::Whole;
    friend bool operator==(const Pair&, const Pair&) = default;
  };

  [[nodiscard]] std::uint32_t number_of(const Op& transfer);
  [[nodiscard]] const std::vector<Pair>& items() const { return items_; }

 private:
  std::vector<Pair> items_;
  std::unordered_map<std::uint64_t, std::uint32_t> index_;
  std::uint64_t last_key_ = ~std::uint64_t{0};  ///< a shortcut: transfers of one pair often follow each other
  std::uint32_t last_ = 0;
};

}  // namespace stagecraft
