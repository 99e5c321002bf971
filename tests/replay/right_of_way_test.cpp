#include "sim/replay/right_of_way.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <random>
#include <vector>

namespace stagecraft {
namespace {

using Change = RightOfWay::Change;
using Changes = std::vector<Change>;
using Links = std::vector<std::uint32_t>;

Changes enter(RightOfWay& right, std::uint32_t transfer, std::uint8_t transfer_class, const Links& links) {
  Changes changes;
  right.enter(transfer, transfer_class, links, changes);
  return changes;
}

Changes leave(RightOfWay& right, std::uint32_t transfer) {
  Changes changes;
  right.leave(transfer, changes);
  return changes;
}

TEST_CASE("right of way: one class never rests") {
  RightOfWay right;
  CHECK(enter(right, 1, 0, {7}) == Changes{{1, true}});
  CHECK(enter(right, 2, 0, {7}) == Changes{{2, true}});
  CHECK(leave(right, 1).empty());
}

TEST_CASE("right of way: the larger class rests while the smaller one uses a link of its route") {
  RightOfWay right;
  CHECK(enter(right, 1, 1, {7, 8}) == Changes{{1, true}});
  CHECK(enter(right, 2, 0, {8, 9}) == Changes{{2, true}, {1, false}});
  CHECK(enter(right, 3, 1, {9}) == Changes{{3, false}});
  CHECK(enter(right, 4, 1, {6}) == Changes{{4, true}});
  CHECK(leave(right, 2) == Changes{{1, true}, {3, true}});
}

// Links: class 2 on a, class 1 on a and b, class 0 on b. When class 0 comes, class 1 rests and so frees a for class 2.
TEST_CASE("right of way: one that rests holds up nobody") {
  RightOfWay right;
  CHECK(enter(right, 10, 1, {0, 1}) == Changes{{10, true}});
  CHECK(enter(right, 20, 2, {0}) == Changes{{20, false}});
  CHECK(enter(right, 30, 0, {1}) == Changes{{30, true}, {10, false}, {20, true}});
  CHECK(leave(right, 30) == Changes{{10, true}, {20, false}});
}

TEST_CASE("right of way: one that leaves while it rests changes nothing") {
  RightOfWay right;
  enter(right, 1, 0, {5});
  CHECK(enter(right, 2, 1, {5}) == Changes{{2, false}});
  CHECK(leave(right, 2).empty());
  CHECK(leave(right, 1).empty());
  CHECK(leave(right, 1).empty());  // not there any more
}

struct Known {
  std::uint8_t transfer_class;
  Links links;
  bool moves;
};

/// The rule itself: class by class, a transfer moves unless one of a smaller class moves over a link of its.
bool holds(const std::map<std::uint32_t, Known>& all) {
  return std::ranges::all_of(all, [&](const auto& item) {
    const bool must_rest = std::ranges::any_of(all, [&](const auto& other) {
      if (!other.second.moves || other.second.transfer_class >= item.second.transfer_class) return false;
      return std::ranges::find_first_of(item.second.links, other.second.links) != item.second.links.end();
    });
    return item.second.moves != must_rest;
  });
}

TEST_CASE("right of way: the rule holds after every step of a random history (seeds 1 to 20)") {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    RightOfWay right;
    std::map<std::uint32_t, Known> all;
    for (std::uint32_t step = 0; step < 300; ++step) {
      Changes changes;
      if (!all.empty() && random() % 2 == 0) {
        const auto gone = std::next(all.begin(), static_cast<std::ptrdiff_t>(random() % all.size()));
        right.leave(gone->first, changes);
        all.erase(gone);
      } else {
        Known known{static_cast<std::uint8_t>(random() % 4), {}, false};
        for (std::uint32_t link = 0; link < 6; ++link) {
          if (random() % 3 == 0) known.links.push_back(link);
        }
        all[step] = known;
        right.enter(step, known.transfer_class, known.links, changes);
        CHECK(changes.front().transfer == step);
      }
      for (const Change& change : changes) all.at(change.transfer).moves = change.moves;
      CAPTURE(seed);
      CAPTURE(step);
      REQUIRE(holds(all));
    }
  }
}

}  // namespace
}  // namespace stagecraft
