#include "experiments/view/ascii_timeline.hpp"

#include "sim/analytic/evaluate_plan.hpp"
#include "tests/schedule/chains.hpp"

#include <doctest/doctest.h>

#include <string>

namespace stagecraft {
namespace {

using testing::chain;
using testing::pairwise;
using testing::straight;

std::string drawn(const LayerGraph& graph, const Platform& platform, const Plan& plan, const PictureOptions& options,
                  std::int64_t iterations = 1) {
  Timeline timeline;
  LowerOptions lower_options;
  lower_options.iterations = iterations;
  static_cast<void>(evaluate_plan(graph, platform, plan, lower_options, {}, collect_into(timeline)));
  return ascii_timeline(timeline, platform, options);
}

TEST_CASE("ascii timeline: 1F1B of two stages, every length exact") {
  // f = 1, b = 2, m = 3: (3 + 2 - 1) * 3 = 12 units. 25 + 5 columns hold 2 for each unit. gpu1 goes on without a
  // break from 1 to 10; gpu0 waits for its gradients at 4, 7 and 10.
  CHECK(drawn(chain(2, 1, 2), pairwise(2), straight(2, 3, "1f1b"), {30, false}) ==
        "gpu0 F0F1....B0--F2B1--..B2--\n"
        "gpu1 ..F0B0--F1B1--F2B2--....\n"
        "     |0 s\n"
        "F forward, B backward, number: microbatch (its last digits), . idle; a column is 500 ms\n");
}

TEST_CASE("ascii timeline: a row for each pair's transfers") {
  // 1 s for each tensor: F 0..1, A 1..2, F 2..3, B 3..5, G 5..6, B 6..8.
  CHECK(drawn(chain(2, 1, 2, 1'000'000'000), pairwise(2), straight(2, 1, "gpipe"), {28, true}) ==
        "gpu0       F0..........B0--\n"
        "gpu1       ....F0B0--......\n"
        "gpu0->gpu1 ..A0............\n"
        "gpu1->gpu0 ..........G0....\n"
        "           |0 s\n"
        "F forward, B backward, A activation, G gradient, number: microbatch (its last digits), . idle; "
        "a column is 500 ms\n");
}

TEST_CASE("ascii timeline: stages that share a device have letters, and recomputes are drawn") {
  Plan plan = straight(2, 1, "gpipe");
  plan.stages[1].replicas = {DeviceId(0)};
  plan.stages[1].memory = {Recompute{{LayerId(1)}}};
  const std::string picture = drawn(chain(2, 1, 2), pairwise(1), plan, {26, false});
  CHECK(picture.substr(0, picture.find('\n')) == "gpu0 F0aF0br0bB0b---B0a---");
  CHECK(picture.find("r recompute") != std::string::npos);
  CHECK(picture.find("a, b, ...: stages of the device") != std::string::npos);
}

TEST_CASE("ascii timeline: of several iterations the last is drawn, from 0") {
  const std::string picture = drawn(chain(1, 1, 2), pairwise(1), straight(1, 1, "gpipe"), {26, false}, 3);
  CHECK(picture.substr(0, picture.find('\n')) == "gpu0 F2-----B2------------");
}

TEST_CASE("ascii timeline: of a window the part is drawn that lies in it, with the times of the run") {
  // gpu0 runs F0 0..1, F1 1..2, B0 4..6; gpu1 runs F0 1..2, B0 2..4, F1 4..5, B1 5..7. From 1 to 5, six columns a
  // second.
  const std::string picture =
      drawn(chain(2, 1, 2), pairwise(2), straight(2, 64, "1f1b"), {29, false, TimeRange{Seconds(1), Seconds(5)}});
  CHECK(
      picture.starts_with("gpu0 F1----............B0----\n"
                          "gpu1 F0----B0----------F1----\n"
                          "     |1 s"));
  // gpu0 waits from 2 to 4; its row is there, and times after the first are counted from it.
  const std::string wide =
      drawn(chain(2, 1, 2), pairwise(2), straight(2, 64, "1f1b"), {65, false, TimeRange{Seconds(2.5), Seconds(3.5)}});
  CHECK(wide.starts_with("gpu0 " + std::string(60, '.') + "\ngpu1 B0" + std::string(58, '-') + "\n"));
  CHECK(wide.find("|2.5 s              |+333 ms            |+667 ms") != std::string::npos);
  CHECK(drawn(chain(1, 1, 2), pairwise(1), straight(1, 1, "1f1b"), {30, false, TimeRange{Seconds(5), Seconds(6)}}) ==
        "there is nothing to draw: no computation takes any time in this part of the run\n");
}

TEST_CASE("ascii timeline: a part of a timeline has what runs within the range, however short") {
  const auto entry = [](double start, double end) {
    TimelineEntry each;
    each.start = Seconds(start);
    each.end = Seconds(end);
    return each;
  };
  const Timeline timeline{entry(0, 1), entry(0, 2), entry(1.5, 1.5), entry(2, 3), entry(3, 4)};
  const Timeline part = part_of(timeline, {Seconds(1.5), Seconds(3)});
  REQUIRE(part.size() == 3);
  CHECK(part[0].end == Seconds(2));
  CHECK(part[1].end == Seconds(1.5));
  CHECK(part[2].end == Seconds(3));
}

TEST_CASE("ascii timeline: of a number with little room the last digits are shown") {
  const std::string picture = drawn(chain(1, 1, 1), pairwise(1), straight(1, 12, "1f1b"), {53, false});
  const std::string row = picture.substr(0, picture.find('\n'));
  CHECK(row.substr(row.size() - 12) == "F9B9F0B0F1B1");
}

TEST_CASE("ascii timeline: computations shorter than a column are counted") {
  LayerGraph graph = chain(2, 1, 2);
  graph.layers[LayerId(1)].forward = Seconds(1e-3);
  const std::string picture = drawn(graph, pairwise(2), straight(2, 2, "1f1b"), {60, false});
  CHECK(picture.find("2 computations shorter than a column: not drawn") != std::string::npos);
}

TEST_CASE("ascii timeline: what is too large says what would fit") {
  CHECK(drawn(chain(2, 1, 2), pairwise(2), straight(2, 64, "1f1b"), {100, false}) ==
        "too large to draw: a device runs 128 computations, and 100 columns are enough for 47; draw a part with "
        "--timeline-window FROM..TO, or use fewer microbatches, a wider terminal or COLUMNS\n");
  CHECK(drawn(chain(65, 1, 2), pairwise(65), straight(65, 1, "1f1b"), {500, false}) ==
        "too large to draw: 65 devices; at most 64 can be drawn\n");
  CHECK(ascii_timeline({}, pairwise(1), {}) == "there is nothing to draw: no computation takes any time\n");
}

}  // namespace
}  // namespace stagecraft
