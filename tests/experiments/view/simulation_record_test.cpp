#include "experiments/view/simulation_record.hpp"

#include "tests/planners/fixtures.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

namespace stagecraft {
namespace {

const Detail* find(const Detail::Record& record, const std::string& key) {
  const auto found = std::ranges::find(record, key, &Detail::Record::value_type::first);
  return found == record.end() ? nullptr : &found->second;
}

TEST_CASE("simulation record: re-plans and migrations are there once a run has some") {
  const Platform platform = testing::flat_platform(2);
  Simulation simulation;
  CHECK(find(simulation_record(simulation, {}, platform, {}, false), "replans") == nullptr);
  CHECK(find(simulation_record(simulation, {}, platform, {}, false), "migrations") == nullptr);
  simulation.report.replans = {{7, Seconds(2.0)}};
  simulation.report.migrations = {
      {StageId(3), platform.place(DeviceId(0)), platform.place(DeviceId(1)), Bytes(10), Seconds(2.0), Seconds(3.0)}};
  const Detail::Record record = simulation_record(simulation, {}, platform, {}, false);
  CHECK(*find(record, "replans") == Detail(Detail::List{Detail::Record{{"microbatch", 7}, {"at_s", 2.0}}}));
  CHECK(*find(record, "migrations") == Detail(Detail::List{Detail::Record{{"stage", 3},
                                                                          {"from", platform.devices[DeviceId(0)].name},
                                                                          {"to", platform.devices[DeviceId(1)].name},
                                                                          {"bytes", 10},
                                                                          {"start_s", 2.0},
                                                                          {"end_s", 3.0}}}));
}

}  // namespace
}  // namespace stagecraft
