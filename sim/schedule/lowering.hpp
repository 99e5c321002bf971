#pragma once

#include "sim/schedule/lower.hpp"
#include "sim/schedule/memory_ledger.hpp"
#include "sim/schedule/microbatch_board.hpp"
#include "sim/schedule/pipeline_times.hpp"
#include "sim/schedule/schedule_info.hpp"
#include "sim/schedule/workers.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace stagecraft {

/// The state behind `lower`: walks all device orders in rounds and appends what they say to the present window.
class Lowering {
 public:
  Lowering(const LayerGraph& graph, const Platform& platform, Plan plan, LowerOptions options);

  [[nodiscard]] std::optional<OpGraph> next();
  [[nodiscard]] const std::vector<DeviceUse>& use() const { return use_; }
  [[nodiscard]] bool one_pass() const { return one_pass_; }
  [[nodiscard]] Measurement measurement() const;

 private:
  /// Where a worker's result goes over one boundary: to one replica of an alternating stage, or to a given worker.
  struct Target {
    std::size_t boundary = 0;
    std::size_t first_worker = 0;
    std::int64_t alternating = 1;  ///< > 1: worker first + microbatch mod this
    Bytes bytes;
  };
  /// One replica of a stage.
  struct Worker {
    StageId stage;
    DeviceId device;
    PlaceId place;
    std::size_t order = 0;      ///< position in `devices_`
    std::uint16_t chunk = 0;    ///< position among the device's workers
    std::int64_t replicas = 1;  ///< alternating
    std::int64_t replica = 0;
    std::int64_t count = 0;  ///< microbatches per iteration, or of the run
    Share share;
    StageWork work;  ///< scaled to the device and the share
    Seconds update;
    std::uint32_t updates = 0;  ///< so far
    std::vector<Target> forward_targets;
    std::vector<Target> backward_targets;
    MicrobatchBoard board{0, 0};
    std::int64_t backwards = 0;  ///< ended, in this iteration or in the run
    std::int64_t due = 0;        ///< backwards among the iteration's actions so far
    OpId last_backward;
    std::vector<OpId> synchronised;  ///< its part of the last all-reduce
    std::int64_t synchronised_rounds = 0;
    std::map<std::int64_t, OpId> awaited;  ///< backwards that a forward is to wait for, by board index
    std::int64_t prefetch = -1;            ///< board index whose swap-in may start, after `prefetch_after`
    OpId prefetch_after;
  };
  struct DeviceState {
    DeviceId device;
    LaneId lane;
    Discipline discipline = Discipline::Strict;
    std::vector<Action> actions;
    std::size_t cursor = 0;
    std::vector<char> emitted;  ///< ready discipline: which actions are out
    std::vector<std::size_t> workers;
    OpId last;            ///< the last operation on the lane
    OpId barrier;         ///< none, or what the next operation waits for
    bool closed = false;  ///< there will be no further operation, as told to the engine
  };
  /// Replicas that hold the same layers, in ring order.
  struct Group {
    std::vector<std::size_t> workers;
    Bytes parameters;
    Seconds analytic;                                  ///< what an all-reduce takes on the analytic network
    std::size_t arrived = 0;                           ///< workers whose iteration's backwards have all been emitted
    std::map<std::int64_t, std::vector<OpId>> rounds;  ///< asynchronous: backwards of a round so far
  };
  struct TransferKey {
    std::size_t boundary = 0;
    std::uint32_t microbatch = 0;
    bool gradient = false;
    friend auto operator<=>(const TransferKey&, const TransferKey&) = default;
  };
  struct Delivery {
    Op op;
    std::vector<OpId> dependencies;
    std::vector<std::pair<std::size_t, std::int64_t>> receivers;  ///< worker and board index
    std::uint32_t pair = 0;                                       ///< of replicas: its lane, counted from the channel's
  };
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  /// Boundaries that carry one transfer at a time, all together.
  struct Channel {
    LaneId lane;              ///< none: transfers have their not-before times, no more
    std::uint32_t lanes = 1;  ///< from it on: one for each pair of replicas
    Discipline discipline = Discipline::Ready;
    std::vector<std::size_t> boundaries;  ///< as its order numbers them; none: nothing flows there
    std::vector<TransferKey> turns;       ///< strict: the order
    std::size_t cursor = 0;
    std::map<TransferKey, ChannelAction> listed;           ///< priorities and not-before times
    std::map<TransferKey, std::vector<Delivery>> waiting;  ///< strict: not yet their turn
    [[nodiscard]] bool has_turns() const { return !lane.is_none() && discipline == Discipline::Strict; }
  };
  /// How transfers get over a boundary.
  struct Passage {
    /// In `channels_`: of activations, of gradients.
    std::array<std::size_t, 2> channel{kNone, kNone};
    std::size_t flows = 1;                             ///< transfers for one microbatch
    Seconds seconds;                                   ///< analytic: of one transfer
    std::map<TransferKey, std::vector<OpId>> partial;  ///< analytic: results of some of the sending replicas
  };
  struct Posted {
    OpId send;
    OpId receive;
    std::vector<Delivery> deliveries;
  };

