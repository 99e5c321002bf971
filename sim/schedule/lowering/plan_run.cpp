#include "sim/schedule/lowering/plan_run.hpp"

#include "sim/base/error.hpp"
#include "sim/schedule/keep_caps.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::int64_t kLeastSegment = 64;           ///< microbatches, at least
constexpr std::int64_t kLeastSegmentOfReplica = 16;  ///< microbatches that each of many replicas gets

/// Whether stages pass on tensors that are meant for a later stage. Orders that the user gives are exempt: they may run
/// branches of the graph side by side.
bool is_chain(const PlanTask& task, NetworkModel network) { return network == NetworkModel::Analytic && !task.literal; }

}  // namespace

PlanRun::PlanRun(const LayerGraph& graph, const Platform& platform, PlanTask task, NetworkModel network,
                 WindowWriter& writer, MeasuredMarks& marks)
    : task_(std::move(task)),
      shape_(graph, platform, task_.program.kept, task_.program.weight_versions, network, is_chain(task_, network)),
      end_(shape_.plan().microbatches),
      marks_(marks),
      first_(next_segment()),
      state_(shape_, writer, task_.first, first_),
      orders_(state_),
      delivery_(state_, first_, task_.channel_times),
      copies_(state_),
      swapping_(state_, orders_, copies_),
      versions_(state_, orders_, copies_, task_.program.weight_versions),
      divided_(state_, task_.lowered_all_reduces),
      synchronise_(state_, task_.program.synchronous, task_.lowered_all_reduces, versions_, divided_),
      saves_(state_, synchronise_, task_.checkpoints),
      live_(state_),
      compute_({state_, orders_, delivery_, swapping_, versions_, synchronise_, divided_, live_}) {
  take(std::exchange(first_, {}));
}

Schedule PlanRun::next_segment() {
  if (task_.literal) {
    segment_begin_ = end_;
    Schedule orders = *task_.literal;
    keep_caps(shape_.plan(), orders);
    return orders;
  }
  std::int64_t length = kLeastSegment;
  for (ReplicaId id : shape_.replicas().all()) {
    length = std::max(length, kLeastSegmentOfReplica * shape_.replicas()[id].turns);
  }
  const Segment segment{segment_begin_, std::min(segment_begin_ + length, shape_.plan().microbatches)};
  segment_begin_ = segment.end;
  return task_.program.orders(segment);
}

void PlanRun::take(const Schedule& schedule) {
  compute_.take(schedule);
  orders_.take(schedule);
  delivery_.take(schedule.channels);
}

bool PlanRun::advance() {
  if (has_segments() && orders_.runs_low()) take(next_segment());
  const auto lower_one = [&](std::size_t device, std::size_t position) { return lower(device, position); };
  if (orders_.run_round(lower_one)) return true;
  if (!has_segments() && !orders_.has_any_left()) return end_iteration();
  if (!has_segments()) orders_.report_deadlock(delivery_);
  take(next_segment());
  return true;
}

bool PlanRun::lower(std::size_t device, std::size_t position) {
  if (!compute_.lower(device, position)) return false;
  if (const auto& ended = compute_.ended()) {
    if (!task_.program.synchronous) {
      const std::size_t runners = shape_.replicas().all_runners(ended->microbatch);
      marks_.note(state_.writer, state_.number(ended->microbatch), ended->op, runners);
    }
    synchronise_.note_backward(*ended);
    if (!task_.program.synchronous) saves_.note_backward(*ended);
    live_.note_backward(ended->replica, ended->microbatch);
    if (!live_.is_active()) state_.keep_last_shape();
    if (versions_.is_active()) {
      versions_.prefetch(ended->replica, orders_.joined_end(device, position), ended->op);
    }
  }
  return true;
}

/// Appends the flush of a synchronous iteration. Returns whether another iteration follows.
bool PlanRun::end_iteration() {
  if (!task_.program.synchronous || state_.iteration() >= task_.iterations) return false;
  synchronise_.flush();
  saves_.end_iteration();
  synchronise_.end_iteration();
  swapping_.begin_next_iteration();
  compute_.begin_next_iteration();
  state_.begin_next_iteration();
  if (state_.iteration() >= task_.iterations) return false;
  segment_begin_ = 0;
  take(next_segment());
  return true;
}

