#include "sim/model/check_plan.hpp"

#include "sim/base/counted.hpp"
#include "sim/model/attachment.hpp"
#include "sim/model/bandwidths.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/replicas.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <utility>

namespace stagecraft {
namespace {

using Rule = Violation::Rule;

bool has_sound_ring(const Stage& stage) {
  if (stage.ring.empty()) return true;
  const std::set<std::uint32_t> named(stage.ring.begin(), stage.ring.end());
  return stage.ring.size() == stage.replicas.size() && named.size() == stage.ring.size() &&
         *named.rbegin() < stage.replicas.size();
}

/// What is wrong with shares of so many owners; empty if nothing is.
std::string shares_problem(const std::vector<std::int64_t>& shares, std::size_t owners, const std::string& owner) {
  constexpr std::int64_t kMostTurns = 1 << 20;
  if (shares.empty()) return "";
  if (shares.size() != owners) {
    return counted(std::ssize(shares), "share") + " for " + counted(static_cast<std::int64_t>(owners), owner);
  }
  if (std::ranges::min(shares) < 1) return "a share less than 1";
  if (std::accumulate(shares.begin(), shares.end(), std::int64_t{0}) <= kMostTurns) return "";
  return "shares that add up to more than " + std::to_string(kMostTurns);
}

StageId id(std::size_t stage) { return StageId(stage); }
std::string called(std::size_t stage) { return "stage " + std::to_string(stage); }

class Judge {
 public:
  Judge(const LayerGraph& graph, const Platform& platform, const Plan& plan)
      : graph_(graph), platform_(platform), plan_(plan) {}

  std::vector<Violation> run() {
    check_numbers();
    check_coverage();
    for (std::size_t s = 0; s < plan_.stages.size(); ++s) {
      check_devices(s);
      check_memory(s);
    }
    for (const std::vector<Member>& ring : rings()) check_ring(ring);
    check_edges();
    return std::move(violations_);
  }

 private:
  using Member = std::pair<std::size_t, const Group*>;  ///< a replica: its stage and its devices

  void add(Rule rule, StageId stage, const std::string& message) { violations_.push_back({rule, stage, message}); }
  [[nodiscard]] const std::string& name(LayerId layer) const { return graph_.layers[layer].name; }
  [[nodiscard]] const std::string& name(DeviceId device) const { return platform_.devices[device].name; }

  void check_positive(std::int64_t value, const std::string& what, StageId stage) {
    if (value < 1) add(Rule::Numbers, stage, what + " is " + std::to_string(value) + ", less than 1");
  }

  void check_numbers() {
    check_positive(plan_.microbatches, "microbatches", StageId::none());
    check_positive(plan_.microbatch_size, "microbatch_size", StageId::none());
    const Training& training = plan_.training;
    if (training.gradient_copies < 0 || training.optimizer_copies < 0 || training.boundary_buffers < 0) {
      add(Rule::Numbers, StageId::none(), "a number of copies or buffers in training is negative");
    }
    if (training.zero < 0 || training.zero > kMostDivided) {
      add(Rule::Numbers, StageId::none(), "training.zero is not between 0 and 3");
    }
    const double release = training.input_gradient_release;
    if (std::isnan(release) || release < 0.0 || release > 1.0) {
      add(Rule::Numbers, StageId::none(), "training.input_gradient_release is not between 0 and 1");
    }
    for (std::size_t s = 0; s < plan_.stages.size(); ++s) {
      const Stage& stage = plan_.stages[s];
      if (stage.swap_backlog.value_or(0) < 0) add(Rule::Swap, id(s), called(s) + " has a negative swap_backlog");
      if (stage.weight_versions) check_positive(*stage.weight_versions, called(s) + ": weight_versions", id(s));
      if (stage.in_flight) check_positive(*stage.in_flight, called(s) + ": in_flight", id(s));
    }
  }

  void check_coverage() {
    if (plan_.stages.empty()) add(Rule::Coverage, StageId::none(), "the plan has no stages");
    std::set<std::uint32_t> pipelines;
    for (const Stage& stage : plan_.stages) pipelines.insert(stage.pipeline);
    if (!pipelines.empty() && *pipelines.rbegin() + 1 != pipelines.size()) {
      add(Rule::Numbers, StageId::none(), "pipelines are not numbered from 0 without gaps");
    }
    for (std::uint32_t pipeline : pipelines) check_coverage(pipeline);
    const std::string problem = shares_problem(plan_.pipeline_shares, pipelines.size(), "pipeline");
    if (!problem.empty()) add(Rule::Replication, StageId::none(), "the plan has " + problem);
  }

