#include "sim/base/activity.hpp"

#include <doctest/doctest.h>

#include <string>

namespace stagecraft {
namespace {

TEST_CASE("activity: the innermost is the current one, and knows those around it") {
  CHECK(current_activity() == nullptr);
  {
    const Activity outer("planning");
    {
      Activity inner("evaluating");
      inner.count(3, 8, "microbatches");
      REQUIRE(current_activity() == &inner);
      CHECK(current_activity()->text() == "evaluating");
      CHECK(current_activity()->done() == 3);
      CHECK(current_activity()->total() == 8);
      CHECK(current_activity()->outer() == &outer);
    }
    REQUIRE(current_activity() == &outer);
    CHECK(outer.noun() == nullptr);
    CHECK(outer.outer() == nullptr);
  }
  CHECK(current_activity() == nullptr);
}

TEST_CASE("activity: of a long text whole characters are kept") {
  const Activity exact(std::string(Activity::kMostText, 'x'));
  CHECK(exact.text().size() == Activity::kMostText);
  // Three bytes each: the limit is a multiple of three, so one letter before them cuts the last one.
  std::string text = "x";
  for (std::size_t i = 0; i < Activity::kMostText; ++i) text += "€";
  const Activity cut(text);
  CHECK(cut.text().size() == Activity::kMostText - 2);
  CHECK(cut.text().ends_with("€"));
}

}  // namespace
}  // namespace stagecraft
