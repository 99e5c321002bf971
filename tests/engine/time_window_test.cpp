#include "sim/engine/time_window.hpp"

#include <doctest/doctest.h>

#include <random>

namespace stagecraft::time_window_test {

namespace {

Piece piece(std::uint32_t account, double begin, double end, double amount) {
  return {account, Seconds(begin), Seconds(end), amount};
}

}  // namespace

TEST_CASE("time window: what lies outside is cut off, what crosses an end counts in proportion") {
  TimeWindow window;
  window.add(piece(0, 0, 2, 100), Seconds(0));  // before
  window.add(piece(0, 2, 6, 8), Seconds(0));    // half of it: 4
  window.open(Seconds(4));
  window.add(piece(0, 5, 6, 1), Seconds(0));    // inside: 1
  window.add(piece(0, 3, 19, 32), Seconds(0));  // 4 to 12, a half: 16
  window.add(piece(1, 11, 15, 8), Seconds(0));  // 11 to 12, a quarter: 2
  window.close(Seconds(12));
  window.add(piece(1, 10, 14, 20), Seconds(0));  // late, a half: 10
  window.add(piece(1, 12, 14, 20), Seconds(0));  // after
  CHECK(window.sum(0) == 21.0);
  CHECK(window.sum(1) == 12.0);
  CHECK(window.sum(7) == 0.0);
  CHECK(window.is_closed());
}

TEST_CASE("time window: an amount at one instant counts whole, on the ends too") {
  TimeWindow window;
  window.open(Seconds(1));
  for (const double at : {0.5, 1.0, 2.0, 3.0, 3.5}) window.add(piece(0, at, at, 1), Seconds(0));
  window.close(Seconds(3));
  CHECK(window.sum(0) == 3.0);
}

TEST_CASE("time window: a bound on the end changes when pieces are summed, not what they sum to") {
  std::mt19937_64 dice(7);
  for (int round = 0; round < 50; ++round) {
    TimeWindow eager;
    TimeWindow lazy;
    for (TimeWindow* window : {&eager, &lazy}) window->open(Seconds(8));
    double begin = 0.0;
    for (int i = 0; i < 40; ++i) {  // pieces by increasing begin; the window ends at 24
      begin += 0.25 * static_cast<double>(dice() % 4);
      const double end = begin + 0.5 * static_cast<double>(dice() % 8);
      const Piece next = piece(static_cast<std::uint32_t>(dice() % 3), begin, end, (end - begin) * 4);
      eager.add(next, Seconds(std::min(begin, 24.0)));
      lazy.add(next, Seconds(0));
    }
    for (TimeWindow* window : {&eager, &lazy}) window->close(Seconds(24));
    for (std::uint32_t account = 0; account < 3; ++account) CHECK(eager.sum(account) == lazy.sum(account));
  }
}

}  // namespace stagecraft::time_window_test