  void check_coverage(std::uint32_t pipeline) {
    IndexVector<LayerId, std::size_t> holder(graph_.layers.size(), plan_.stages.size());
    for (std::size_t s = 0; s < plan_.stages.size(); ++s) {
      if (plan_.stages[s].pipeline != pipeline) continue;
      if (plan_.stages[s].layers.empty()) add(Rule::Coverage, id(s), called(s) + " has no layers");
      for (LayerId layer : plan_.stages[s].layers) {
        if (holder[layer] != plan_.stages.size()) {
          add(Rule::Coverage, id(s),
              "layer '" + name(layer) + "' is in " + called(holder[layer]) + " and again in " + called(s));
        }
        holder[layer] = s;
      }
    }
    for (LayerId layer : indices(graph_.layers)) {
      if (holder[layer] == plan_.stages.size()) {
        add(Rule::Coverage, StageId::none(),
            "layer '" + name(layer) + "' is in no stage" +
                (pipeline > 0 ? " of pipeline " + std::to_string(pipeline) : ""));
      }
    }
  }

  /// Groups have the size that the plan states and devices of one kind, and share all of these with another or none.
  void check_group(std::size_t s, const Group& group) {
    const auto size = static_cast<std::size_t>(plan_.degrees.devices());
    if (group.devices.size() != size) {
      add(Rule::Devices, id(s),
          called(s) + " has a replica of " + counted(std::ssize(group.devices), "device") + ", not of " +
              (size == 1 ? "one" : std::to_string(size)));
      return;
    }
    for (const DeviceId device : group.devices) {
      const auto [known, _] = group_of_.try_emplace(device, &group);
      if (*known->second != group) {
        add(Rule::Devices, id(s), called(s) + " has " + name(device) + " in another group than an earlier stage");
      }
      if (platform_.devices[device].kind == platform_.devices[group.lead()].kind) continue;
      add(Rule::Devices, id(s),
          called(s) + " has a group of different kinds of device: " + name(group.lead()) + " and " + name(device));
    }
    // A tensor group exchanges in a ring; context and expert groups cross it.
    const std::size_t farthest = crosses_ring(plan_.degrees) ? size : std::min<std::size_t>(2, size);
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t apart = 1; apart < farthest; ++apart) {
        check_connection(group.devices[i], group.devices[(i + apart) % size], PairUse::Collective, id(s),
                         "the group of " + called(s) + " goes from");
      }
    }
  }

  void check_devices(std::size_t s) {
    const Stage& stage = plan_.stages[s];
    if (stage.replicas.empty()) add(Rule::Devices, id(s), called(s) + " has no devices");
    std::set<DeviceId> seen;
    for (DeviceId device : devices_of(stage)) {
      if (!seen.insert(device).second) add(Rule::Devices, id(s), called(s) + " names " + name(device) + " twice");
    }
    for (const Group& group : stage.replicas) check_group(s, group);
    if (!has_sound_ring(stage)) {
      add(Rule::Devices, id(s), called(s) + ": the ring of the all-reduce does not name each replica once");
    }
    check_shares(s);
  }

  void check_shares(std::size_t s) {
    const Stage& stage = plan_.stages[s];
    const std::string problem = shares_problem(stage.shares, stage.replicas.size(), "replica");
    if (!problem.empty()) add(Rule::Replication, id(s), called(s) + " has " + problem);
    if (!problem.empty() || plan_.microbatch_size >= least_samples(stage)) return;
    const std::string parts =
        stage.shares.empty() ? "" : ", for whose shares it takes " + counted(least_samples(stage), "sample");
    add(Rule::Replication, id(s),
        called(s) + " divides microbatches of " + counted(plan_.microbatch_size, "sample") + " over " +
            std::to_string(stage.replicas.size()) + " replicas" + parts);
  }

  void check_memory(std::size_t s) {
    const Stage& stage = plan_.stages[s];
    std::set<LayerId> recomputed;
    for (const Recompute& segment : actions_of<Recompute>(stage)) check_recompute(s, segment, recomputed);
    std::set<LayerId> swapped;
    for (const Swap& swap : actions_of<Swap>(stage)) check_swap(s, swap, recomputed, swapped);
    check_covered(s);
    if (std::ranges::any_of(stage.memory, swaps)) check_hosts(s, " swaps on ");
    if (stage.swap_weight_versions) check_hosts(s, " swaps weight versions on ");
  }

