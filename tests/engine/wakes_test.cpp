#include "sim/engine/wakes.hpp"

#include "tests/engine/still_clock.hpp"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

using namespace stagecraft;

TEST_CASE("wakes: what rings at one instant comes in the order in which it was put off, and once") {
  testing::StillClock clock;
  Wakes wakes(clock);
  wakes.put_off({Wake::Kind::Event, 3}, Seconds(5));
  wakes.put_off({Wake::Kind::NotBefore, 8}, Seconds(4));
  wakes.put_off({Wake::Kind::Recovery, 1}, Seconds(5));
  using Token = std::pair<std::uint64_t, Seconds>;
  CHECK(clock.wakes == std::vector<Token>{{0, Seconds(5)}, {1, Seconds(4)}, {2, Seconds(5)}});
  CHECK(wakes.take_rung().empty());
  wakes.ring(1);
  CHECK(wakes.take_rung() == std::vector<Wake>{{Wake::Kind::NotBefore, 8}});
  wakes.ring(2);
  wakes.ring(0);
  CHECK(wakes.take_rung() == std::vector<Wake>{{Wake::Kind::Event, 3}, {Wake::Kind::Recovery, 1}});
  wakes.ring(0);
  CHECK(wakes.take_rung().empty());
}
