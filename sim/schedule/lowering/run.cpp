#include "sim/schedule/lowering/run.hpp"

#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/model/carried_plan.hpp"
#include "sim/schedule/lowering/handover.hpp"
#include "sim/schedule/measured_part.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace stagecraft {

// A run is a row of plans, each of which ends before a microbatch. That microbatch is fixed while nothing of it has
// been lowered: by an answer of the re-planner (`ask`), by the model that begins there (`end_with_model`), or by the
// end of the run. `PlanRun::stop_at` then lets the plan drain. When it has nothing left to lower, `follow` hands over
// to the next one. Only `go_live` goes over to another plan while the one before goes on.
//
// **Invariants.** What a window contains has been handed out and is not changed. So answers concern only microbatches
// of which nothing has been lowered. At most one plan follows, and while it waits (`Draining`), nobody asks for
// another one. What `ask` gets begins before `model_end_`.
//
// A failure is the exception: `leaves` finds the plan with which to go on, and where (`Leaving`). That replaces a plan
// that waits. The window then holds nothing but the operation that gives up all that has been handed out and has
// not ended, and the next window begins with the other plan.

namespace {

/// Operations in a window of a run that keeps its plan, at least. Measured: with fewer nothing is gained, and larger
/// windows leave the processor's caches.
constexpr std::size_t kWindow = 1024;

Checkpoints checkpoints_of(const std::optional<Replanning>& replanning) {
  return replanning ? Checkpoints{replanning->checkpoint, replanning->save} : Checkpoints{};
}

/// `model 'step2' begins`; `microbatches of 16 samples begin`.
std::string what_begins(const LayerGraph& before, const LayerGraph& after) {
  const std::string size = "microbatches of " + counted(after.microbatch_size, "sample");
  if (after.name == before.name && after.microbatch_size != before.microbatch_size) return size + " begin";
  return "model " + quote(after.name) + (after.microbatch_size == before.microbatch_size ? "" : " with " + size) +
         " begins";
}

}  // namespace

Run::Run(const LayerGraph& graph, const Platform& platform, ScheduleProgram program, LowerOptions options)
    : models_(graph, options.models),
      platform_(platform),
      options_(std::move(options)),
      microbatches_(program.kept->plan.microbatches * (program.synchronous ? options_.iterations : 1)),
      synchronous_(program.synchronous),
      measurement_(measurement_of(program, options_.head, options_.report_window)),
      marks_(measurement_),
      current_(std::make_unique<PlanRun>(
          graph, platform,
          PlanTask{std::move(program), 0, options_.iterations, options_.literal, options_.channel_times,
                   options_.lowered_all_reduces, checkpoints_of(options_.replanning)},
          options_.network, writer_, marks_)),
      questions_(options_.replanning) {
  end_with_model();
}

std::optional<OpGraph> Run::next(const Observation& observation) {
  if (may_change()) questions_.observe(observation);
  if (before_ && questions_.seen().microbatches_injected > current_->state().first()) before_.reset();
  if (leaves()) return give_up();
  if (auto* over = std::get_if<Over>(&state_)) return last_window(*over);
  if (questions_.may_come() && is<Running>() && questions_.is_due()) ask();
  writer_.begin(oldest());
  writer_.reserve(std::min(window_size(), kWindow));
  if (!std::exchange(started_, true)) begin_with(*current_);
  if (auto* leaving = std::get_if<Leaving>(&state_)) {
    models_.train(leaving->from.model);
    follow(std::move(leaving->next), std::move(leaving->from));
  }
  while (!is<Over>() && writer_.size() < window_size()) {
    if (current_->advance()) continue;
    if (auto* draining = std::get_if<Draining>(&state_)) {
      follow(std::move(draining->next));
    } else if (model_end_ < microbatches_) {
      change_model();
    } else {
      state_ = Over{};
    }
  }
  if (!may_change()) current_->close_lanes();  // a later plan may still use them
  OpGraph window = writer_.finish();
  window.questions = questions_.take();
  if (is_any_down()) window.ask_again = questions_.lacks_from(used(), options_.replanning->leave);
  return window;
}

/// A window without operations tells when to ask again because of a device that is down.
std::optional<OpGraph> Run::last_window(Over& over) {
  if (!is_any_down()) return std::nullopt;
  const std::optional<Seconds> again = questions_.lacks_from(used(), options_.replanning->leave);
  if (again == over.promised) return std::nullopt;  // the engine has been told
  over.promised = again;
  writer_.begin(writer_.first_id());
  OpGraph window = writer_.finish();
  window.questions = questions_.take();
  window.ask_again = again;
  return window;
}

