#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stagecraft {

/// Items go to places, one to each. Items of one kind cost the same everywhere, and so do places of one kind.
struct Assignment {
  std::vector<std::int64_t> items;   ///< by kind of item
  std::vector<std::int64_t> places;  ///< by kind of place; as many in all
  std::vector<std::int64_t> costs;   ///< of one item of kind i in a place of kind j: entry i * places.size() + j

  [[nodiscard]] std::int64_t cost(std::size_t item, std::size_t place) const {
    return costs[item * places.size() + place];
  }
};

/// How many items of each kind go to places of each kind, with the least sum of costs.
///
/// With one item and one place of each kind it is the Hungarian algorithm: the items of one kind after the other are
/// brought to the places that are left along paths of least cost, found from dual prices. The answer depends on the
/// input alone: of paths of equal cost, the one is taken whose places come first.
/// **Requires** counts > 0, as many items as places, and |costs| below 2^60. **Shape** as `Assignment::costs`.
/// **Cost** O(paths · kinds of items · kinds of places); about one path for each kind of item or place.
[[nodiscard]] std::vector<std::int64_t> cheapest_assignment(const Assignment& problem);

}  // namespace stagecraft
