#include "experiments/view/waits.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

namespace stagecraft {
namespace {

TimelineEntry entry(std::uint64_t id, double start, double end, bool aborted = false) {
  TimelineEntry made;
  made.id = OpId(id);
  made.start = Seconds(start);
  made.end = Seconds(end);
  made.aborted = aborted;
  return made;
}

Dependency on(std::uint64_t op, std::uint64_t earlier) { return {OpId(op), OpId(earlier)}; }

std::vector<std::uint32_t> waits_of(const Waits& waits, std::size_t i) {
  const auto found = waits.of(i);
  return {found.begin(), found.end()};
}

using Entries = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("waits: a dependency that is there twice is one") {
  const RunRecord record{{entry(0, 0, 2), entry(1, 0, 3), entry(2, 3, 4)}, {}, {on(2, 1), on(2, 0), on(2, 1)}, {}};
  const Waits waits(record, Waits::Of::Dependencies);
  CHECK(waits_of(waits, 0).empty());
  CHECK(waits.last(0) == Waits::kNone);
  CHECK(waits_of(waits, 2) == Entries{0, 1});
  CHECK(waits.last(2) == 1);
}

TEST_CASE("waits: of several that end at once the youngest is the last") {
  const RunRecord record{{entry(1, 0, 2), entry(0, 1, 2), entry(2, 2, 3)}, {}, {on(2, 0), on(2, 1)}, {}};
  CHECK(Waits(record, Waits::Of::Dependencies).last(2) == 0);
}

TEST_CASE("waits: others wait for the last run of what a failure ended, and nobody for what never ran") {
  const RunRecord record{{entry(0, 0, 1, true), entry(0, 2, 4), entry(1, 4, 5)}, {}, {on(1, 0), on(1, 7)}, {}};
  CHECK(waits_of(Waits(record, Waits::Of::Dependencies), 2) == Entries{1});
}

TEST_CASE("waits: the critical path goes back from what ends last over what ended last") {
  const RunRecord record{{entry(0, 0, 2), entry(1, 0, 3), entry(2, 3, 4), entry(3, 4, 9), entry(4, 4, 8)},
                         {},
                         {on(2, 0), on(2, 1), on(3, 2), on(4, 2)},
                         {}};
  CHECK(Waits(record, Waits::Of::Dependencies).critical_path() == Entries{1, 2, 3});
  CHECK(Waits(RunRecord(), Waits::Of::Dependencies).critical_path().empty());
}

TEST_CASE("waits: an operation also waits for its turn, if that is wanted") {
  const RunRecord record{{entry(0, 0, 2), entry(1, 2, 3), entry(2, 3, 4)}, {}, {on(2, 0)}, {on(2, 1), on(1, 0)}};
  CHECK(waits_of(Waits(record, Waits::Of::Dependencies), 2) == Entries{0});
  const Waits waits(record, Waits::Of::DependenciesAndTurns);
  CHECK(waits_of(waits, 2) == Entries{0, 1});
  CHECK(waits.critical_path() == Entries{0, 1, 2});
}

TEST_CASE("waits: what runs again waits for its run that a failure ended, if turns are wanted") {
  const RunRecord record{{entry(0, 0, 1, true), entry(0, 2, 4)}, {}, {}, {}};
  CHECK(Waits(record, Waits::Of::DependenciesAndTurns).critical_path() == Entries{0, 1});
  CHECK(Waits(record, Waits::Of::Dependencies).critical_path() == Entries{1});
}

TEST_CASE("waits: of an operation that members of a group run together the first entry stands for the others") {
  const RunRecord record{{entry(0, 0, 2), entry(0, 0, 2), entry(1, 2, 5), entry(1, 2, 5)}, {}, {on(1, 0)}, {on(1, 0)}};
  const Waits waits(record, Waits::Of::DependenciesAndTurns);
  CHECK(waits_of(waits, 1).empty());
  CHECK(waits_of(waits, 2) == Entries{0});
  CHECK(waits_of(waits, 3) == Entries{0});
  CHECK(waits.critical_path() == Entries{0, 2});
}

TEST_CASE("waits: members of a group run again what a failure ended, each after the first entry of that run") {
  const RunRecord record{{entry(0, 0, 1, true), entry(0, 0, 1, true), entry(0, 2, 4), entry(0, 2, 4)}, {}, {}, {}};
  const Waits waits(record, Waits::Of::DependenciesAndTurns);
  CHECK(waits_of(waits, 1).empty());
  CHECK(waits_of(waits, 2) == Entries{0});
  CHECK(waits_of(waits, 3) == Entries{0});
  CHECK(waits.critical_path() == Entries{0, 2});
}

}  // namespace stagecraft