bool Run::waits_for_device() const {
  if (!is_any_down()) return false;
  const std::vector<DeviceId> devices = used();
  return std::ranges::any_of(questions_.seen().down,
                             [&](const DownObservation& down) { return std::ranges::count(devices, down.device) > 0; });
}

/// Asks the re-planner for another plan.
void Run::ask() {
  if (current_->live().is_active() || waits_for_device()) return;
  const bool may_go_live = goes_live() && current_->earliest_live() < model_end_;
  const std::int64_t earliest = may_go_live ? current_->earliest_live() : current_->earliest_stop();
  if (earliest >= model_end_) return;
  std::optional<PlanSwitch> next = questions_.ask({.graph = models_.graph(),
                                                   .plan = current_->shape().plan(),
                                                   .begin = current_->state().first(),
                                                   .earliest = earliest,
                                                   .microbatches = microbatches_,
                                                   .end = model_end_,
                                                   .whole = current_->whole(),
                                                   .may_go_live = may_go_live});
  if (!next || go_live(*next)) return;
  current_->stop_at(next->microbatch);
  state_ = Draining{*std::move(next)};
}

bool Run::goes_live() const {
  return !synchronous_ && options_.replanning && options_.replanning->migrating == Migrating::Live;
}

/// Goes over to the plan that follows without draining, if there is a way.
bool Run::go_live(PlanSwitch& next) {
  if (!goes_live() || next.drains) return false;
  if (next.microbatch < current_->earliest_live()) {
    questions_.explain(std::string("the pipeline drains, since ") +
                       (model_end_ < microbatches_ ? "another model begins soon" : "the run ends soon"));
    return false;
  }
  next.plan.microbatches = current_->shape().plan().microbatches;
  ScheduleProgram program = require_schedule(models_.graph(), platform_, next.plan);
  if (std::string why = current_->go_over_to(std::move(program), next.microbatch); !why.empty()) {
    questions_.explain("the pipeline drains, since " + why);
    return false;
  }
  const std::int64_t before = current_->state().first();
  const std::int64_t first = before + current_->live().first();
  const auto [begin, middle] = current_->live().delayed();
  questions_.note_live(first, {before + begin, before + middle, first + current_->program().steady_in_flight});
  questions_.begin_plan(first);
  settled_ = first + current_->whole() + current_->program().steady_in_flight;
  return true;
}

/// The current plan ends where the next model begins.
void Run::end_with_model() {
  model_end_ = microbatches_;
  const std::optional<std::int64_t> begin = models_.next_begin();
  if (!begin) return;
  model_end_ = std::min(microbatches_, current_->whole_from(*begin));
  if (model_end_ < microbatches_) current_->stop_at(model_end_);
}

/// Of several models that would begin with the same microbatch the last one does.
void Run::change_model() {
  const LayerGraph& before = models_.graph();
  models_.train(models_.at(model_end_));
  const Plan carried = carried_over(current_->shape().plan(), before, models_.graph());
  follow(questions_.change_model({.graph = models_.graph(),
                                  .plan = carried,
                                  .earliest = model_end_,
                                  .microbatches = microbatches_,
                                  .end = microbatches_},
                                 models_.present(), what_begins(before, models_.graph())));
}

/// `from`: where the state that is left after a failure allows it to go on.
void Run::follow(PlanSwitch next, const std::optional<Resumption>& from) {
  const std::int64_t left = microbatches_ - next.microbatch;
  if (!synchronous_) next.plan.microbatches = left;
  STAGECRAFT_CHECK(left % next.plan.microbatches == 0, "whole iterations are left for the plan that follows");
  PlanTask task{.program = require_schedule(models_.graph(), platform_, next.plan),
                .first = next.microbatch,
                .iterations = left / next.plan.microbatches,
                .literal = {},
                .checkpoints = checkpoints_of(options_.replanning)};
  STAGECRAFT_CHECK(task.program.synchronous == synchronous_, "plans of one run are all synchronous, or none is");
  auto after =
      std::make_unique<PlanRun>(models_.graph(), platform_, std::move(task), options_.network, writer_, marks_);
  const std::int64_t settled = settled_;
  hand_over_to(*after, next.microbatch, from);
  questions_.begin_plan(next.microbatch);
  const std::vector<DeviceId>& devices = after->shape().replicas().devices();
  for (DeviceId device : draining_) {
    if (!std::ranges::binary_search(devices, device)) writer_.leave(device);
  }
  before_.reset();
  const bool is_same_model = &current_->shape().graph() == &models_.graph();
  std::swap(current_, after);
  if (!from && is_same_model) before_ = Before{std::move(after), settled};
  state_ = Running{};
  end_with_model();
}

