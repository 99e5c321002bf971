#include "sim/base/error.hpp"
#include "sim/schedule/lowering.hpp"
#include "sim/schedule/ranks.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace stagecraft {
namespace {

/// Work of one replica: its device's speed and its share of each microbatch.
StageWork scaled(StageWork work, double factor, const Share& share) {
  const double time = factor * static_cast<double>(share.end - share.begin) / static_cast<double>(share.of);
  work.forward = work.forward * time;
  for (BackwardPiece& piece : work.backward) {
    piece.recompute = piece.recompute * time;
    piece.backward = piece.backward * time;
    piece.backward_weight = piece.backward_weight * time;
    piece.rematerialised = share * piece.rematerialised;
    piece.workspace = share * piece.workspace;
  }
  work.stash = share * work.stash;
  work.swapped = share * work.swapped;
  work.workspace = share * work.workspace;
  return work;
}

/// Whether stages pass on what is not for them. Orders that are given may run branches of the graph side by side.
bool is_chain(const LowerOptions& options) { return options.network == NetworkModel::Analytic && !options.literal; }

}  // namespace

Lowering::Lowering(const LayerGraph& graph, const Platform& platform, Plan plan, LowerOptions options)
    : layers_(graph),
      platform_(platform),
      plan_(std::move(plan)),
      options_(std::move(options)),
      schedule_(*find_schedule(plan_.schedule.name)),
      boundaries_(is_chain(options_) ? chain_boundaries(graph, plan_) : boundaries(graph, plan_)) {
  if (!schedule_.synchronous) measured_ = measured_part(plan_);
  make_workers();
  connect_workers();
  if (options_.network == NetworkModel::Platform) check_connected();
  make_groups();
  if (options_.literal) {
    explicit_transfers_ = options_.literal->explicit_transfers;
    rendezvous_ = options_.literal->rendezvous;
  }
  const Schedule first = next_segment();
  make_channels(first.channels);
  take_actions(first);
}

void Lowering::make_workers() {
  std::map<DeviceId, std::size_t> order_of;
  for (const Stage& stage : plan_.stages) {
    for (DeviceId device : stage.devices) order_of[device] = 0;
  }
  for (auto& [device, order] : order_of) {
    order = devices_.size();
    DeviceState state;
    state.device = device;
    state.lane = LaneId(order);
    devices_.push_back(std::move(state));
    use_.push_back({device, {}});
  }
  for (std::size_t s = 0; s < plan_.stages.size(); ++s) {
    const Stage& stage = plan_.stages[s];
    const StageWork work = stage_work(layers_, stage);
    first_worker_.push_back(workers_.size());
    for (std::size_t r = 0; r < stage.devices.size(); ++r) {
      Worker worker;
      worker.stage = StageId(s);
      worker.device = stage.devices[r];
      worker.place = platform_.place(worker.device);
      worker.order = order_of[worker.device];
      worker.chunk = static_cast<std::uint16_t>(devices_[worker.order].workers.size());
      worker.replicas = alternating_replicas(stage);
      worker.replica = static_cast<std::int64_t>(r);
      worker.count = microbatches_of(stage, worker.replica, plan_.microbatches);
      worker.share = replica_share(stage, r);
      worker.work = scaled(work, require_time_factor(platform_, layers_.device_kind, worker.device), worker.share);
      if (worker.work.swapped > Bytes(0)) one_pass_ = false;
      worker.update = update_time(platform_.kind(worker.device), plan_.training, work.parameters);
      devices_[worker.order].workers.push_back(workers_.size());
      use_[worker.order].stages.push_back(worker.stage);
      workers_.push_back(std::move(worker));
    }
    backwards_per_microbatch_ += alternating_replicas(stage) > 1 ? 1 : stage.devices.size();
  }
}

/// Targets of each worker and the number of operations that bring its inputs.
void Lowering::connect_workers() {
  for (std::size_t boundary = 0; boundary < boundaries_.size(); ++boundary) {
    connect(boundary, false);
    connect(boundary, true);
  }
  std::vector<std::uint32_t> forward_inputs(workers_.size());
  std::vector<std::uint32_t> backward_inputs(workers_.size());
  if (options_.network == NetworkModel::Analytic) {  // one channel operation for each boundary, whoever sends
    for (const Boundary& boundary : boundaries_) {
      for (std::size_t w = 0; w < workers_.size(); ++w) {
        if (workers_[w].stage == boundary.to) ++forward_inputs[w];
        if (workers_[w].stage == boundary.from) ++backward_inputs[w];
      }
    }
  } else {
    for (const Worker& worker : workers_) {
      count_inputs(worker, worker.forward_targets, forward_inputs);
      count_inputs(worker, worker.backward_targets, backward_inputs);
    }
  }
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    workers_[w].board = MicrobatchBoard(forward_inputs[w], backward_inputs[w]);
  }
}

