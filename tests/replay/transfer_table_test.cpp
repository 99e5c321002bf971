#include "sim/replay/transfer_table.hpp"

#include <doctest/doctest.h>

using namespace stagecraft;

TEST_CASE("transfer table: numbers are used again, with another serial") {
  TransferTable table;
  Transfer& first = table.add();
  first.state = Transfer::State::Alone;
  const std::uint32_t number = first.number;
  const std::uint32_t serial = first.serial;
  CHECK(table.find(number, serial, Transfer::State::Alone) == &table[number]);
  CHECK(table.find(number, serial, Transfer::State::Latency) == nullptr);
  table.remove(table[number]);
  CHECK(table[number].state == Transfer::State::Free);
  Transfer& next = table.add();
  next.state = Transfer::State::Alone;
  CHECK(next.number == number);
  CHECK(table.find(number, serial, Transfer::State::Alone) == nullptr);
  CHECK(table.add().number == number + 1);
  CHECK(table.places().size() == 2);
}
