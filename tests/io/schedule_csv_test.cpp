#include "sim/io/schedule_csv.hpp"

#include "sim/base/error.hpp"
#include "tests/schedule/chains.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

constexpr std::size_t kDevices = 2;

/// A plan of stages that go down the two devices and up again: stages 0 and 3 are on gpu0.
Plan folded(std::int64_t microbatches = 2) {
  Plan plan = testing::straight(2 * kDevices, microbatches, "literal");
  plan.stages[2].replicas = {DeviceId(1)};
  plan.stages[3].replicas = {DeviceId(0)};
  return plan;
}

GivenOrders parse(const std::string& text, const Plan& plan) {
  return parse_schedule_csv(text, "f.csv", plan, testing::pairwise(kDevices));
}
GivenOrders parse(const std::string& text) { return parse(text, folded()); }

std::string refusal(const std::string& text, const Plan& plan) {
  try {
    static_cast<void>(parse(text, plan));
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

Action action(ActionKind kind, std::size_t stage, std::uint32_t microbatch, bool joined = false) {
  Action made;
  made.kind = kind;
  made.joined = joined;
  made.stage = StageId(stage);
  made.microbatch = microbatch;
  return made;
}

using Kind = ActionKind;

TEST_CASE("schedule table: a row is the order of the device that has its stages, idle steps are counted") {
  const GivenOrders given = parse("0F0,3F0,(0F1;3B0)OVERLAP_F_B,0I0,0W0\r\n,1F0, 2F0 ,,1B0\r\n");
  REQUIRE(given.schedule.devices.size() == 2);
  CHECK(given.schedule.devices[0].device == DeviceId(0));
  CHECK(given.schedule.devices[0].discipline == Discipline::Strict);
  CHECK(given.schedule.devices[0].actions ==
        std::vector<Action>{action(Kind::Forward, 0, 0), action(Kind::Forward, 3, 0), action(Kind::Forward, 0, 1),
                            action(Kind::Backward, 3, 0, true), action(Kind::BackwardInput, 0, 0),
                            action(Kind::BackwardWeight, 0, 0)});
  CHECK(given.schedule.devices[1].device == DeviceId(1));
  CHECK(given.schedule.devices[1].actions ==
        std::vector<Action>{action(Kind::Forward, 1, 0), action(Kind::Forward, 2, 0), action(Kind::Backward, 1, 0)});
  CHECK(given.steps == OrderSteps{{0, 1, 2, 2, 3, 4}, {1, 2, 4}});
  CHECK(given.schedule.transfers == Transfers::Eager);
}

TEST_CASE("schedule table: rows may be in any order, and the last one need not end") {
  const GivenOrders given = parse("1F0,2F0\n0F0,3F0");
  CHECK(given.schedule.devices[0].device == DeviceId(1));
  CHECK(given.schedule.devices[1].device == DeviceId(0));
}

TEST_CASE("schedule table: sends and receives make transfers explicit, marks of whole stages are no actions") {
  const GivenOrders given = parse("0UNSHARD,0F0,0SEND_F0,0RECV_B0,0B0,0REDUCE_GRAD,0RESHARD\n1RECV_F0,1F0,1SEND_B0\n");
  CHECK(given.schedule.transfers == Transfers::Stream);
  CHECK(given.schedule.devices[0].actions ==
        std::vector<Action>{action(Kind::Forward, 0, 0), action(Kind::SendActivation, 0, 0),
                            action(Kind::ReceiveGradient, 0, 0), action(Kind::Backward, 0, 0)});
  CHECK(given.schedule.devices[1].actions == std::vector<Action>{action(Kind::ReceiveActivation, 1, 0),
                                                                 action(Kind::Forward, 1, 0),
                                                                 action(Kind::SendGradient, 1, 0)});
  CHECK(given.steps == OrderSteps{{1, 2, 3, 4}, {0, 1, 2}});
  CHECK(parse("0F0,0B0,0REDUCE_GRAD\n1F0,1B0\n").schedule.transfers == Transfers::Eager);
}

TEST_CASE("schedule table: in the dialect of 2024 B is the input gradient and BW the whole backward") {
  const auto kinds = [](const std::string& text) {
    std::vector<Kind> found;
    const GivenOrders given = parse(text);
    for (const Action& each : given.schedule.devices[0].actions) found.push_back(each.kind);
    return found;
  };
  CHECK(kinds("0F0,0B0,0W0\n1F0\n") == std::vector<Kind>{Kind::Forward, Kind::BackwardInput, Kind::BackwardWeight});
  CHECK(kinds("0F0,0BW0,0B1\n1F0\n") == std::vector<Kind>{Kind::Forward, Kind::Backward, Kind::BackwardInput});
  // One I in any row tells the dialect since then.
  CHECK(kinds("0F0,0B0,0W1\n1I0\n") == std::vector<Kind>{Kind::Forward, Kind::Backward, Kind::BackwardWeight});
  CHECK(refusal("0F0,0BW0,0I1\n", folded()).starts_with("f.csv:1: rank 0, step 2: is an operation of files since"));
  CHECK(refusal("0F0,(0F1;3B0)OVERLAP_F_B,0BW0\n", folded())
            .starts_with("f.csv:1: rank 0, step 1: is an operation of files since"));
}

TEST_CASE("schedule table: what is no operation is refused with its line, rank and step") {
  const std::string form = "expected an operation such as '0F3', made of a stage, a kind and a microbatch, found ";
  const std::string pair = "expected a pair such as '(0F3;3B1)OVERLAP_F_B', of a forward and a whole backward, found ";
  const std::vector<std::pair<std::string, std::string>> fields = {
      {"2F0junk", form + "'2F0junk'"},
      {"2F", form + "'2F'"},
      {"F0", form + "'F0'"},
      {"2", form + "'2'"},
      {"-2F0", form + "'-2F0'"},
      {"2F-1", "unknown kind of operation 'F-'"},
      {"2F0 1", form + "'2F0 1'"},
      {"2 F0", "unknown kind of operation ' F'"},
      {"2F9999999999", form + "'2F9999999999'"},
      {"99999999F0", form + "'99999999F0'"},
      {"2f0", "unknown kind of operation 'f'"},
      {"2SENDF0", "unknown kind of operation 'SENDF' (did you mean 'SEND_F'?"},
      {"\"2F0\"", form + "'\"2F0\"'"},
      {"2UNSHARD0", "expected no microbatch behind UNSHARD, found '2UNSHARD0'"},
      {"(2F0;1B0)", pair + "'(2F0;1B0)'"},
      {"(2F0)OVERLAP_F_B", pair + "'(2F0)OVERLAP_F_B'"},
      {"(2F0;1B0)OVERLAP_F_B0", pair + "'(2F0;1B0)OVERLAP_F_B0'"},
      {"(1B0;2F0)OVERLAP_F_B", pair + "'(1B0;2F0)OVERLAP_F_B'"},
      {"(2F0;1I0)OVERLAP_F_B", pair + "'(2F0;1I0)OVERLAP_F_B'"},
      {"(2F0;;1B0)OVERLAP_F_B", form + "';1B0'"},
  };
  for (const auto& [field, message] : fields) {
    CAPTURE(field);
    const std::string told = refusal("0F0,3F0\n1F0," + field + "\n", folded());
    CAPTURE(told);
    CHECK(told.starts_with("f.csv:2: rank 1, step 1: " + message));
  }
}

TEST_CASE("schedule table: rows that are no ranks of the plan are refused") {
  const auto told = [](const std::string& text) { return refusal(text, folded()); };
  CHECK(told("") == "f.csv: expected a row of operations for each rank, found none");
  CHECK(told("0F0\n\n1F0\n").starts_with("f.csv:2: rank 1: expected the operations of a rank, found none"));
  CHECK(told("0F0\n1F0,4F0\n") ==
        "f.csv:2: rank 1, step 1: stage 4 is not in the plan, which has 4 stages, counted from 0");
  CHECK(told("0F0\n1F0,3F0\n0F0\n")
            .starts_with("f.csv:2: rank 1, step 1: stage 3 is on another device of the plan, "
                         "gpu0, than stage 1, which is on gpu1"));
  CHECK(told("0F0\n1F0\n1F0\n").starts_with("f.csv:3: rank 2, step 0: stage 1 is on rank 1 too"));
  CHECK(told("0F0\n3F0\n1F0\n") == "f.csv:2: rank 1: the plan has the stages of ranks 0 and 1 on one device, gpu0");
  CHECK(
      told("0F0,,0SEND_F0\n1F0\n").starts_with("f.csv:1: rank 0, step 1: expected an operation, found an empty field"));
  CHECK(told("0F0\n1F1,1F2,1B0,1B1\n")
            .starts_with("f.csv:2: rank 1, step 0: expected microbatches counted from 0, but the forwards of stage 1 "
                         "are counted from 1 (PyTorch 2.14"));
}

TEST_CASE("schedule table: a plan whose stages are on several devices, or in several pipelines, has no table") {
  Plan replicated = testing::straight(1, 2, "literal");
  replicated.stages[0].replicas.emplace_back(DeviceId(1));
  const std::string one_rank = "a table of PyTorch has each stage on one rank, but stage 0 of the plan has 2 replicas";
  CHECK(refusal("0F0\n", replicated).starts_with("f.csv: " + one_rank));
  Plan two_ways = testing::straight(2, 2, "literal");
  two_ways.stages[1].pipeline = 1;
  CHECK(refusal("0F0\n1F1\n", two_ways).find("the plan has several pipelines") != std::string::npos);
  for (const Plan& plan : {replicated, two_ways})
    CHECK_THROWS_AS(static_cast<void>(write_schedule_csv({}, plan)), InputError);
}

TEST_CASE("schedule table: rows are written by their first stages, with the line ends of Python's writer") {
  Schedule schedule;
  schedule.devices = {{DeviceId(1), Discipline::Strict, {action(Kind::Forward, 1, 0), action(Kind::Backward, 1, 0)}},
                      {DeviceId(7), Discipline::Strict, {}},
                      {DeviceId(0),
                       Discipline::Strict,
                       {action(Kind::Forward, 0, 0), action(Kind::Backward, 3, 0), action(Kind::Forward, 0, 1, true),
                        action(Kind::BackwardInput, 0, 0), action(Kind::BackwardWeight, 0, 0)}}};
  CHECK(write_schedule_csv({schedule}, folded()) == "0F0,(0F1;3B0)OVERLAP_F_B,0I0,0W0\r\n1F0,1B0\r\n");
}

TEST_CASE("schedule table: what it cannot say is not written") {
  const auto told = [](const auto& change) {
    Schedule schedule;
    schedule.devices = {{DeviceId(0), Discipline::Strict, {action(Kind::Forward, 0, 0)}}};
    change(schedule);
    try {
      static_cast<void>(write_schedule_csv({schedule}, folded()));
    } catch (const InputError& error) {
      return error.message();
    }
    return std::string();
  };
  CHECK(told([](Schedule&) {}) == "");
  CHECK(told([](Schedule& s) { s.devices[0].actions[0].duration = Seconds(1); }) ==
        "a table of PyTorch cannot say how long an operation takes");
  CHECK(told([](Schedule& s) { s.devices[0].actions[0].not_before = Seconds(1); }) ==
        "a table of PyTorch cannot say when an operation starts");
  CHECK(told([](Schedule& s) { s.devices[0].discipline = Discipline::Ready; }) ==
        "a table of PyTorch cannot say priorities instead of an order");
  CHECK(told([](Schedule& s) { s.channels.emplace_back(); }) ==
        "a table of PyTorch cannot say the order of a channel's transfers");
  CHECK(told([](Schedule& s) { s.transfers = Transfers::Rendezvous; }) ==
        "a table of PyTorch cannot say transfers that wait for their receivers");
}

/// Operations in any order, some of them pairs, with idle steps before some.
std::string random_row(std::mt19937& random, const std::vector<int>& stages) {
  const auto below = [&](std::size_t end) { return random() % end; };
  const auto operation = [&](char kind) {
    return std::to_string(stages[below(stages.size())]) + kind + std::to_string(below(50));
  };
  std::string row;
  for (std::size_t count = 1 + below(20), i = 0; i < count; ++i) {
    if (i > 0) row += ',';
    row += std::string(below(3), ',');
    row += below(4) == 0 ? "(" + operation('F') + ";" + operation('B') + ")OVERLAP_F_B" : operation("FIWB"[below(4)]);
  }
  return row + "\r\n";
}

TEST_CASE("schedule table: a table without transfers is written as it was read, 400 random ones") {
  std::mt19937 random(7);
  for (int i = 0; i < 400; ++i) {
    const std::string text = "0I99," + random_row(random, {0, 3}) + random_row(random, {1, 2});
    CAPTURE(text);
    CHECK(write_schedule_csv(parse(text), folded()) == text);
  }
}

}  // namespace
}  // namespace stagecraft