  void check_covered(std::size_t s) {
    std::optional<std::int64_t> of;
    for (const MemoryAction& action : plan_.stages[s].memory) {
      const Covered& covered = covered_by(action);
      if (covered.all()) continue;
      const Rule rule = std::holds_alternative<Swap>(action) ? Rule::Swap : Rule::Recompute;
      if (covered.first < 1 || covered.from < 0 || covered.from + covered.first > covered.of) {
        const std::string behind = covered.from == 0 ? "" : " behind " + std::to_string(covered.from);
        add(rule, id(s),
            called(s) + ": an action covers " + std::to_string(covered.first) + behind + " of " +
                counted(covered.of, "microbatch"));
      } else if (of && covered.of != *of) {
        add(rule, id(s),
            called(s) + " has actions for some of " + std::to_string(*of) + " and of " +
                counted(covered.of, "microbatch") + "; all must count the same");
      }
      of = covered.of;
    }
  }

  void check_hosts(std::size_t s, const std::string& what) {
    for (DeviceId device : devices_of(plan_.stages[s])) {
      if (!platform_.devices[device].host.is_none()) continue;
      add(Rule::Swap, id(s), called(s) + what + name(device) + ", which has no host");
    }
  }

  void check_recompute(std::size_t s, const Recompute& segment, std::set<LayerId>& seen) {
    const Stage& stage = plan_.stages[s];
    const std::vector<LayerId>& layers = segment.layers;
    if (layers.empty()) {
      add(Rule::Recompute, id(s), called(s) + " has an empty recompute segment");
      return;
    }
    for (LayerId layer : layers) {
      if (!seen.insert(layer).second) {
        add(Rule::Recompute, id(s), called(s) + " recomputes layer '" + name(layer) + "' twice");
      }
    }
    const auto first = std::ranges::find(stage.layers, layers.front());
    const auto left = static_cast<std::size_t>(stage.layers.end() - first);
    if (left < layers.size() || !std::equal(layers.begin(), layers.end(), first)) {
      add(Rule::Recompute, id(s),
          called(s) + ": the recompute segment from '" + name(layers.front()) + "' to '" + name(layers.back()) +
              "' is not a run of consecutive layers of the stage");
    }
  }

  void check_swap(std::size_t s, const Swap& swap, const std::set<LayerId>& recomputed, std::set<LayerId>& seen) {
    const Stage& stage = plan_.stages[s];
    if (swap.layers.empty()) add(Rule::Swap, id(s), called(s) + " has a swap without layers");
    for (LayerId layer : swap.layers) {
      if (recomputed.contains(layer)) {
        add(Rule::Swap, id(s),
            called(s) + " both recomputes and swaps layer '" + name(layer) +
                "'; 'checkpoint: host' of a segment swaps what it keeps");
      }
      if (!seen.insert(layer).second) {
        add(Rule::Swap, id(s), called(s) + " swaps layer '" + name(layer) + "' twice");
      } else if (std::ranges::find(stage.layers, layer) == stage.layers.end()) {
        add(Rule::Swap, id(s), called(s) + " swaps layer '" + name(layer) + "', which it does not hold");
      }
    }
  }

  void check_connection(DeviceId from, DeviceId to, PairUse use, StageId stage, const std::string& what) {
    if (pair_cost(platform_, from, to, use, route_)) return;
    add(Rule::Connection, stage, what + " " + name(from) + " to " + name(to) + ", which are not connected");
  }

  /// Each device sends to its counterpart.
  void check_counterparts(std::span<const DeviceId> from, std::span<const DeviceId> to, PairUse use, StageId stage,
                          const std::string& what) {
    for (std::size_t i = 0; i < std::min(from.size(), to.size()); ++i) {
      check_connection(from[i], to[i], use, stage, what);
    }
  }

  /// One ring for all layers that the same stages hold, one stage of each pipeline: it joins all replicas of these. The
  /// same for tied parameters.
  [[nodiscard]] std::vector<std::vector<Member>> rings() const {
    IndexVector<LayerId, std::vector<std::size_t>> holders(graph_.layers.size());
    for (std::size_t s = 0; s < plan_.stages.size(); ++s) {
      for (LayerId layer : plan_.stages[s].layers) holders[layer].push_back(s);
    }
    std::set<std::vector<std::size_t>> held_together;
    for (const std::vector<std::size_t>& stages : holders) held_together.insert(stages);
    for (const TiedParameters& tied : graph_.tied) {
      std::set<std::size_t> stages;
      for (LayerId layer : tied.layers) stages.insert(holders[layer].begin(), holders[layer].end());
      held_together.emplace(stages.begin(), stages.end());
    }
    std::vector<std::vector<Member>> result;
    for (const std::vector<std::size_t>& stages : held_together) {
      std::vector<Member>& ring = result.emplace_back();
      std::set<DeviceId> leads;
      for (std::size_t s : stages) add_members(s, leads, ring);
    }
    return result;
  }

