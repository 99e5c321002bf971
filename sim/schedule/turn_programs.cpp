#include "sim/schedule/turn_programs.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

namespace stagecraft {
namespace {

Seconds whole_time(const StageProgram& program) { return program.forward + program.backward_total(); }

}  // namespace

// The set of actions changes only where one begins or ends to cover microbatches.
StageTurns stage_turns(const Stage& stage) {
  const std::int64_t window = window_of(stage);
  std::set<std::int64_t> changes{0, window};
  for (const MemoryAction& action : stage.memory) {
    const Covered& covered = covered_by(action);
    if (!covered.all()) changes.insert({covered.from, covered.from + covered.first});
  }
  StageTurns turns;
  std::map<std::vector<bool>, std::size_t> known;  // the set, by which actions are in it
  for (auto change = changes.begin(); *change != window; ++change) {
    std::vector<bool> set;
    for (const MemoryAction& action : stage.memory) set.push_back(covered_by(action).has(*change));
    const auto [at, is_new] = known.try_emplace(std::move(set), turns.first.size());
    if (is_new) turns.first.push_back(*change);
    turns.set_of.resize(static_cast<std::size_t>(*std::next(change)), at->second);
  }
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

TurnPrograms with_exchanges(const TurnPrograms& programs,
                            const std::function<Seconds(const std::vector<Exchange>&)>& time_of) {
  std::vector<StageProgram> changed;
  for (const StageProgram& program : programs.different()) changed.push_back(with_exchanges(program, time_of));
  return {programs.sets(), std::move(changed)};
}

ReplicaTurns::ReplicaTurns(const LayerGraph& graph, const Platform& platform, const Stage& stage,
                           const StageBuckets& buckets) {
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
