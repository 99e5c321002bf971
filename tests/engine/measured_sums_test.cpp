#include "sim/engine/measured_sums.hpp"

#include <doctest/doctest.h>

using namespace stagecraft;

namespace {

Piece piece(std::uint32_t account, double begin, double end, double amount) {
  return {account, Seconds(begin), Seconds(end), amount};
}

}  // namespace

TEST_CASE("measured sums: a synchronous run is measured over its last complete iteration") {
  MeasuredSums sums(true);
  const std::uint32_t first = sums.open_accounts(2);
  sums.add(piece(first, 0, 1, 5));
  sums.pass_barrier(Seconds(2));
  sums.add(piece(first, 2, 3, 7));
  sums.add(piece(first, 3, 4, 1));
  sums.add(piece(first + 1, 2, 4, 3));
  sums.pass_barrier(Seconds(4));
  sums.add(piece(first, 4, 5, 100));  // of an iteration that does not end
  CHECK(sums.sum(first) == 8.0);
  CHECK(sums.sum(first + 1) == 3.0);
}

TEST_CASE("measured sums: an asynchronous run is measured between its two barriers") {
  MeasuredSums sums(false);
  const std::uint32_t account = sums.open_accounts(1);
  sums.add(piece(account, 0, 4, 8));  // a half of it: 4
  sums.pass_barrier(Seconds(2));
  sums.add(piece(account, 4, 6, 1));
  sums.pass_barrier(Seconds(8));
  sums.add(piece(account, 7, 9, 32));  // a half of it: 16
  CHECK(sums.sum(account) == 21.0);
  CHECK(sums.window().begin() == Seconds(2));
  CHECK(sums.window().end() == Seconds(8));
}

TEST_CASE("measured sums: an account may be opened at any time, and holds nothing of the iterations before") {
  MeasuredSums sums(true);
  const std::uint32_t early = sums.open_accounts(3);
  sums.pass_barrier(Seconds(1));
  const std::uint32_t late = sums.open_accounts(1);
  CHECK(late == early + 3);
  CHECK(sums.sum(late) == 0.0);
  sums.add(piece(late, 1, 2, 4));
  sums.pass_barrier(Seconds(2));
  CHECK(sums.sum(late) == 4.0);
  CHECK(sums.sum(early) == 0.0);
}
