#include "experiments/study/door_check.hpp"

#include "experiments/run/external_planner.hpp"
#include "experiments/run/planning.hpp"
#include "experiments/run/variation.hpp"
#include "experiments/study/cell_inputs.hpp"
#include "experiments/study/cell_limits.hpp"
#include "planners/registry.hpp"
#include "sim/base/child_process.hpp"
#include "sim/base/error.hpp"
#include "sim/io/events_file.hpp"
#include "sim/io/json.hpp"

#include <algorithm>
#include <csignal>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace stagecraft {
namespace {

constexpr Seconds kLongestLook(10);

/// The problems of models and platforms that cannot be read, by `model_key` and `platform_key`.
using UnreadableInputs = std::map<std::string, InputError>;

/// Loads an input, or throws its problem again if it has been tried before.
template <class Load>
auto load_once(UnreadableInputs& unreadable, const std::string& key, const Load& load) {
  if (const auto found = unreadable.find(key); found != unreadable.end()) throw InputError(found->second);
  try {
    return load();
  } catch (const InputError& error) {
    unreadable.emplace(key, error);
    throw;
  }
}

/// The problem of a cell that shows before its planner starts; none if there is none.
std::optional<InputError> problem_of(const Manifest& manifest, const StudyCell& cell, UnreadableInputs& unreadable) {
  try {
    const CellSpec spec = read_cell(cell.cell);
    HashedInput<Model> model =
        load_once(unreadable, model_key(manifest, spec), [&] { return load_model(manifest, spec); });
    HashedInput<Platform> platform =
        load_once(unreadable, platform_key(spec), [&] { return load_platform(manifest, spec); });
    const Inputs inputs = varied(joined(std::move(model), std::move(platform)), spec.variation);
    if (!spec.events.empty()) {
      const StudyFile& file = find_file(manifest, "events", spec.events);
      static_cast<void>(resolve_events(load_events(file.path, spec.events).events, inputs.platform));
    }
    if (!is_external(spec.planner)) check_choices(find_planner(spec.planner), inputs, spec.planning);
  } catch (const InputError& error) {
    return error;
  }
  return std::nullopt;
}

/// What the problems of cells have in common if they are one: the key of a replaced value (`platform.nodes.cuont`),
/// which files of another form refuse with other words, or else all words.
std::string common_part(const InputError& problem) {
  const std::string& key = problem.place().key;
  const bool is_replaced = key.starts_with("platform.") || key.starts_with("model.");
  return is_replaced ? key : problem.what();
}

/// Whether all cells have the problem of the first one.
bool have_common_problem(const Manifest& manifest, const std::vector<std::size_t>& cells) {
  UnreadableInputs unreadable;
  std::optional<std::string> first;
  return std::ranges::all_of(cells, [&](std::size_t cell) {
    const std::optional<InputError> problem = problem_of(manifest, manifest.cells[cell], unreadable);
    if (!first && problem) first = common_part(*problem);
    return problem && common_part(*problem) == first;
  });
}

/// A whole key, such as `platform.nodes.count`, and its value as JSON.
using KeyValue = std::pair<std::string, std::string>;

std::vector<KeyValue> values_of(const CellSpec& spec) {
  std::vector<KeyValue> values;
  for (const auto& [path, value] : spec.model_values) values.emplace_back("model." + path, to_json(value, -1));
  for (const auto& [path, value] : spec.platform_values) values.emplace_back("platform." + path, to_json(value, -1));
  return values;
}

/// Values that the files of some cell allow, and the problems of those that some cell's files refuse.
struct JudgedValues {
  std::set<KeyValue> allowed;
  std::vector<std::pair<KeyValue, std::string>> refused;
  std::set<std::string> looked_at;  ///< files with values

  [[nodiscard]] bool is_allowed(const KeyValue& value) const { return allowed.contains(value); }
};

void judge_values(const Manifest& manifest, const CellSpec& spec, JudgedValues& judged) {
  const std::vector<KeyValue> values = values_of(spec);
  const bool is_known = std::ranges::all_of(values, [&](const KeyValue& each) { return judged.is_allowed(each); });
  if (is_known || !judged.looked_at.insert(model_key(manifest, spec) + platform_key(spec)).second) return;
  try {
    check_values(manifest, spec);
    judged.allowed.insert(values.begin(), values.end());
  } catch (const InputError& error) {
    const auto value = std::ranges::find(values, error.place().key, &KeyValue::first);
    if (value == values.end()) return;
    const bool is_new = std::ranges::none_of(judged.refused, [&](const auto& each) { return each.first == *value; });
    if (is_new) judged.refused.emplace_back(*value, error.what());
  }
}

/// Does `body` in a child process with the limits of a cell.
ChildProcess look(const Manifest& manifest, const std::function<void(FrameSender&)>& body) {
  return ChildProcess(
      [&](FrameSender& sender) {
        limit_memory(manifest.limits);
        std::signal(SIGALRM, SIG_DFL);
        set_alarm(std::min(manifest.limits.time, kLongestLook));
        body(sender);
      },
      ChildErrors::Kept);
}

/// None for a model that cannot be read: the row of the cell says it.
std::vector<std::string> remarks_if_read(const Manifest& manifest, const CellSpec& spec) {
  try {
    return remarks_on_model(manifest, spec);
  } catch (const InputError&) {
    return {};
  }
}

}  // namespace

std::vector<std::string> problems_of_values(const Manifest& manifest, const std::vector<std::size_t>& cells) {
  ChildProcess child = look(manifest, [&](FrameSender& sender) {
    JudgedValues judged;
    for (const std::size_t cell : cells) judge_values(manifest, read_cell(manifest.cells[cell].cell), judged);
    for (const auto& [value, problem] : judged.refused) {
      if (!judged.is_allowed(value)) sender.send(0, problem);
    }
  });
  std::vector<std::string> problems;
  while (std::optional<Frame> frame = child.receive()) problems.push_back(std::move(frame->bytes));
  return problems;
}

std::vector<std::string> remarks_on_models(const Manifest& manifest, const std::vector<std::size_t>& cells) {
  ChildProcess child = look(manifest, [&](FrameSender& sender) {
    std::set<std::string> looked_at;
    std::set<std::string> sent;
    for (const std::size_t cell : cells) {
      const CellSpec spec = read_cell(manifest.cells[cell].cell);
      if (!looked_at.insert(spec.model + to_json(Detail::Record(spec.model_values), -1)).second) continue;
      for (const std::string& remark : remarks_if_read(manifest, spec)) {
        if (sent.insert(spec.model + ": " + remark).second) sender.send(0, spec.model + ": " + remark);
      }
    }
  });
  std::vector<std::string> remarks;
  while (std::optional<Frame> frame = child.receive()) remarks.push_back(std::move(frame->bytes));
  return remarks;
}

void refuse_common_problem(const Manifest& manifest, const std::vector<std::size_t>& cells) {
  if (cells.empty()) return;
  ChildProcess child = look(manifest, [&](FrameSender& sender) {
    if (have_common_problem(manifest, cells)) sender.send(0, "");
  });
  if (!child.receive()) return;
  UnreadableInputs unreadable;
  if (const auto problem = problem_of(manifest, manifest.cells[cells.front()], unreadable)) throw InputError(*problem);
}

}  // namespace stagecraft