  // Set-up (lowering_setup.cpp).
  void make_workers();
  void connect_workers();
  void connect(std::size_t boundary, bool gradient);
  static void count_inputs(const Worker& sender, const std::vector<Target>& targets,
                           std::vector<std::uint32_t>& inputs);
  void check_connected() const;
  void make_groups();
  void make_channels(const std::vector<ChannelOrder>& orders);
  [[nodiscard]] std::vector<std::array<std::size_t, 2>> find_orders(
      const std::vector<ChannelOrder>& orders, std::vector<std::vector<std::size_t>>& boundaries_of) const;
  [[nodiscard]] std::size_t open_channel(const ChannelOrder* order, std::uint32_t lanes);
  [[nodiscard]] std::uint32_t pairs_over(const std::vector<std::size_t>& boundaries) const;
  [[nodiscard]] std::size_t flows_over(std::size_t boundary) const;
  void append_setup();

  // Windows and segments (lowering.cpp).
  [[nodiscard]] Schedule next_segment();
  void take_actions(const Schedule& schedule);
  void take_transfers(const std::vector<ChannelOrder>& orders);
  [[nodiscard]] bool run_round();
  [[nodiscard]] bool step(DeviceState& device);
  [[nodiscard]] bool has_actions_left() const;
  [[nodiscard]] bool is_over(const DeviceState& device) const;
  void close_lanes();
  [[nodiscard]] bool wants_segment() const;
  [[nodiscard]] bool end_iteration();
  [[noreturn]] void report_deadlock() const;
  [[nodiscard]] OpId oldest_needed() const;
  [[nodiscard]] std::size_t window_size() const;

  // Computations (lowering_compute.cpp).
  [[nodiscard]] bool emit(DeviceState& device, std::size_t position);
  [[nodiscard]] bool can_forward(Worker& worker, std::int64_t index) const;
  [[nodiscard]] bool can_backward(Worker& worker, std::int64_t index) const;
  [[nodiscard]] bool emit_forward(DeviceState& device, Worker& worker, const Action& action);
  [[nodiscard]] bool emit_backward(DeviceState& device, Worker& worker, const Action& action);
  [[nodiscard]] bool emit_backward_weight(DeviceState& device, Worker& worker, const Action& action);
  [[nodiscard]] bool emit_pair(DeviceState& device, const Action& first, const Action& second);
  [[nodiscard]] bool emit_post(DeviceState& device, Worker& worker, const Action& action);
  OpId append_on(DeviceState& device, Op op, const Action& action);
  [[nodiscard]] Op computation(const Worker& worker, OpKind kind, std::uint32_t microbatch) const;
  void take_forward_memory(const Worker& worker);
  [[nodiscard]] Bytes early_stash(const Worker& worker) const;
  void finish_forward(Worker& worker, std::uint32_t microbatch, std::int64_t index, OpId op);
  void finish_backward(DeviceState& device, Worker& worker, std::uint32_t microbatch, std::int64_t index, OpId op);
  [[nodiscard]] static Seconds piece_seconds(const Worker& worker, const BackwardPiece& piece, const Action& action);
  void depend_on_backward_inputs(const DeviceState& device, Worker& worker, std::int64_t index);
  OpId append_pieces(DeviceState& device, Worker& worker, const Action& action, std::int64_t index);
  [[nodiscard]] std::int64_t local(const Worker& worker, std::uint32_t microbatch) const;
  [[nodiscard]] std::int64_t board_index(const Worker& worker, std::uint32_t microbatch) const;
  [[nodiscard]] std::uint32_t label(std::uint32_t microbatch) const;
  [[nodiscard]] std::size_t worker_on(const DeviceState& device, StageId stage) const;

