#include "experiments/run/inputs.hpp"
#include "experiments/run/planning.hpp"
#include "experiments/run/planning_choices.hpp"
#include "experiments/run/simulation.hpp"
#include "planners/registry.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/io/model_file.hpp"
#include "sim/io/platform_file.hpp"
#include "sim/model/plan.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "sim/workload/build_model.hpp"
#include "sim/workload/catalogue.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace stagecraft {
namespace {

/// `model` on a server with two V100 and two A100, planned and replayed.
struct MixedRun {
  Plan plan;
  Simulation simulation;
  LayerGraph graph;
  MixedRun(const std::string& model, const std::string& planner) {
    const Inputs inputs = load_inputs(model, "mixed-v100-a100", {});
    PlanningChoices choices;
    choices.microbatch_size = 8;
    Planning planning = make_plan(find_planner(planner), inputs, choices, [](const std::string&) {});
    REQUIRE(planning.planned() != nullptr);
    plan = planning.planned()->plan;
    simulation = simulate_program(planning.graph, inputs.platform, *planning.program, {}, Settings());
    graph = std::move(planning.graph);
  }
};

/// Two devices, of the kinds in this order.
Platform two_devices(const std::vector<std::string>& kinds) {
  PlatformSpec spec;
  ExplicitForm form;
  for (const std::string& kind : kinds) {
    const DeviceKindId id = spec.device_kinds.push_back({.name = kind, .memory = Bytes(std::int64_t{40} << 30)});
    form.devices.push_back({kind, id, {}});
  }
  form.default_link = LinkSpec{BytesPerSecond(1e10), Seconds(0)};
  spec.form = std::move(form);
  return build_platform(std::move(spec));
}

/// All layers as one stage on the first `replicas` devices, which divide one microbatch.
Plan one_stage(const LayerGraph& graph, std::int64_t samples, const std::vector<DeviceId>& devices) {
  Plan plan;
  plan.model = graph.name;
  plan.microbatch_size = samples;
  plan.microbatches = 1;
  plan.schedule = {"gpipe", {}};
  plan.training.boundary_buffers = 0;
  Stage& stage = plan.stages.emplace_back();
  for (LayerId id : indices(graph.layers)) stage.layers.push_back(id);
  for (DeviceId device : devices) stage.replicas.emplace_back(device);
  stage.replication = Replication::Split;
  return plan;
}

/// What one microbatch of all layers needs by the cost model, on a device that keeps four copies of the parameters.
Bytes needed_by_cost_model(const std::string& kind, std::int64_t samples) {
  const LayerGraph graph =
      build_model(*find_architecture("vgg16"), *find_device(kind), samples, Granularity::Block).profiles.front();
  Bytes sum;
  Bytes workspace;
  std::set<std::uint32_t> tensors;
  for (const Layer& layer : graph.layers) {
    sum += layer.parameters * 4 + layer.stash;
    for (const std::uint32_t tensor : layer.keeps) {
      if (!tensors.insert(tensor).second) sum -= graph.tensors[tensor].bytes;
    }
    workspace = std::max(workspace, layer.workspace);
  }
  return sum + workspace;
}

}  // namespace

// The cost model computes some convolutions of VGG-16 with a workspace that depends on the kind and on the samples, not
// in proportion: Winograd's where it is faster and stays below 4 GiB.
TEST_CASE("kinds: a device's memory is its own kind's at its own samples, whatever kind comes first") {
  const std::vector<std::string> kinds{"V100-SXM2-16GB", "A100-SXM4-40GB"};
  std::set<Bytes> different;
  for (const bool swapped : {false, true}) {
    for (const std::int64_t samples : {64, 128}) {
      for (const std::size_t replicas : {1, 2}) {
        Model model = load_model("vgg16-blocks");
        const std::size_t first = swapped ? 1 : 0;
        Platform platform = two_devices({kinds[first], kinds[1 - first]});
        fit_to_platform(model, platform);
        const LayerGraph graph = profile_at(model, samples, StashConvention::Autograd, [](const std::string&) {});
        std::vector<DeviceId> devices{DeviceId(first)};  // the V100
        if (replicas == 2) devices.emplace_back(1 - first);
        const Plan plan = one_stage(graph, samples, devices);
        const ScheduleProgram program = require_schedule(graph, platform, plan);
        const Report run = evaluate_plan(graph, platform, plan);
        REQUIRE(run.devices.size() == replicas);
        for (const auto& [device, peak] : ledger_peaks(graph, platform, program)) {
          const Bytes own =
              needed_by_cost_model(platform.kind(device).name, samples / static_cast<std::int64_t>(replicas));
          CHECK(peak == own);
          const auto same = [&](const DeviceReport& report) { return report.device == device; };
          CHECK(std::ranges::find_if(run.devices, same)->memory.peak == own);
          different.insert(own);
        }
      }
    }
  }
  CHECK(different.size() == 5);  // V100 at 32, 64 and 128 samples, A100 at 32 and 64
}

TEST_CASE("kinds: on a mixed server it does not matter for which kind a computed profile was written") {
  for (const char* planner : {"uniform", "pipedream-sync", "spp"}) {
    CAPTURE(planner);
    const MixedRun from_v100("bert-large", planner);
    const MixedRun from_a100("bert-large-a100", planner);
    CHECK(from_v100.plan.stages == from_a100.plan.stages);
    CHECK(from_v100.graph.layers == from_a100.graph.layers);
    CHECK(from_v100.simulation.report == from_a100.simulation.report);
    CHECK(from_v100.simulation.basis == from_a100.simulation.basis);
  }
}

