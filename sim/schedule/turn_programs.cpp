#include "sim/schedule/turn_programs.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {
namespace {

Seconds whole_time(const StageProgram& program) { return program.forward + program.backward_total(); }

}  // namespace

// An action covers the first microbatches of a window, so the sets become smaller along it: a new one begins where an
// action covers no more.
StageTurns stage_turns(const Stage& stage) {
  std::vector<std::int64_t> first{0};
  for (const MemoryAction& action : stage.memory) {
    if (!covered_by(action).all()) first.push_back(covered_by(action).first);
  }
  std::ranges::sort(first);
  const auto doubles = std::ranges::unique(first);
  first.erase(doubles.begin(), doubles.end());
  StageTurns turns;
  for (std::int64_t position = 0; position < window_of(stage); ++position) {
    const auto behind = std::ranges::upper_bound(first, position);
    turns.set_of.push_back(static_cast<std::size_t>(behind - first.begin()) - 1);
  }
  turns.first = std::move(first);
  return turns;
}

Stage stage_at(const Stage& stage, std::int64_t local) {
  Stage at = stage;
  std::erase_if(at.memory, [&](const MemoryAction& action) { return !covered_by(action).has(local); });
  return at;
}

TurnPrograms::TurnPrograms(std::vector<std::size_t> set_of, std::vector<StageProgram> programs)
    : set_of_(std::move(set_of)), programs_(std::move(programs)) {}

Seconds TurnPrograms::mean_backward() const {
  if (programs_.size() == 1) return programs_.front().backward_total();
  Seconds sum;
  for (const std::size_t set : set_of_) sum += programs_[set].backward_total();
  return sum / static_cast<double>(set_of_.size());
}

Seconds TurnPrograms::time(std::int64_t microbatches) const {
  if (programs_.size() == 1) return whole_time(programs_.front()) * static_cast<double>(microbatches);
  const auto window = static_cast<std::int64_t>(set_of_.size());
  Seconds whole;
  Seconds rest;
  for (std::int64_t position = 0; position < window; ++position) {
    whole += whole_time(of(position));
    if (position < microbatches % window) rest += whole_time(of(position));
  }
  const std::int64_t windows = microbatches / window;
  return whole * static_cast<double>(windows) + rest;
}

// Successive microbatches are some windows and a rest, whose sum is sought with each position as its first one.
Bytes TurnPrograms::stashes(std::int64_t in_flight) const {
  if (programs_.size() == 1) return programs_.front().stash() * in_flight;
  const auto window = static_cast<std::int64_t>(set_of_.size());
  const std::int64_t rest = in_flight % window;
  Bytes whole;
  Bytes sum;
  for (std::int64_t position = 0; position < window; ++position) {
    whole += of(position).stash();
    if (position < rest) sum += of(position).stash();
  }
  Bytes most = sum;
  for (std::int64_t position = 0; position < window; ++position) {
    sum += of(position + rest).stash() - of(position).stash();
    most = std::max(most, sum);
  }
  return whole * (in_flight / window) + most;
}

Bytes TurnPrograms::workspace() const {
  Bytes most;
  for (const StageProgram& program : programs_) {
    most = std::max({most, program.workspace, program.backward_workspace()});
  }
  return most;
}

ReplicaTurns::ReplicaTurns(const LayerGraph& graph, const Platform& platform, const Stage& stage,
                           const std::vector<GradientBucket>& buckets) {
  StageTurns turns = stage_turns(stage);
  for (const std::int64_t local : turns.first) stages_.push_back(stage_at(stage, local));
  for (const Stage& at : stages_) programs_.emplace_back(graph, platform, at, buckets);
  set_of_ = std::move(turns.set_of);
}

TurnPrograms ReplicaTurns::of(DeviceId device, const Share& share) {
  std::vector<StageProgram> programs;
  for (ReplicaPrograms& own : programs_) programs.push_back(own.of(device, share));
  return {set_of_, std::move(programs)};
}

TurnPrograms ReplicaTurns::memory_of(DeviceId device, const Share& share) {
  std::vector<StageProgram> programs;
  for (ReplicaPrograms& own : programs_) programs.push_back(own.memory_of(device, share));
  return {set_of_, std::move(programs)};
}

}  // namespace stagecraft