// A synchronous plan may stop at the end of the present iteration, or at its begin if nothing of it has been lowered.
// An asynchronous one may stop at the first end of a round of turns after the last microbatch that has been lowered.
// Hence all replicas of a stage have had the same number of turns.
std::int64_t PlanRun::earliest_stop() const {
  if (task_.program.synchronous) return state_.number(0) + (orders_.first_untouched() > 0 ? end_ : 0);
  return whole_from(task_.first + orders_.first_untouched());
}

std::int64_t PlanRun::whole() const {
  return task_.program.synchronous ? end_ : whole_round(shape_.plan(), shape_.replicas());
}

std::int64_t PlanRun::whole_from(std::int64_t microbatch) const {
  return task_.first + (microbatch - task_.first + whole() - 1) / whole() * whole();
}

std::int64_t PlanRun::first_left() const {
  std::optional<std::int64_t> left = orders_.least_left();
  if (!left && has_segments()) left = segment_begin_;
  if (!left) left = task_.program.synchronous ? 0 : end_;
  return state_.number(*left);
}

void PlanRun::stop_at(std::int64_t microbatch) {
  const std::int64_t left = microbatch - task_.first;
  if (task_.program.synchronous) {
    task_.iterations = left / end_;
    if (state_.iteration() < task_.iterations) return;
    orders_.stop_at(0);  // nothing of the present iteration has been lowered
    segment_begin_ = end_;
    return;
  }
  end_ = std::min(end_, left);
  orders_.stop_at(end_);
  delivery_.stop_at(end_);
}

std::int64_t PlanRun::earliest_live() const {
  return whole_from(task_.first + orders_.first_untouched() + task_.program.steady_in_flight);
}

std::string PlanRun::go_over_to(ScheduleProgram next, std::int64_t microbatch) {
  if (versions_.is_active()) return "old weights are in host memory";
  auto found = live_plan(shape(), task_.program, next, microbatch - task_.first, end_);
  if (const auto* why = std::get_if<std::string>(&found)) return *why;
  auto& plan = std::get<LivePlan>(found);
  IndexVector<ReplicaId, std::int64_t> backwards;
  for (ReplicaId id : shape().replicas().all()) backwards.push_back(synchronise_.backwards(id));
  for (LiveShape& one : plan.shapes) {
    const std::int64_t first_pass = std::min(one.begin.forwards, one.begin.backwards);
    STAGECRAFT_CHECK(first_pass >= orders_.first_untouched(), "no pass that follows another shape has been lowered");
    swapping_.add_shape(*one.shape);
    state_.add_shape(std::move(one.shape), one.begin);
  }
  task_.program = std::move(next);
  live_.begin(plan.first, {std::move(plan.moves), std::move(backwards)});
  return "";
}

void PlanRun::append_last_updates() {
  if (task_.program.synchronous) return;
  for (ReplicaId id : shape().replicas().all()) synchronise_.step_before_backward(id);
}

/// A lane is closed when the device's last computation has been appended, and no later operation could start as soon as
/// this device is done, without waiting for another device too.
void PlanRun::close_lanes() {
  const bool is_last = !has_segments() && state_.iteration() + 1 >= task_.iterations;
  for (std::size_t device = 0; device < state_.lanes.size(); ++device) {
    if (state_.lanes.is_closed(device) || orders_.has_left(device)) continue;
    const auto replicas = shape_.replicas().on(state_.lanes.device(device));
    const auto is_settled = [&](ReplicaId id) { return synchronise_.is_settled(id, is_last); };
    if (std::ranges::all_of(replicas, is_settled)) state_.lanes.close(device);
  }
}

bool PlanRun::needs_whole_iteration() const {
  const bool gathers = shape_.plan().training.zero >= kMostDivided;  // ahead of passes, in the same window
  return (state_.lanes.any_ready() || gathers) && (has_segments() || orders_.has_any_left());
}

bool PlanRun::is_one_pass() const {
  return state_.connections == Discipline::Strict && !delivery_.has_ready_channels() && !delivery_.takes_legs() &&
         !swapping_.is_active() && !versions_.is_active();
}

OpId PlanRun::oldest() const {
  return std::min({state_.oldest(), delivery_.oldest(), swapping_.oldest(), versions_.oldest(), divided_.oldest(),
                   synchronise_.oldest(), live_.oldest(), compute_.oldest()});
}

std::vector<OpId> PlanRun::last_on(DeviceId device) const {
  std::vector<OpId> last;
  for (ReplicaId id : shape_.replicas().on(device)) {
    const std::vector<OpId> own = synchronise_.last_of(id);
    last.insert(last.end(), own.begin(), own.end());
  }
  return last;
}

}  // namespace stagecraft
