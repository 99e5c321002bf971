#include "experiments/view/ascii_timeline.hpp"

#include "experiments/view/text_width.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "tests/schedule/chains.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

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

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// Whether the picture says it, in one line or over two.
bool says(std::string picture, const std::string& text) {
  std::ranges::replace(picture, '\n', ' ');
  return picture.find(text) != std::string::npos;
}

TEST_CASE("ascii timeline: 1F1B of two stages, every length exact") {
  // f = 1, b = 2, m = 3: (3 + 2 - 1) * 3 = 12 units. 25 + 5 columns hold 2 for each unit. gpu1 goes on without a
  // break from 1 to 10; gpu0 waits for its gradients at 4, 7 and 10.
  CHECK(drawn(chain(2, 1, 2), pairwise(2), straight(2, 3, "1f1b"), {30, false}) ==
        "gpu0 F0F1....B0--F2B1--..B2--\n"
        "gpu1 ..F0B0--F1B1--F2B2--....\n"
        "     |0 s\n"
        "F forward, B backward, number:\n"
        "microbatch (its last digits),\n"
        ". idle; a column is 500 ms\n");
}

TEST_CASE("ascii timeline: each operation has its colour to its end, and idle time has none") {
  PictureOptions options{30};
  options.colours = true;
  CHECK(drawn(chain(2, 1, 2), pairwise(2), straight(2, 3, "1f1b"), options)
            .starts_with("gpu0 \x1b[30;46mF0F1\x1b[0m....\x1b[30;43mB0--\x1b[0m\x1b[30;46mF2\x1b[0m\x1b[30;43mB1--"
                         "\x1b[0m..\x1b[30;43mB2--\x1b[0m\ngpu1 "));
}

TEST_CASE("ascii timeline: the letter of a stage has the colour of its operation") {
  Plan plan = straight(18, 1, "gpipe");
  for (Stage& stage : plan.stages) stage.replicas = {DeviceId(0)};
  PictureOptions options{5 + 3 * 54};
  options.colours = true;
  const std::string picture = drawn(chain(18, 1, 2), pairwise(1), plan, options);
  CHECK(picture.find("F0r") != std::string::npos);
  CHECK(picture.find("\x1b[30;42m") == std::string::npos);  // the colour of recomputes
}

