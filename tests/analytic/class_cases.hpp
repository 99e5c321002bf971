#pragma once

#include "sim/analytic/evaluate_plan.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"
#include "sim/schedule/lower.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "tests/model/topologies.hpp"
#include "tests/schedule/chains.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace stagecraft::testing {

/// A model, a platform of a few nodes, and what a request says of plans.
struct ClassCase {
  LayerGraph graph;
  Platform platform;
  Plan plan;  ///< without stages
};

/// Which cases are drawn.
struct ClassCaseOptions {
  bool branches = false;  ///< some layers read others than the one before
  bool kinds = false;     ///< nodes have devices of two kinds
  bool ties = false;      ///< the first and the last layer have a table in common
  bool cards = false;     ///< nodes are fast inside, and have one card, which parameters are too many for
  double network = 1.0;   ///< how many times the bandwidths are
  std::int64_t least_microbatches = 1;
};

/// Random cases: chains of 4 or 5 layers on 2 x 2, 2 x 3 and 3 x 2 devices, with parameters and tensors that take about
/// as long as computing does.
class ClassCases {
 public:
  ClassCases(std::uint32_t seed, const ClassCaseOptions& options) : random_(seed), options_(options) {}

  [[nodiscard]] ClassCase make() {
    ClassCase made;
    made.graph = graph();
    made.platform = platform();
    made.plan.model = made.graph.name;
    made.plan.platform = made.platform.spec.name;
    made.plan.microbatch_size = made.graph.microbatch_size;
    made.plan.microbatches = count(options_.least_microbatches, 8);
    if (count(0, 2) > 0) made.plan.training.gradient_bucket = Bytes(count(0, 3) * 300);
    if (count(0, 4) == 0) made.plan.training.zero = count(1, kMostDivided);
    return made;
  }

 private:
  [[nodiscard]] std::int64_t count(std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(most - least + 1));
  }

  [[nodiscard]] LayerGraph graph() {
    LayerGraph graph = chain(static_cast<std::size_t>(count(4, 5)), 1, 2);
    graph.device_kind = "A";
    graph.microbatch_size = count(4, 8);
    const std::int64_t parameters = options_.cards ? 20'000 : count(0, 2) * 400;
    for (Layer& layer : graph.layers) {
      layer.forward = Seconds(0.25 * static_cast<double>(count(0, 8)));
      layer.backward = layer.forward * 2.0;
      layer.backward_weight = layer.forward;
      layer.parameters = Bytes(count(0, 1000) + parameters);
      layer.output = Bytes(options_.cards ? count(500, 2500) : count(0, 600));
    }
    if (options_.branches) branch(graph);
    for (LayerEdge& edge : graph.edges) edge.bytes = graph.layers[edge.from].output;
    if (options_.ties) tie(graph);
    return graph;
  }

  /// Some layers read an earlier one in place of the one before, or both.
  void branch(LayerGraph& graph) {
    for (std::uint32_t to = 2; to < graph.layers.size(); ++to) {
      const LayerEdge edge{LayerId(count(0, to - 2)), LayerId(to), Bytes(0)};
      if (count(0, 2) == 0) graph.edges[to - 1] = edge;
      if (count(0, 2) == 0) graph.edges.push_back(edge);
    }
    const auto ends = [](const LayerEdge& edge) { return std::pair(edge.from, edge.to); };
    std::ranges::sort(graph.edges, {}, ends);
    const auto same = std::ranges::unique(graph.edges, {}, ends);
    graph.edges.erase(same.begin(), same.end());
  }

  static void tie(LayerGraph& graph) {
    TiedParameters tied{{LayerId(0), LayerId(graph.layers.size() - 1)}, Bytes(500)};
    for (const LayerId id : tied.layers) graph.layers[id].parameters += tied.bytes;
    graph.tied.push_back(std::move(tied));
  }

  [[nodiscard]] Platform platform() {
    static constexpr std::array<std::pair<std::uint32_t, std::uint32_t>, 3> kShapes{{{2, 2}, {2, 3}, {3, 2}}};
    const auto [nodes, devices] = kShapes[random_() % kShapes.size()];
    const double scale = options_.network * (options_.cards || count(0, 1) == 0 ? 1.0 : 10.0);
    const double inside = (options_.cards ? 1e5 : 200.0) * scale * static_cast<double>(count(1, 8));
    NodeForm form = test::nodes_of(nodes, devices, Interconnect{SwitchedNode{}, test::link_of(inside, latency())});
    form.node_kinds[NodeKindId(0)].nic =
        NicSpec{test::link_of(100.0 * scale * static_cast<double>(count(1, 8)), latency()),
                !options_.cards && count(0, 2) == 0, 1};
    PlatformSpec spec = test::built(std::move(form)).spec;
    for (std::size_t i = 0; i < (options_.kinds ? 2 : 1); ++i) add_costs(spec, i);
    if (options_.kinds) give_second_kind(std::get<NodeForm>(spec.form));
    spec.collectives.algorithm = static_cast<CollectiveSpec::Algorithm>(count(0, 2));
    if (count(0, 3) == 0) spec.collectives.latency = Seconds(0.25);
    return build_platform(std::move(spec));
  }

  [[nodiscard]] double latency() { return count(0, 1) == 0 ? 0.0 : 0.01; }

  void add_costs(PlatformSpec& spec, std::size_t kind) {
    if (kind > 0) {
      spec.device_kinds.push_back(spec.device_kinds[DeviceKindId(0)]);
      spec.device_kinds.back().name = "B";
      spec.device_kinds.back().speed = 0.25 * static_cast<double>(count(1, 8));
    }
    DeviceKind& own = spec.device_kinds.back();
    if (count(0, 1) == 0) own.update_bandwidth = BytesPerSecond(1e4);
    if (count(0, 2) == 0) own.pass_overhead = Seconds(0.125);
    if (count(0, 2) == 0) own.update_overhead = Seconds(0.125);
  }

  static void give_second_kind(NodeForm& form) {
    form.node_kinds.push_back(form.node_kinds[NodeKindId(0)]);
    form.node_kinds.back().name = "other";
    form.node_kinds.back().device_kind = DeviceKindId(1);
    --form.groups.front().count;
    form.groups.push_back({NodeKindId(1), 1});
  }

  std::mt19937 random_;
  ClassCaseOptions options_;
};

