#include "experiments/view/table.hpp"

#include "experiments/view/text_width.hpp"

#include <doctest/doctest.h>

#include <optional>

namespace stagecraft {
namespace {

const Table kTable{
    {"device", "stage", "time", "note"}, {{"gpu0", "0", "1 s", "a"}, {"gpu10", "1", "20 s", "b c"}}, 1, true};

TEST_CASE("table: as wide as it is where no width is given, or where it fits") {
  const char* const whole =
      "device  stage  time  note\n"
      "gpu0        0   1 s  a\n"
      "gpu10       1  20 s  b c\n";
  CHECK(to_text(kTable, std::nullopt) == whole);
  CHECK(to_text(kTable, 25) == whole);
}

TEST_CASE("table: one that is too wide is split, and each part has the first column") {
  CHECK(to_text(kTable, 24) ==
        "device  stage  time\n"
        "gpu0        0   1 s\n"
        "gpu10       1  20 s\n"
        "\n"
        "device  note\n"
        "gpu0    a\n"
        "gpu10   b c\n");
  // The least is two columns, however narrow the screen is.
  CHECK(to_text(kTable, 1) == to_text(kTable, 13));
  CHECK(to_text(kTable, 1).starts_with("device  stage\n"));
  CHECK(to_text({{"alone"}, {{"x"}}}, 1) == "alone\nx\n");
}

TEST_CASE("table: is made for the screen while there is one") {
  CHECK(to_text(kTable) == to_text(kTable, std::nullopt));
  {
    const Screen screen(20);
    CHECK(to_text(kTable) == to_text(kTable, 20));
  }
  CHECK(to_text(kTable) == to_text(kTable, std::nullopt));
}

}  // namespace
}  // namespace stagecraft
