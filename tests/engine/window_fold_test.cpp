#include "sim/engine/window_fold.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace stagecraft;

namespace {

/// Microbatch m is done at m + 1.
void add(WindowFold& fold, std::int64_t begin, std::int64_t end, double period = 1.0, double from = 0.0) {
  for (std::int64_t m = begin; m < end; ++m) fold.add(m, Seconds(from + period * static_cast<double>(m - begin + 1)));
}

}  // namespace

TEST_CASE("windows: a run that is not divided has none") {
  WindowFold fold(0, 1);
  add(fold, 0, 10);
  fold.change_plan({10, 10, 10, 11});
  CHECK(fold.report().empty());
  CHECK(fold.change_times().empty());
}

// Ten microbatches of 3 samples, one in each second: windows of 4, 4 and 2.
TEST_CASE("windows: each ends when its microbatches are done, whatever the order of the backwards") {
  WindowFold fold(4, 3);
  for (std::int64_t m : {1, 0, 3, 2, 5, 4, 8, 7, 6, 9}) fold.add(m, Seconds(static_cast<double>(m + 1)));
  fold.add(5, Seconds(2.0));  // another stage's backward of it, which ended before
  CHECK(fold.report() == std::vector<WindowReport>{
                             {0, 4, 3, Seconds(4), 3.0}, {4, 8, 3, Seconds(8), 3.0}, {8, 10, 3, Seconds(10), 3.0}});
  CHECK(fold.change_times().empty());
}

// A plan of 2 s a microbatch, of which 6 run; then one of 1 s, whose first microbatch is done 5 s later.
TEST_CASE("windows: another plan begins a window of its own, and its first microbatch has its time") {
  WindowFold fold(4, 1);
  add(fold, 0, 5, 2.0);
  fold.change_plan({6, 6, 6, 7});
  fold.add(5, Seconds(12));
  fold.add(6, Seconds(17));
  fold.add(6, Seconds(16));
  add(fold, 7, 12, 1.0, 17.0);
  CHECK(fold.report() == std::vector<WindowReport>{{0, 4, 1, Seconds(8), 0.5},
                                                   {4, 6, 1, Seconds(12), 0.5},
                                                   {6, 10, 1, Seconds(20), 0.5},
                                                   {10, 12, 1, Seconds(22), 1.0}});
  CHECK(fold.change_times().front().second == ChangeTime{1, Seconds(5)});
}

TEST_CASE("windows: a change that is announced ahead takes the place of windows that would begin there") {
  WindowFold fold(4, 1);
  add(fold, 0, 4);
  fold.change_plan({8, 8, 8, 9});
  add(fold, 4, 8, 1.0, 4.0);
  add(fold, 8, 9, 1.0, 8.0);
  const std::vector<WindowReport> windows = fold.report();
  REQUIRE(windows.size() == 3);
  CHECK(windows[1] == WindowReport{4, 8, 1, Seconds(8), 1.0});
  CHECK(windows[2] == WindowReport{8, 9, 1, Seconds(9), 1.0});
}

// Microbatches of 1 s; those from 4 on belong to a change, and 7 is 3 s late. The run ends before the change does.
TEST_CASE("windows: a change takes the time of all its microbatches, as far as the run goes") {
  WindowFold fold(100, 1);
  add(fold, 0, 3);
  fold.change_plan({6, 4, 5, 20});
  add(fold, 3, 7, 1.0, 3.0);
  add(fold, 7, 10, 1.0, 10.0);
  CHECK(fold.change_times().front().first == ChangeTime{1, Seconds(1)});
  CHECK(fold.change_times().front().second == ChangeTime{5, Seconds(8)});
  fold.change_plan({12, 12, 12, 13});  // ends the change before
  for (std::int64_t m = 10; m < 20; ++m) fold.add(m, Seconds(static_cast<double>(m) + 4.0));
  CHECK(fold.change_times().front().second == ChangeTime{7, Seconds(10)});
}

// Microbatches of 1 s. After the tenth, at 10, a device fails. A plan of 2 s goes on with microbatch 6 at 15.
TEST_CASE("windows: a run that goes back has each microbatch in one window, which takes the time that is lost") {
  WindowFold fold(4, 1);
  add(fold, 0, 10);
  fold.change_plan({6, 6, 6, 7});
  add(fold, 6, 12, 2.0, 15.0);
  CHECK(fold.report() == std::vector<WindowReport>{{0, 4, 1, Seconds(4), 1.0},
                                                   {4, 6, 1, Seconds(6), 1.0},
                                                   {6, 10, 1, Seconds(23), 4.0 / 17.0},
                                                   {10, 12, 1, Seconds(27), 0.5}});
  CHECK(fold.change_times().front().second == ChangeTime{1, Seconds(11)});  // from 6 to 17
}

TEST_CASE("windows: a run that goes back to its start, and a change that has not come") {
  WindowFold fold(4, 1);
  add(fold, 0, 3);
  fold.change_plan({3, 3, 3, 4});
  add(fold, 3, 5, 1.0, 3.0);
  fold.change_plan({8, 8, 8, 9});  // is never reached
  fold.withdraw_changes(1);
  fold.change_plan({0, 0, 0, 1});
  add(fold, 0, 6, 1.0, 9.0);
  CHECK(fold.report() == std::vector<WindowReport>{{0, 4, 1, Seconds(13), 4.0 / 13.0}, {4, 6, 1, Seconds(15), 1.0}});
  REQUIRE(fold.change_times().size() == 2);
  CHECK(fold.change_times()[0].second == ChangeTime{1, Seconds(1)});
  CHECK(fold.change_times()[1].second == ChangeTime{1, Seconds(10)});
}

// Microbatches of 2 samples, of 5 from microbatch 6 on; then the run goes back behind the change.
TEST_CASE("windows: the samples of microbatches whose size changes") {
  WindowFold fold(4, 2);
  CHECK(fold.samples(3, 7) == 8);
  add(fold, 0, 6);
  fold.change_plan({6, 6, 6, 7, 5});
  add(fold, 6, 12, 1.0, 6.0);
  CHECK(fold.samples(0, 12) == 6 * 2 + 6 * 5);
  CHECK(fold.samples(5, 7) == 2 + 5);
  CHECK(fold.samples(8, 9) == 5);
  CHECK(fold.report().back() == WindowReport{10, 12, 5, Seconds(12), 5.0});
  fold.change_plan({3, 3, 3, 4, 2});
  add(fold, 3, 6, 1.0, 12.0);
  fold.change_plan({6, 6, 6, 7, 5});
  add(fold, 6, 12, 1.0, 15.0);
  CHECK(fold.samples(0, 12) == 6 * 2 + 6 * 5);
  CHECK(samples_of(fold.report()) == 6 * 2 + 6 * 5);
}