void Lowering::count_inputs(const Worker& sender, const std::vector<Target>& targets,
                            std::vector<std::uint32_t>& inputs) {
  if (sender.replicas > 1 && sender.replica > 0) return;  // one sender has each microbatch: count the first for all
  for (const Target& target : targets) {
    for (std::int64_t r = 0; r < target.alternating; ++r) ++inputs[target.first_worker + static_cast<std::size_t>(r)];
  }
}

void Lowering::connect(std::size_t boundary, bool gradient) {
  const StageId from = gradient ? boundaries_[boundary].to : boundaries_[boundary].from;
  const StageId to = gradient ? boundaries_[boundary].from : boundaries_[boundary].to;
  const Stage& target_stage = plan_.stages[to.value()];
  for (std::size_t r = 0; r < plan_.stages[from.value()].devices.size(); ++r) {
    Worker& worker = workers_[first_worker_[from.value()] + r];
    std::vector<Target>& targets = gradient ? worker.backward_targets : worker.forward_targets;
    const std::int64_t alternating = alternating_replicas(target_stage);
    if (alternating > 1) {
      targets.push_back({boundary, first_worker_[to.value()], alternating,
                         flow_share(worker.share, Share{}) * boundaries_[boundary].bytes});
      continue;
    }
    for (std::size_t t = 0; t < target_stage.devices.size(); ++t) {
      const Share share = flow_share(worker.share, replica_share(target_stage, t));
      if (share.end == share.begin) continue;
      targets.push_back({boundary, first_worker_[to.value()] + t, 1, share * boundaries_[boundary].bytes});
    }
  }
}

void Lowering::check_connected() const {
  Route route;
  for (const Worker& worker : workers_) {
    for (const Target& target : worker.forward_targets) {
      // Of two alternating stages only those replicas exchange anything that share a microbatch.
      const std::int64_t stride = std::gcd(worker.replicas, target.alternating);
      for (std::int64_t r = worker.replica % stride; r < target.alternating; r += stride) {
        const Worker& other = workers_[target.first_worker + static_cast<std::size_t>(r)];
        STAGECRAFT_CHECK(find_route(platform_, worker.place, other.place, route) &&
                             find_route(platform_, other.place, worker.place, route),
                         "stages of a sound plan that exchange tensors are connected");
      }
    }
  }
}

/// Stages with the same layers hold the same parameters: their replicas share one all-reduce.
void Lowering::make_groups() {
  std::map<std::vector<LayerId>, std::size_t> group_of_layers;
  for (std::size_t s = 0; s < plan_.stages.size(); ++s) {
    const auto [found, is_new] = group_of_layers.try_emplace(plan_.stages[s].layers, groups_.size());
    if (is_new) groups_.emplace_back();
    group_of_.push_back(found->second);
    Group& group = groups_[found->second];
    for (std::size_t r = 0; r < plan_.stages[s].devices.size(); ++r) {
      group.workers.push_back(first_worker_[s] + r);
      group.parameters = workers_[first_worker_[s]].work.parameters;
    }
  }
  if (options_.network != NetworkModel::Analytic) return;
  for (Group& group : groups_) {
    std::set<DeviceId> devices;
    for (std::size_t worker : group.workers) devices.insert(workers_[worker].device);
    const auto slowest = smallest_bandwidth_among(platform_, {devices.begin(), devices.end()});
    const auto replicas = static_cast<std::int64_t>(group.workers.size());
    if (slowest) group.analytic = ring_bytes(group.parameters, replicas) / *slowest;
  }
}

std::size_t Lowering::flows_over(std::size_t boundary) const {
  if (options_.network == NetworkModel::Analytic) return 1;
  std::size_t flows = 0;
  for (const Worker& worker : workers_) {
    if (worker.stage != boundaries_[boundary].from || (worker.replicas > 1 && worker.replica > 0)) continue;
    for (const Target& target : worker.forward_targets) {
      if (target.boundary != boundary) continue;
      const bool alternates = worker.replicas > 1 || target.alternating > 1;
      if (alternates || workers_[target.first_worker].device != worker.device) ++flows;
    }
  }
  return flows;
}

/// Numbers for the pairs of replicas that exchange parts of one microbatch: the sum of their own, which grows from pair
/// to pair.
std::uint32_t Lowering::pairs_over(const std::vector<std::size_t>& boundaries) const {
  if (options_.network == NetworkModel::Analytic) return 1;
  std::int64_t pairs = 1;
  const auto parts = [&](StageId stage) { return workers_[first_worker_[stage.value()]].share.of; };
  for (std::size_t boundary : boundaries) {
    if (boundary == kNone) continue;
    pairs = std::max(pairs, parts(boundaries_[boundary].from) + parts(boundaries_[boundary].to) - 1);
  }
  return static_cast<std::uint32_t>(pairs);
}

