#include "sim/schedule/lowering/questions.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/model/timeline.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {
namespace {

template <class Action>
std::int64_t layers_with(const Stage& stage) {
  std::int64_t layers = 0;
  for (const Action& action : actions_of<Action>(stage)) layers += static_cast<std::int64_t>(action.layers.size());
  return layers;
}

std::vector<FollowingStage> stages_of(const Plan& plan) {
  std::vector<FollowingStage> stages;
  for (const Stage& stage : plan.stages) {
    stages.push_back({stage.layers, devices_of(stage), layers_with<Recompute>(stage), layers_with<Swap>(stage)});
  }
  return stages;
}

void require_sound(const PlanSwitch& change, const RunPosition& position) {
  STAGECRAFT_CHECK(change.microbatch >= position.earliest && change.microbatch < position.end,
                   "a plan follows from a microbatch that is still to come");
}

}  // namespace

Questions::Questions(const std::optional<Replanning>& replanning) {
  if (!replanning) return;
  replanner_ = replanning->start();
  window_ = replanning->window;
  next_ = window_;
}

ReplanQuestion::Cause Questions::cause() const {
  if (seen_.leaving != known_leaving_) return ReplanQuestion::Cause::Departure;
  if (has_recovered()) return ReplanQuestion::Cause::Recovery;
  if (ends_window()) return ReplanQuestion::Cause::Window;
  return seen_.links != known_links_ ? ReplanQuestion::Cause::Link : ReplanQuestion::Cause::Memory;
}

std::optional<PlanSwitch> Questions::ask(RunPosition position) {
  const bool is_window = ends_window();
  position.cause = cause();
  ReplanAnswer answer = replanner_(seen_, position);
  if (answer.change) require_sound(*answer.change, position);
  note(position.cause, answer);
  known_links_ = seen_.links;
  known_memories_ = seen_.memories;
  known_leaving_ = seen_.leaving;
  std::erase_if(left_, [&](DeviceId device) { return !is_down(device); });
  if (is_window) begin_plan(seen_.microbatches_injected);
  return std::move(answer.change);
}

bool Questions::is_down(DeviceId device) const {
  return std::ranges::count(seen_.down, device, &DownObservation::device) > 0;
}

bool Questions::has_recovered() const {
  return !std::ranges::all_of(left_, [&](DeviceId device) { return is_down(device); });
}

bool Questions::lacks(const std::vector<DeviceId>& used, Seconds patience) const {
  const std::optional<Seconds> from = lacks_from(used, patience);
  return from && *from <= seen_.now + date_noise(seen_.now);
}

std::optional<Seconds> Questions::lacks_from(const std::vector<DeviceId>& used, Seconds patience) const {
  if (seen_.down == known_down_) return std::nullopt;
  std::optional<Seconds> from;
  for (const DownObservation& down : seen_.down) {
    if (std::ranges::count(used, down.device) == 0) continue;
    from = std::min(from.value_or(down.since + patience), down.since + patience);
  }
  return from;
}

std::optional<PlanSwitch> Questions::ask_without(const RunPosition& position, std::size_t models) {
  ReplanAnswer answer = replanner_(seen_, position);
  if (answer.change) model_ = static_cast<std::uint32_t>(models);
  if (answer.change) STAGECRAFT_CHECK(answer.change->microbatch == position.earliest, "the plan begins at once");
  note(position.cause, answer);
  known_down_ = seen_.down;
  known_leaving_ = seen_.leaving;
  if (!answer.change) return std::nullopt;
  const std::int64_t entered = seen_.microbatches_injected;
  asked_.back().redone = static_cast<std::uint32_t>(std::max<std::int64_t>(entered - position.earliest, 0));
  left_.clear();
  for (const DownObservation& down : seen_.down) left_.push_back(down.device);
  return std::move(answer.change);
}

void Questions::note_waiting(const std::string& why) {
  note(ReplanQuestion::Cause::Failure, {.reason = why});
  known_down_ = seen_.down;
}

void Questions::explain(const std::string& why) {
  std::string& reason = asked_.back().reason;
  reason += (reason.empty() ? "" : "; ") + why;
}

void Questions::note_live(std::int64_t first, const std::array<std::int64_t, 3>& stall) {
  ReplanQuestion& question = asked_.back();
  question.live = true;
  question.first = static_cast<std::uint32_t>(first);
  question.stall_begin = static_cast<std::uint32_t>(stall[0]);
  question.stall_middle = static_cast<std::uint32_t>(stall[1]);
  question.stall_end = static_cast<std::uint32_t>(stall[2]);
}

PlanSwitch Questions::change_model(RunPosition position, std::size_t model, const std::string& what) {
  position.cause = ReplanQuestion::Cause::Model;
  model_ = static_cast<std::uint32_t>(model);
  ReplanAnswer answer;
  if (replanner_) answer = replanner_(seen_, position);
  answer.reason = what + (answer.reason.empty() ? "" : "; ") + answer.reason;
  if (!answer.change) answer.change = PlanSwitch{position.plan, position.earliest};
  STAGECRAFT_CHECK(answer.change->microbatch == position.earliest, "the plan of another model begins with it");
  note(position.cause, answer);
  known_links_ = seen_.links;
  known_memories_ = seen_.memories;
  known_leaving_ = seen_.leaving;
  return *std::move(answer.change);
}

void Questions::note(ReplanQuestion::Cause cause, const ReplanAnswer& answer) {
  ReplanQuestion question{.cause = cause,
                          .microbatch = seen_.microbatches_injected,
                          .at = seen_.now,
                          .keeping = answer.keeping,
                          .changing = answer.changing,
                          .stall = answer.stall,
                          .reason = answer.reason,
                          .model = model_};
  if (answer.change) {
    question.first = static_cast<std::uint32_t>(answer.change->microbatch);
    question.stall_begin = question.stall_middle = *question.first;
    question.stall_end = *question.first + 1;
    question.stages = stages_of(answer.change->plan);
    question.microbatch_size = samples_of_microbatch(answer.change->plan);
  }
  asked_.push_back(std::move(question));
}

void Questions::begin_plan(std::int64_t microbatch) {
  next_ = microbatch + window_;
  seen_.stages = {};
  seen_.devices = {};
}

std::vector<ReplanQuestion> Questions::take() { return std::exchange(asked_, {}); }

}  // namespace stagecraft