TEST_CASE("ascii timeline: a row for each pair's transfers") {
  // 1 s for each tensor: F 0..1, A 1..2, F 2..3, B 3..5, G 5..6, B 6..8.
  CHECK(drawn(chain(2, 1, 2, 1'000'000'000), pairwise(2), straight(2, 1, "gpipe"), {32, true})
            .starts_with("gpu0       F0..........B0--\n"
                         "gpu1       ....F0B0--......\n"
                         "gpu0->gpu1 ..A0............\n"
                         "gpu1->gpu0 ..........G0....\n"
                         "           |0 s\n"
                         "F forward, B backward, A\n"
                         "activation, G gradient, number:\n"));
}

TEST_CASE("ascii timeline: stages that share a device have letters, and recomputes are drawn") {
  Plan plan = straight(2, 1, "gpipe");
  plan.stages[1].replicas = {DeviceId(0)};
  plan.stages[1].memory = {Recompute{{LayerId(1)}}};
  const std::string picture = drawn(chain(2, 1, 2), pairwise(1), plan, {26, false});
  CHECK(picture.substr(0, picture.find('\n')) == "gpu0 F0aF0br0bB0b---B0a---");
  CHECK(says(picture, "r recompute"));
  CHECK(says(picture, "a, b, ...: stages of the device"));
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
  CHECK(says(wide, "|2.5 s              |+333 ms            |+667 ms"));
  CHECK(drawn(chain(1, 1, 2), pairwise(1), straight(1, 1, "1f1b"), {100, false, TimeRange{Seconds(5), Seconds(6)}}) ==
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
  CHECK(says(picture, "2 computations shorter than a column: not drawn"));
}

/// The computations of gpu0 as kind, start and end.
struct Work {
  OpKind kind;
  double start;
  double end;
};

Timeline made_of(const std::vector<Work>& works) {
  Timeline timeline;
  for (const Work& work : works) {
    TimelineEntry entry;
    entry.kind = work.kind;
    entry.from = PlaceId(0);
    entry.stage = StageId(0);
    entry.start = Seconds(work.start);
    entry.end = Seconds(work.end);
    timeline.push_back(entry);
  }
  return timeline;
}

std::size_t widest(const std::string& picture) {
  std::size_t widest = 0;
  for (const std::string& line : lines_of(picture)) widest = std::max(widest, width_of(line));
  return widest;
}

TEST_CASE("ascii timeline: a long run is folded, and a column shows what runs in it") {
  // 100 forwards of 1 s, then 100 backwards of 2 s: 30 columns of 10 s, of which the first 10 are forwards.
  const std::string picture = drawn(chain(1, 1, 2), pairwise(1), straight(1, 100, "gpipe"), {35, false});
  CHECK(picture.starts_with("gpu0 FFFFFFFFFFBBBBBBBBBBBBBBBBBBBB\n     |0 s"));
  CHECK(says(picture, "a column is 10 s"));
  CHECK(says(picture, "the whole run, 0 s..300 s"));
  // A window in which every computation has two columns is drawn with its microbatches.
  const TimeRange window{Seconds(96), Seconds(100)};
  CHECK(drawn(chain(1, 1, 2), pairwise(1), straight(1, 100, "gpipe"), {35, false, window})
            .starts_with("gpu0 F96----F97----F98----F99----\n"));
}

TEST_CASE("ascii timeline: the part of a folded run is told with its times in the run") {
  const std::string last = drawn(chain(1, 1, 2), pairwise(1), straight(1, 100, "gpipe"), {200, false}, 3);
  CHECK(says(last, "the last iteration, 600 s..900 s;"));
  const TimeRange window{Seconds(50), Seconds(250)};
  const std::string part = drawn(chain(1, 1, 2), pairwise(1), straight(1, 100, "gpipe"), {45, false, window});
  CHECK(says(part, "50 s..250 s of a run of 300 s"));
  CHECK(!says(part, "the whole run"));
}

/// The folded row of gpu0 in 20 columns of 10 s.
std::string folded_row(const std::vector<Work>& works) {
  return ascii_timeline(made_of(works), pairwise(1), {25, false, TimeRange{Seconds(0), Seconds(200)}}).substr(5, 20);
}

TEST_CASE("ascii timeline: of a folded row each kind, and idle time, has as many columns as its time fills") {
  // In each of 10 columns F for 3 s and B for 4 s; then nothing; then in each of the last 5 columns F for 8 s.
  std::vector<Work> works;
  for (int i = 0; i < 10; ++i) {
    works.push_back({OpKind::Forward, 10.0 * i, 10.0 * i + 3});
    works.push_back({OpKind::Backward, 10.0 * i + 5, 10.0 * i + 9});
  }
  for (int i = 0; i < 10; ++i) works.push_back({OpKind::Forward, 150.0 + 5 * i, 154.0 + 5 * i});
  const std::string row = folded_row(works);
  const std::string first = row.substr(0, 10);
  CHECK(std::ranges::count(first, 'F') == 3);
  CHECK(std::ranges::count(first, 'B') == 4);
  CHECK(std::ranges::count(first, '.') == 3);
  CHECK(row.substr(10, 5) == ".....");
  CHECK(std::ranges::count(row.substr(15), 'F') == 4);
}

TEST_CASE("ascii timeline: of a folded row, time in which two run counts once") {
  std::vector<Work> works;
  for (int i = 0; i < 20; ++i) {
    works.push_back({OpKind::Forward, 10.0 * i, 10.0 * i + 4});
    works.push_back({OpKind::Recompute, 10.0 * i, 10.0 * i + 4});
  }
  const std::string row = folded_row(works);
  CHECK(std::ranges::count(row, '.') == 12);
}

TEST_CASE("ascii timeline: of many devices the first and the last are drawn") {
  // Every stage starts one second later, so no two rows are alike.
  const std::string picture = drawn(chain(65, 1, 2), pairwise(65), straight(65, 1, "1f1b"), {500, false});
  const std::vector<std::string> lines = lines_of(picture);
  CHECK(lines.at(0).starts_with("gpu0  F0"));
  CHECK(lines.at(19).starts_with("gpu19 "));
  CHECK(lines.at(20) == "… 25 more devices");
  CHECK(lines.at(21).starts_with("gpu45 "));
  CHECK(lines.at(40).starts_with("gpu64 "));
  CHECK(lines.at(41).find("|0 s") != std::string::npos);
}

TEST_CASE("ascii timeline: of many devices those that look the same share a row") {
  // Each of 30 replicas runs 40 microbatches of its own, at the same times as the others.
  Plan plan = straight(2, 1200, "1f1b");
  for (std::size_t stage = 0; stage < 2; ++stage) {
    plan.stages[stage].replicas = {};
    for (std::size_t i = 0; i < 30; ++i) plan.stages[stage].replicas.push_back(DeviceId(30 * stage + i));
  }
  const std::vector<std::string> lines = lines_of(drawn(chain(2, 1, 2), pairwise(60), plan, {120, false}));
  CHECK(lines.at(0).starts_with("gpu0 +29  "));
  CHECK(lines.at(1).starts_with("gpu30 +29 "));
  CHECK(lines.at(2).find("|0 s") != std::string::npos);
}

TEST_CASE("ascii timeline: no line is wider than the terminal") {
  const std::optional<TimeRange> whole;
  const TimeRange short_part{Seconds(1), Seconds(1 + 1e-15)};
  const TimeRange no_part{Seconds(1), Seconds(1)};
  const TimeRange far{Seconds(1e9), Seconds(1e10)};
  for (const std::size_t columns : {0U, 1U, 2U, 5U, 19U, 20U, 21U, 22U, 30U, 31U, 80U, 120U, 200U}) {
    CAPTURE(columns);
    for (const auto& window : {whole, {short_part}, {no_part}, {far}}) {
      for (const bool transfers : {false, true}) {
        const PictureOptions options{columns, transfers, window};
        const std::size_t most = std::max<std::size_t>(columns, 1);
        CHECK(widest(drawn(chain(2, 1, 2, 1'000'000'000), pairwise(2), straight(2, 3, "1f1b"), options)) <= most);
        CHECK(widest(drawn(chain(2, 1, 2, 1'000'000'000), pairwise(2), straight(2, 64, "1f1b"), options)) <= most);
        CHECK(widest(drawn(chain(65, 1, 2, 1'000'000), pairwise(65), straight(65, 2, "1f1b"), options)) <= most);
        CHECK(widest(ascii_timeline({}, pairwise(1), options)) <= most);
      }
    }
  }
}

TEST_CASE("ascii timeline: names leave room for time") {
  const std::string picture = drawn(chain(2, 1, 2), pairwise(2), straight(2, 64, "1f1b"), {10, false});
  // A third of the line for names, of which the end is kept.
  CHECK(lines_of(picture).at(0).starts_with("…u0 B"));
  CHECK(lines_of(picture).at(1).starts_with("…u1 "));
}

TEST_CASE("ascii timeline: without anything that takes time there is nothing to draw") {
  CHECK(ascii_timeline({}, pairwise(1), {}) == "there is nothing to draw: no computation takes any time\n");
  CHECK(ascii_timeline(made_of({{OpKind::Forward, 1, 1}}), pairwise(1), {}) ==
        "there is nothing to draw: no computation takes any time\n");
}

}  // namespace
}  // namespace stagecraft