void Run::hand_over_to(PlanRun& after, std::int64_t first_microbatch, const std::optional<Resumption>& from) {
  draining_ = current_->shape().replicas().devices();
  settled_ = first_microbatch + after.whole();
  if (from) {
    go_on_without(*current_, after, *from, from->from_checkpoint ? options_.replanning->restart : restart_time());
    if (from->from_checkpoint) settled_ = first_microbatch;
    return;
  }
  current_->append_last_updates();
  hand_over(*current_, before_ ? before_->run.get() : nullptr, after, first_microbatch, restart_time());
}

Seconds Run::restart_time() const {
  const std::optional<Replanning>& replanning = options_.replanning;
  return replanning && replanning->migrating == Migrating::Restart ? replanning->restart : Seconds(0);
}

/// Whether devices of the plan are down for so long that the run goes on without them.
bool Run::leaves() {
  if (!is_any_down() || !started_ || is<Leaving>()) return false;
  const std::int64_t reached = done();
  if (reached >= microbatches_ || !questions_.lacks(used(), options_.replanning->leave)) return false;
  std::vector<DeviceId> lost;
  for (const DownObservation& down : questions_.seen().down) lost.push_back(down.device);
  const bool not_begun = has_not_begun(lost);
  PlanRun& run = not_begun ? *before_->run : *current_;
  auto found = resumption(run, std::move(lost), {reached, not_begun ? before_->settled : settled_, run.state().first()},
                          options_.replanning->checkpoint);
  if (const auto* why = std::get_if<std::string>(&found)) {
    questions_.note_waiting(*why);
    return false;
  }
  auto& resumption = std::get<Resumption>(found);
  // A checkpoint may be older than the present model, and the next one has not begun.
  resumption.model = std::min(models_.at(resumption.microbatch), models_.present());
  const LayerGraph& graph = models_.graph_of(resumption.model);
  const Plan& running = run.shape().plan();
  std::optional<PlanSwitch> plan = questions_.ask_without(
      {.graph = graph,
       .plan = resumption.model == models_.present() ? running : carried_over(running, models_.graph(), graph),
       .earliest = resumption.microbatch,
       .microbatches = microbatches_,
       .end = microbatches_,
       .cause = ReplanQuestion::Cause::Failure},
      resumption.model);
  if (!plan) return false;
  if (resumption.from_checkpoint) {
    questions_.explain("training goes on from the checkpoint before microbatch " +
                       std::to_string(resumption.microbatch));
  }
  if (not_begun) current_ = std::move(before_->run);
  before_.reset();
  state_ = Leaving{std::move(resumption), *std::move(plan)};
  return true;
}

/// Whether the plan before has not drained, and the other devices still have the state that it gives them: of a flushed
/// schedule because nothing moves before its iteration ends, of another one if the current plan leaves it where it is.
bool Run::has_not_begun(const std::vector<DeviceId>& lost) const {
  if (!before_ || done() >= current_->state().first()) return false;
  return synchronous_ || have_same_layers(before_->run->shape(), current_->shape(), lost);
}

/// A window that gives up what is under way.
OpGraph Run::give_up() {
  writer_.begin(writer_.first_id());
  abandon(*current_, std::get<Leaving>(state_).from, writer_);
  marks_.abandon();
  return writer_.finish();
}

/// The devices of the current plan, of the one before while that has work, and those that still give their state.
std::vector<DeviceId> Run::used() const {
  std::vector<DeviceId> devices = current_->shape().replicas().devices();
  if (done() < current_->state().first()) devices.insert(devices.end(), draining_.begin(), draining_.end());
  for (PlaceId giver : questions_.seen().giving) devices.push_back(platform_.device(giver));
  return devices;
}

/// The microbatch before which all work has ended, as far as it is known: while a device is down.
std::int64_t Run::done() const {
  const std::int64_t left = current_->first_left();
  const std::optional<std::uint32_t>& unfinished = questions_.seen().unfinished;
  return unfinished ? std::min(left, std::int64_t{*unfinished}) : left;
}

bool Run::is_one_pass() const { return !may_change() && current_->is_one_pass(); }

/// The least number of operations in a window. When the engine chooses among ready operations, a window has to hold all
/// that may compete. Otherwise windows are small enough to bound the memory of a long run, and large enough that every
/// device gets several operations. What a window holds can go to no other plan, so windows are smaller in a run that
/// may change its plan.
std::size_t Run::window_size() const {
  if (options_.window_operations > 0) return options_.window_operations;
  if (current_->needs_whole_iteration()) return static_cast<std::size_t>(-1);
  const std::size_t several = 4 * current_->shape().replicas().devices().size();
  return may_change() ? several : std::max(kWindow, several);
}

OpId Run::oldest() const {
  const OpId before = before_ ? before_->run->oldest() : OpId::none();
  return std::min({writer_.first_id(), current_->oldest(), before, marks_.oldest()});
}

}  // namespace stagecraft