TEST_CASE("kinds: a plan takes the same time on a mixed cluster under every name of its model") {
  for (const char* name : {"mixed-v100-a100", "cluster-v100-a100"}) {
    CAPTURE(name);
    const Inputs of_v100 = load_inputs("bert-large", name, {});
    const Inputs of_a100 = load_inputs("bert-large-a100", name, {});
    PlanningChoices choices;
    choices.microbatches = 16;
    const auto ignore = [](const std::string&) {};
    const Planning planning = make_plan(find_planner("uniform"), of_v100, choices, ignore);
    REQUIRE(planning.planned() != nullptr);
    const Plan& plan = planning.planned()->plan;
    const auto run = [&](const Inputs& inputs) {
      const LayerGraph graph = profile_at(inputs.model, plan.microbatch_size, StashConvention::Autograd, ignore);
      const ScheduleProgram program = require_schedule(graph, inputs.platform, plan);
      return simulate_program(graph, inputs.platform, program, {}, Settings()).report;
    };
    const Report by_v100 = run(of_v100);
    CHECK(by_v100.iterations.back() > Seconds(0));
    CHECK(by_v100 == run(of_a100));
  }
}

// The kinds of a platform are those of the catalogue, so a computed model has a profile of each. A stage of all layers
// on one device then takes that profile's time, whatever other kinds there are.
TEST_CASE("kinds: every shipped model runs on every shipped platform, on each kind with the times of its own profile") {
  std::vector<Platform> platforms;
  for (const ShippedFile& file : shipped_files("platforms")) {
    platforms.push_back(build_platform(load_platform_spec(file.name)));
  }
  std::size_t pairs = 0;
  for (const ShippedFile& file : shipped_files("traces")) {
    const Model shipped = load_model(file.name);
    for (const Platform& platform : platforms) {
      CAPTURE(file.name);
      CAPTURE(platform.spec.name);
      Inputs inputs{shipped, platform, "", ""};
      fit_to_platform(inputs.model, inputs.platform);
      PlanningChoices choices;
      choices.microbatches = 16;
      CHECK_NOTHROW(check_choices(find_planner("uniform"), inputs, choices));
      const LayerGraph& chosen = inputs.model.profiles.front();
      std::set<DeviceKindId> seen;
      for (const DeviceId device : indices(inputs.platform.devices)) {
        if (!seen.insert(inputs.platform.devices[device].kind).second) continue;
        const std::string& kind = inputs.platform.kind(device).name;
        CAPTURE(kind);
        REQUIRE(shipped.computed->has(kind));
        const LayerTotals own = totals(shipped.computed->profile(kind, chosen.microbatch_size));
        const LayerTotals unit = totals(chosen);
        const std::optional<double> factor = time_factor(inputs.platform, chosen.device_kind, device);
        REQUIRE(factor.has_value());
        CHECK((unit.forward + unit.backward).value() * *factor ==
              doctest::Approx((own.forward + own.backward).value()).epsilon(1e-9));
      }
      ++pairs;
    }
  }
  CHECK(platforms.size() >= 24);
  CHECK(pairs >= 39 * platforms.size());
}

TEST_CASE("kinds: each device of a mixed server computes with the times of its own kind") {
  const MixedRun run("bert-large", "uniform");
  for (const Stage& stage : run.plan.stages) {
    const auto turns = static_cast<double>(run.plan.microbatches) / static_cast<double>(stage.replicas.size());
    for (const DeviceId device : devices_of(stage)) {
      const std::string kind = device.value() < 2 ? "V100-SXM2-16GB" : "A100-SXM4-40GB";
      double seconds = 0.0;
      for (LayerId layer : stage.layers) {
        const LayerTimes times = run.graph.own_times->times(layer, kind, 8);
        seconds += (times.forward + times.backward).value() * turns;
      }
      for (const DeviceReport& report : run.simulation.report.devices) {
        if (report.device == device) CHECK(report.time.compute.value() == doctest::Approx(seconds).epsilon(1e-9));
      }
    }
  }
}

TEST_CASE("kinds: a kind that the model lacks is reached by the speeds in the profile's precision alone") {
  const auto with_speeds = [](const std::string& of_a, const std::string& of_b) {
    return "schema: stagecraft/platform/1\nplatform: p\ndevice_kinds:\n  A: {memory: 16 GiB, speed: " + of_a +
           "}\n  B: {memory: 16 GiB, speed: " + of_b + "}\ndevices: [{name: gpu0, kind: B}]\n";
  };
  const std::string profile =
      "microbatch_size: 1\nlayers: [{name: a, forward: 1 ms, backward: 2 ms, parameters: 0, "
      "output: 1 kB}]\n";
  const auto factor = [&](const std::string& precision, const std::string& of_a, const std::string& of_b) {
    const std::string header = "schema: stagecraft/model/1\nmodel: m\ndevice: A\n";
    Model model = parse_model(header + (precision.empty() ? "" : "precision: " + precision + "\n") + profile, "m");
    Platform platform = build_platform(parse_platform(with_speeds(of_a, of_b), "p"));
    fit_to_platform(model, platform);
    return time_factor(platform, "A", DeviceId(0));
  };
  // speed(A) / speed(B) in the precision of the profile
  CHECK(factor("", "1", "4") == 0.25);
  CHECK(factor("fp32", "{fp32: 1, tf32: 3}", "{fp32: 4, tf32: 6}") == 0.25);
  CHECK(factor("tf32", "{fp32: 1, tf32: 3}", "{fp32: 4, tf32: 6}") == 0.5);
  CHECK_FALSE(factor("tf32", "1", "4"));
  CHECK_FALSE(factor("tf32", "{tf32: 3}", "4"));
  CHECK_FALSE(factor("", "{tf32: 3}", "{tf32: 6}"));
}

}  // namespace stagecraft