  // Transfers (lowering_transfer.cpp).
  void send(const Worker& from, std::uint32_t microbatch, OpId result, bool gradient);
  void send_to(const Worker& from, const Target& target, std::uint32_t microbatch, OpId result, bool gradient);
  void send_analytic(const Worker& from, const Target& target, std::uint32_t microbatch, OpId result, bool gradient);
  void deliver(TransferKey key, Delivery delivery);
  void append_in_turn(Channel& channel);
  void append_delivery(const Delivery& delivery, bool gradient);
  void arrive(std::size_t worker, std::int64_t index, OpId op, bool gradient);
  void meet_offers(DeviceState& device, Worker& worker, std::int64_t index, bool gradient);
  void post(TransferKey key, bool is_send, OpId op);
  void post_if_complete(Posted& posted, bool gradient);
  void swap_out(Worker& worker, std::uint32_t microbatch, std::int64_t index);
  void allow_prefetch(DeviceState& device, Worker& worker, std::size_t action);
  void prefetch(Worker& worker, std::uint32_t microbatch, std::int64_t index);

  // Synchronisation (lowering_sync.cpp).
  void note_backward(DeviceState& device, std::size_t number, std::uint32_t microbatch, OpId op);
  void reduce_iteration(Group& group);
  void note_round(Group& group, std::int64_t round, OpId op);
  void note_measured(std::uint32_t microbatch, OpId op);
  void all_reduce(Group& group, const std::vector<OpId>& after);
  void append_update(DeviceState& device, Worker& worker, const std::vector<OpId>& after);
  void append_barrier();

  const LayerGraph& layers_;
  const Platform& platform_;
  const Plan plan_;
  LowerOptions options_;
  const ScheduleInfo& schedule_;
  MeasuredPart measured_;

  std::vector<Boundary> boundaries_;  ///< over which transfers go; on the analytic network the cuts of the chain
  std::vector<Worker> workers_;
  std::vector<std::size_t> first_worker_;  ///< by stage
  std::vector<DeviceState> devices_;
  std::vector<Group> groups_;
  std::vector<std::size_t> group_of_;  ///< by stage
  std::vector<Channel> channels_;
  std::vector<std::size_t> channel_of_order_;  ///< by position among the schedule's channels; none: nothing flows there
  std::vector<Passage> passages_;              ///< by boundary; empty: nothing keeps transfers from leaving at once
  std::vector<DeviceUse> use_;
  bool one_pass_ = true;
  bool explicit_transfers_ = false;
  bool rendezvous_ = false;
  std::map<TransferKey, Posted> posted_;
  /// Rendezvous: results that wait for their receiver to ask, by (worker, board index, gradient).
  std::map<std::tuple<std::size_t, std::int64_t, bool>, std::vector<Delivery>> offers_;

  OpGraph window_;
  OpId next_first_{0};
  bool started_ = false;
  bool finished_ = false;
  std::int64_t segment_begin_ = 0;  ///< first microbatch of the next segment
  std::int64_t iteration_ = 0;
  std::map<std::uint32_t, std::vector<OpId>> measured_backwards_;
  std::size_t backwards_per_microbatch_ = 0;
};

}  // namespace stagecraft