/// Visits all plans of the class that a case has: all cuts, all sets of devices up to those of a node that are alike,
/// replicas that take turns or divide. Of a beginning that `skips` rejects none is visited.
class PlansOfClass {
 public:
  using Visit = std::function<void(const Plan& plan)>;
  using Skip = std::function<bool(const Stage& stage)>;

  PlansOfClass(const ClassCase& made, Skip skips, Visit visit)
      : made_(made), skips_(std::move(skips)), visit_(std::move(visit)), plan_(made.plan) {
    for (const DeviceId device : indices(made.platform.devices)) {
      const NodeId node = made.platform.devices[device].node;
      free_.resize(std::max<std::size_t>(free_.size(), node.value() + 1));
      free_[node.value()].push_back(device);
    }
  }

  void visit_all() { add_stage(0); }

 private:
  void add_stage(std::uint32_t layer) {
    if (layer == made_.graph.layers.size()) {
      visit_(plan_);
      return;
    }
    Stage stage;
    for (std::uint32_t end = layer; end < made_.graph.layers.size(); ++end) {
      stage.layers.emplace_back(end);
      add_devices(stage, 0);
    }
  }

  /// Gives the stage devices of this node and of those after it.
  void add_devices(Stage& stage, std::size_t node) {
    if (node == free_.size()) {
      if (!stage.replicas.empty()) place(stage);
      return;
    }
    const std::vector<DeviceId> all = free_[node];
    const std::size_t before = stage.replicas.size();
    for (std::size_t taken = 0;; ++taken) {
      add_devices(stage, node + 1);
      if (taken == all.size()) break;
      stage.replicas.emplace_back(free_[node].front());
      free_[node].erase(free_[node].begin());
    }
    free_[node] = all;
    stage.replicas.resize(before);
  }

  void place(Stage stage) {
    for (const Replication replication : {Replication::RoundRobin, Replication::Split}) {
      const bool divides = replication == Replication::Split;
      if (divides && (stage.replicas.size() < 2 || std::ssize(stage.replicas) > made_.graph.microbatch_size)) continue;
      stage.replication = replication;
      if (skips_(stage)) continue;
      plan_.stages.push_back(stage);
      add_stage(stage.layers.back().value() + 1);
      plan_.stages.pop_back();
    }
  }

  const ClassCase& made_;
  Skip skips_;
  Visit visit_;
  Plan plan_;
  std::vector<std::vector<DeviceId>> free_;  ///< by node
};

/// What a replica of the stage computes at least in an iteration, on the fastest devices.
inline Seconds least_busy(const ClassCase& made, const Stage& stage) {
  double fastest = 1.0;
  for (const DeviceKind& kind : made.platform.spec.device_kinds) fastest = std::max(fastest, kind.speed.value_or(1.0));
  Seconds each;
  for (const LayerId id : stage.layers) each += made.graph.layers[id].forward + made.graph.layers[id].backward;
  const auto replicas = std::ssize(stage.replicas);
  const bool divides = stage.replication == Replication::Split;
  const std::int64_t all = divides ? made.graph.microbatch_size : made.plan.microbatches;
  const double part = static_cast<double>((all + replicas - 1) / replicas) / static_cast<double>(all);
  return each * (part * static_cast<double>(made.plan.microbatches)) / fastest;
}

/// Never, if replicas that divide weights wait for each other.
inline Seconds class_time(const ClassCase& made, const ScheduleProgram& program) {
  try {
    return evaluate_iteration(made.graph, made.platform, program);
  } catch (const Deadlock&) {
    return kNever;
  }
}

/// Calls `visit` with each plan of the class that its schedule takes, and its evaluated time. It returns the time from
/// which on plans do not matter: those that certainly take as long are left out.
inline void visit_plans_of_class(const ClassCase& made,
                                 const std::function<Seconds(const Plan& plan, Seconds time)>& visit) {
  Seconds enough = kNever;
  const auto visit_one = [&](const Plan& plan) {
    const Compilation compiled = compile_schedule(made.graph, made.platform, plan);
    if (const auto* program = std::get_if<ScheduleProgram>(&compiled)) enough = visit(plan, class_time(made, *program));
  };
  PlansOfClass(made, [&](const Stage& stage) { return least_busy(made, stage) >= enough; }, visit_one).visit_all();
}

/// `1f1b m6: 1x0 4/12`: of each stage its layers, whether replicas take turns or divide, and its devices.
inline std::string text_of(const Plan& plan) {
  std::string text = plan.schedule.name + " m" + std::to_string(plan.microbatches) + ":";
  for (const Stage& stage : plan.stages) {
    text += " " + std::to_string(stage.layers.size()) + (stage.replication == Replication::Split ? "/" : "x");
    for (const DeviceId device : devices_of(stage)) text += std::to_string(device.value());
  }
  return text;
}

}  // namespace stagecraft::testing