  /// Adds the stage's replicas that are not on one of `devices`, with their own.
  void add_members(std::size_t s, std::set<DeviceId>& leads, std::vector<Member>& ring) const {
    const Stage& stage = plan_.stages[s];
    const bool by_turns = stage.ring.empty() || !has_sound_ring(stage);
    for (std::size_t i = 0; i < stage.replicas.size(); ++i) {
      const Group& group = stage.replicas[by_turns ? i : stage.ring[i]];
      if (leads.insert(group.lead()).second) ring.emplace_back(s, &group);
    }
  }

  void check_ring(const std::vector<Member>& ring) {
    for (std::size_t i = 0; i < ring.size(); ++i) {
      const auto& [stage, group] = ring[i];
      const auto& [next_stage, next] = ring[(i + 1) % ring.size()];
      if (group == next) continue;
      const std::string stages = called(stage) + (stage == next_stage ? "" : " and " + called(next_stage));
      // The last of a group's devices with the same part of the weights sends to the first of the next group's.
      const std::size_t parts = std::min(static_cast<std::size_t>(plan_.degrees.tensor), group->devices.size());
      check_counterparts(std::span(group->devices).last(parts), next->devices, PairUse::Collective, id(stage),
                         "the all-reduce of " + stages + " goes from");
    }
  }

  void check_edges() {
    std::set<std::pair<std::size_t, std::size_t>> exchanging;
    std::set<std::uint32_t> pipelines;
    for (const Stage& stage : plan_.stages) pipelines.insert(stage.pipeline);
    for (std::uint32_t pipeline : pipelines) {
      IndexVector<LayerId, std::size_t> holder(graph_.layers.size(), plan_.stages.size());
      for (std::size_t s = 0; s < plan_.stages.size(); ++s) {
        if (plan_.stages[s].pipeline != pipeline) continue;
        for (LayerId layer : plan_.stages[s].layers) holder[layer] = s;
      }
      for (const LayerEdge& edge : graph_.edges) {
        const std::size_t from = holder[edge.from];
        const std::size_t to = holder[edge.to];
        if (from == to || from == plan_.stages.size() || to == plan_.stages.size()) continue;
        if (from > to) {
          add(Rule::Order, id(from),
              "layer '" + name(edge.from) + "' of " + called(from) + " feeds '" + name(edge.to) + "' of the earlier " +
                  called(to));
        } else {
          exchanging.emplace(from, to);
        }
      }
    }
    for (const auto& [from, to] : exchanging) check_exchange(from, to);
  }

  /// Whether every replica of `a` is connected with every one of `b`. False where it takes looking at each pair to
  /// know.
  [[nodiscard]] bool are_all_connected(const Stage& a, const Stage& b) const {
    const auto alike = smallest_bandwidth_by_attachment(platform_, devices_of(a), devices_of(b), PairUse::Boundary);
    return alike && !alike->apart;
  }

  /// Checks the replicas that exchange tensors: all pairs, but between two stages whose replicas alternate in equal
  /// shares only the pairs that share a microbatch.
  void check_exchange(std::size_t from, std::size_t to) {
    const Stage& a = plan_.stages[from];
    const Stage& b = plan_.stages[to];
    const bool alternate = a.replication == Replication::RoundRobin && b.replication == Replication::RoundRobin;
    const bool in_order = alternate && a.shares.empty() && b.shares.empty();
    const std::size_t stride = in_order ? std::gcd(a.replicas.size(), b.replicas.size()) : 1;
    if (stride < b.replicas.size() && are_all_connected(a, b)) return;
    for (std::size_t i = 0; i < a.replicas.size(); ++i) {
      for (std::size_t j = i % std::max<std::size_t>(stride, 1); j < b.replicas.size(); j += stride) {
        const std::string what = "the boundary of " + called(from) + " and " + called(to) + " goes from";
        check_counterparts(a.replicas[i].devices, b.replicas[j].devices, PairUse::Boundary, id(from), what);
        check_counterparts(b.replicas[j].devices, a.replicas[i].devices, PairUse::Boundary, id(from), what);
      }
    }
  }

  const LayerGraph& graph_;
  const Platform& platform_;
  const Plan& plan_;
  Route route_;
  std::map<DeviceId, const Group*> group_of_;
  std::vector<Violation> violations_;
};

}  // namespace

const char* to_string(Violation::Rule rule) {
  switch (rule) {
    case Rule::Numbers: return "numbers";
    case Rule::Coverage: return "coverage";
    case Rule::Devices: return "devices";
    case Rule::Order: return "order";
    case Rule::Recompute: return "recompute";
    case Rule::Swap: return "swap";
    case Rule::Replication: return "replication";
    case Rule::Connection: return "connection";
  }
  return "?";
}

std::vector<Violation> check_plan(const LayerGraph& graph, const Platform& platform, const Plan& plan) {
  return Judge(graph, platform, plan).run();
}

}  // namespace stagecraft
