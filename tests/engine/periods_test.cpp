#include "sim/engine/periods.hpp"

#include "sim/engine/derived_figures.hpp"

#include <doctest/doctest.h>

using namespace stagecraft;

TEST_CASE("periods: an iteration lasts from the end of the one before, and the last one is measured") {
  Periods periods;
  periods.end_iteration(Seconds(3));
  CHECK(periods.iteration_begin() == Seconds(3));
  periods.end_iteration(Seconds(5));
  CHECK(periods.iterations() == std::vector<Seconds>{Seconds(3), Seconds(2)});
  CHECK(periods.measured(TimeWindow{}).whole == Seconds(2));
}

TEST_CASE("periods: an iteration that is run again takes the time of those that are lost, too") {
  Periods periods;
  for (const double end : {3.0, 5.0, 8.0}) periods.end_iteration(Seconds(end));
  periods.go_back(1);
  CHECK(periods.iteration_begin() == Seconds(3));
  periods.end_iteration(Seconds(14));
  CHECK(periods.iterations() == std::vector<Seconds>{Seconds(3), Seconds(11)});
  periods.go_back(5);  // all of them stay
  CHECK(periods.iterations().size() == 2);
}

// Microbatches 5 to 8 take from 10 to 14, so 1 s each; 9 and 10 take from 14 to 17, so 1.5 s each.
TEST_CASE("periods: the drift compares the two windows by microbatch") {
  TimeWindow whole;
  whole.open(Seconds(10));
  whole.close(Seconds(17));
  Periods periods;
  periods.pass_middle(Seconds(14));
  Measurement measured{.synchronous = false, .microbatches = 6, .last = 10, .middle = 8};
  CHECK(periods.measured(whole) == MeasuredTime{Seconds(7), Seconds(4), Seconds(3)});
  CHECK(drift_of(periods.measured(whole), measured) == 0.5);
  measured.middle = 4;  // the first microbatch before the measured part: only one window
  CHECK_FALSE(drift_of(periods.measured(whole), measured));
}