/// For each boundary and way the order that it is listed in, if any; notes which boundaries an order's numbers mean.
std::vector<std::array<std::size_t, 2>> Lowering::find_orders(
    const std::vector<ChannelOrder>& orders, std::vector<std::vector<std::size_t>>& boundaries_of) const {
  std::map<std::pair<StageId, StageId>, std::size_t> number_of;
  for (std::size_t i = 0; i < boundaries_.size(); ++i) number_of[{boundaries_[i].from, boundaries_[i].to}] = i;
  std::vector<std::array<std::size_t, 2>> order_of(boundaries_.size(), {kNone, kNone});
  boundaries_of.resize(orders.size());
  for (std::size_t i = 0; i < orders.size(); ++i) {
    for (const ChannelEnds& ends : orders[i].boundaries) {
      const auto found = number_of.find({ends.from, ends.to});
      boundaries_of[i].push_back(found == number_of.end() ? kNone : found->second);
      if (found == number_of.end()) continue;
      if (orders[i].direction != Direction::Backward) order_of[found->second][0] = i;
      if (orders[i].direction != Direction::Forward) order_of[found->second][1] = i;
    }
  }
  return order_of;
}

/// A further channel, as its order wants it; without one, first come, first served.
std::size_t Lowering::open_channel(const ChannelOrder* order, std::uint32_t lanes) {
  std::size_t lane = devices_.size();
  for (const Channel& other : channels_) lane += other.lane.is_none() ? 0 : other.lanes;
  Channel& channel = channels_.emplace_back();
  if (options_.network == NetworkModel::Analytic || order->exclusive) channel.lane = LaneId(lane);
  channel.lanes = lanes;
  if (order != nullptr) channel.discipline = order->discipline;
  if (!channel.lane.is_none() && channel.discipline == Discipline::Ready) one_pass_ = false;
  return channels_.size() - 1;
}

void Lowering::make_channels(const std::vector<ChannelOrder>& orders) {
  const bool analytic = options_.network == NetworkModel::Analytic;
  channel_of_order_.assign(orders.size(), kNone);
  if (!analytic && orders.empty()) return;
  std::vector<std::vector<std::size_t>> boundaries_of;
  const std::vector<std::array<std::size_t, 2>> order_of = find_orders(orders, boundaries_of);
  passages_.resize(boundaries_.size());
  for (std::size_t i = 0; i < boundaries_.size(); ++i) {
    Passage& passage = passages_[i];
    passage.flows = flows_over(i);
    if (analytic) passage.seconds = channel_time(platform_, plan_, boundaries_[i]);
    for (std::size_t way = 0; way < 2; ++way) {
      const std::size_t order = order_of[i][way];
      if (order == kNone) {
        if (!analytic) continue;
        const bool is_shared = way == 1 && order_of[i][0] == kNone;
        passage.channel[way] = is_shared ? passage.channel[0] : open_channel(nullptr, 1);
        continue;
      }
      if (channel_of_order_[order] == kNone) {
        channel_of_order_[order] = open_channel(&orders[order], pairs_over(boundaries_of[order]));
        channels_.back().boundaries = std::move(boundaries_of[order]);
      }
      passage.channel[way] = channel_of_order_[order];
    }
  }
}

/// Declares the lanes and takes what is kept from the start.
void Lowering::append_setup() {
  for (const DeviceState& device : devices_) window_.new_lanes.push_back({device.discipline, device.device});
  for (const Channel& channel : channels_) {
    const std::uint32_t lanes = channel.lane.is_none() ? 0 : channel.lanes;
    window_.new_lanes.insert(window_.new_lanes.end(), lanes, {channel.discipline, DeviceId::none()});
  }
  Op setup;
  setup.kind = OpKind::Setup;
  window_.append(setup);
  const std::vector<Boundary> kept = boundaries(layers_, plan_);
  for (const Worker& worker : workers_) {
    const Bytes crossing = boundary_bytes(plan_, kept, worker.stage, worker.device);
    const StaticMemory memory =
        static_memory(plan_.training, worker.work, weight_versions(plan_, worker.stage), crossing, worker.share);
    window_.take(worker.place, MemoryCategory::Weights, memory.weights);
    window_.take(worker.place, MemoryCategory::Gradients, memory.gradients);
    window_.take(worker.place, MemoryCategory::Optimizer, memory.optimizer);
    window_.take(worker.place, MemoryCategory::Buffers, memory.buffers);
  }
}

}  // namespace stagecraft
