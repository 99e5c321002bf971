#include "experiments/view/configuration.hpp"

#include "sim/model/plan.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>

namespace stagecraft {
namespace {

const char* const kV = " (V)";
const char* const kWaves = " waves)";

/// Of the stages of one pipeline: `9 + 4 x 2`, where stages in a row have as many.
std::string stages_text(const std::vector<std::size_t>& replicas) {
  constexpr std::size_t kWidest = 24;
  std::string text;
  for (auto first = replicas.begin(); first != replicas.end();) {
    const auto end = std::find_if(first, replicas.end(), [&](std::size_t count) { return count != *first; });
    text += text.empty() ? "" : " + ";
    if (text.size() > kWidest) return text + "...";
    text += (end - first > 1 ? std::to_string(end - first) + " x " : "") + std::to_string(*first);
    first = end;
  }
  return text;
}

/// The number of stages before the first one that shares a device with an earlier one.
std::size_t apart(const std::vector<Stage>& stages) {
  std::set<DeviceId> devices;
  std::size_t depth = 0;
  for (; depth < stages.size(); ++depth) {
    const std::vector<DeviceId> own = devices_of(stages[depth]);
    if (std::ranges::any_of(own, [&](DeviceId device) { return devices.contains(device); })) break;
    devices.insert(own.begin(), own.end());
  }
  return depth;
}

/// How many times the stages go down the devices and back up again; 0 if they do not.
std::size_t waves_of(const std::vector<Stage>& stages) {
  const std::size_t depth = apart(stages);
  if (depth < 2 || stages.size() % (2 * depth) != 0) return 0;
  for (std::size_t s = depth; s < stages.size(); ++s) {
    const std::size_t turn = s % (2 * depth);
    if (stages[s].replicas != stages[turn < depth ? turn : 2 * depth - 1 - turn].replicas) return 0;
  }
  return stages.size() / (2 * depth);
}

/// The number of stages after which their devices repeat; all of them if they never do, or not regularly.
std::size_t regular_depth(const std::vector<Stage>& stages) {
  const std::size_t depth = apart(stages);
  if (depth == 0 || stages.size() % depth != 0) return stages.size();
  for (std::size_t s = depth; s < stages.size(); ++s) {
    if (stages[s].replicas != stages[s % depth].replicas) return stages.size();
  }
  return depth;
}

bool any_has(const std::vector<std::string>& texts, const char* part) {
  return std::ranges::any_of(texts, [&](const std::string& text) { return text.find(part) != std::string::npos; });
}

}  // namespace

std::string configuration_text(const Plan& plan) {
  std::map<std::uint32_t, std::vector<std::size_t>> pipelines;
  std::vector<std::size_t> all;
  for (const Stage& stage : plan.stages) {
    pipelines[stage.pipeline].push_back(stage.replicas.size());
    all.push_back(stage.replicas.size());
  }
  if (pipelines.size() < 2) {
    if (const std::size_t waves = waves_of(plan.stages); waves > 0) {
      all.resize(all.size() / (2 * waves));
      return stages_text(all) + (waves == 1 ? kV : " (" + std::to_string(waves) + kWaves);
    }
    const std::size_t depth = regular_depth(plan.stages);
    if (depth == all.size()) return stages_text(all);
    const std::size_t chunks = all.size() / depth;
    all.resize(depth);
    return stages_text(all) + " (" + std::to_string(chunks) + " chunks)";
  }
  const auto is_as_first = [&](const auto& entry) { return entry.second == pipelines.begin()->second; };
  if (!std::ranges::all_of(pipelines, is_as_first)) return stages_text(all);
  return std::to_string(pipelines.size()) + " of " + stages_text(pipelines.begin()->second);
}

std::string configuration_legend(const std::vector<std::string>& configurations) {
  const bool has_chunks = any_has(configurations, " chunks)");
  const bool has_v = any_has(configurations, kV);
  const bool has_waves = any_has(configurations, kWaves);
  if (!has_chunks && !has_v && !has_waves && !any_has(configurations, " x ") && !any_has(configurations, " of "))
    return "";
  std::string text =
      "replicas of each stage; 9 + 4 x 2: one of 9, 4 stages of 2; 2 of 8 x 1: two pipelines of 8 stages";
  if (has_chunks) text += "; 4 x 8 (5 chunks): each device of 4 stages of 8 has 5 stages in turn";
  if (has_v) text += "; 4 x 8 (V): each device of 4 stages of 8 has two stages of 8, which go down and up again";
  if (has_waves) text += "; 4 x 8 (3 waves): stages go down and up again on 4 stages of 8 three times";
  return text;
}

}  // namespace stagecraft
