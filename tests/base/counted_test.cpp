#include "sim/base/counted.hpp"

#include <doctest/doctest.h>

#include <cstdint>

using namespace stagecraft;

TEST_CASE("counted: one is singular, every other number plural") {
  CHECK(counted(1, "microbatch") == "1 microbatch");
  CHECK(counted(0, "microbatch") == "0 microbatches");
  CHECK(counted(std::int64_t{16}, "sample") == "16 samples");
  CHECK(counted(2U, "tied copy") == "2 tied copies");
}

TEST_CASE("plural: hissing ends get es, y after a consonant becomes ies") {
  CHECK(plural("stage") == "stages");
  CHECK(plural("switch") == "switches");
  CHECK(plural("bus") == "buses");
  CHECK(plural("entry") == "entries");
  CHECK(plural("array") == "arrays");
}
