// The option --set of the commands that plan and simulate.
#include "experiments/run/set_option.hpp"

#include "experiments/run/external_planner.hpp"
#include "tests/experiments/commands/toy.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace stagecraft {
namespace {

using Json = nlohmann::json;

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), by);
}

/// Drops the hashes of the files, which spell the same values differently.
void drop_hashes(Json& json) {
  if (json.is_object()) {
    json.erase("model_hash");
    json.erase("platform_hash");
  }
  for (Json& each : json) {
    if (each.is_structured()) drop_hashes(each);
  }
}

Json answer(const Ran& ran) {
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  Json json = Json::parse(ran.out);
  drop_hashes(json);
  return json;
}

Json plan_with_set(const Toy& toy, const std::vector<std::string>& set) {
  std::vector<std::string> words{"--planner", "uniform", "--json", "--no-timings"};
  for (const std::string& text : set) words.insert(words.end(), {"--set", text});
  return answer(toy.on("plan", words));
}

TEST_CASE("set: a value of a file replaced gives what an edited file gives, in every command") {
  const std::vector<std::string> set{"--set", "platform.links[0].bandwidth=10 MBps,model.layers[0].forward=30 ms"};
  for (const std::string verb : {"plan", "max-batch", "compare", "simulate", "check"}) {
    const Toy toy;
    std::vector<std::string> words{"--json", "--no-timings"};
    if (verb == "plan" || verb == "max-batch") words.insert(words.end(), {"--planner", "uniform"});
    if (verb == "compare") words.insert(words.end(), {"--planners", "uniform,gpipe"});
    const Ran before = toy.on(verb, words);
    std::vector<std::string> with_set = words;
    with_set.insert(with_set.end(), set.begin(), set.end());
    const Json as_set = answer(toy.on(verb, with_set));
    write(toy.platform, replaced(read(toy.platform), "1 GBps", "10 MBps"));
    write(toy.model, replaced(read(toy.model), "forward: 10 ms", "forward: 30 ms"));
    CHECK(as_set == answer(toy.on(verb, words)));
    if (verb != "check") CHECK(as_set != answer(before));
  }
}

TEST_CASE("set: the name of the planner may be left out where there is one, and names may be joined by commas") {
  const Toy toy;
  const Json whole = plan_with_set(toy, {"uniform.stages=2", "uniform.replicas=1"});
  CHECK(plan_with_set(toy, {"stages=2", "replicas=1"}) == whole);
  CHECK(plan_with_set(toy, {"stages=2,uniform.replicas=1"}) == whole);
  CHECK(plan_with_set(toy, {"stages='2', replicas=1"}) == whole);
  CHECK(plan_with_set(toy, {"stages=1,replicas=1"}) != whole);
}

TEST_CASE("set: an option without a planner is set for all compared planners that have it") {
  const Toy toy;
  const auto compared = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"--planners", "uniform,gpipe,data-parallel", "--json", "--no-timings"};
    words.insert(words.end(), more.begin(), more.end());
    return answer(toy.on("compare", words));
  };
  const Json all = compared({"--set", "stages=1,replicas=1"});
  CHECK(all == compared({"--set", "uniform.stages=1,gpipe.stages=1", "--set", "uniform.replicas=1,gpipe.replicas=1"}));
  CHECK(all != compared({"--set", "uniform.stages=1,uniform.replicas=1"}));
  CHECK(compared({"--set", "memory=keep"}) == compared({"--memory", "keep"}));
}

TEST_CASE("set: simulating a plan that was made with a value replaced wants the same value, and says so") {
  const Toy toy;
  const std::vector<std::string> set{"--set", "platform.links[0].bandwidth=10 MBps"};
  REQUIRE(toy.on("plan", {"--planner", "uniform", set[0], set[1], "-o", toy.plan}).code == 0);
  CHECK(toy.on("simulate", set).err.empty());
  CHECK(toy.on("simulate").err.find("if it was made with --set platform.PATH, give the same here") !=
        std::string::npos);
}

TEST_CASE("set: a remark on a value that is replaced names its key and no line") {
  const Toy toy;
  const Ran ran = run({"plan", "--model", "vgg16", "--platform", "p3.8xlarge-x4", "--planner", "data-parallel", "--set",
                       "platform.node_kinds.p3.8xlarge.nic.bandwidth=200 GBps"});
  CHECK(ran.err.find(".yaml: node_kinds.p3.8xlarge.nic.bandwidth: '200 GBps' is 1600 Gbps") != std::string::npos);
}

TEST_CASE("set: a comma belongs to a value unless a name follows that the command knows") {
  const auto planner = resolve_planner("uniform");
  const auto keys = [&](const std::string& text, const UsedPlanners& planners) {
    std::string all;
    for (const PlannerOption& option : read_set_option({text}, planners).options) {
      all += option.planner + "." + option.key + "=" + option.value + ";";
    }
    return all;
  };
  PlannerInfo any;
  any.name = "exec:./a=b.py";
  any.takes_any_option = true;
  const UsedPlanners external{std::make_shared<const PlannerInfo>(any), planner};
  CHECK(keys("exec:./a=b.py.case=x,y=1,uniform.stages=2", external) == "exec:./a=b.py.case=x,y=1;uniform.stages=2;");
  CHECK(keys("exec:./a=b.py.case=[x,stages=1],exec:./a=b.py.more={k: 'a]',stages=2}, stages=2", external) ==
        "exec:./a=b.py.case=[x,stages=1];exec:./a=b.py.more={k: 'a]',stages=2};uniform.stages=2;");
  CHECK(keys("exec:./a=b.py.case='it''s, stages=1',stages=2", external) ==
        "exec:./a=b.py.case=it's, stages=1;uniform.stages=2;");
  CHECK(keys("exec:./a=b.py.case=it's,stages=2", external) == "exec:./a=b.py.case=it's;uniform.stages=2;");
  CHECK(keys("case=x,more=y", {external.front()}) == "exec:./a=b.py.case=x;exec:./a=b.py.more=y;");
}

}  // namespace
}  // namespace stagecraft
