#include "sim/io/schedule_file.hpp"

#include "sim/io/schedule_codes.hpp"
#include "sim/io/yaml_values.hpp"
#include "sim/model/given_orders.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_map>

namespace stagecraft {
namespace {

constexpr std::size_t kMostActions = 4'000'000;  ///< in one file, ranges written out

constexpr const char* kActionForm = "an action such as 'F0.3', made of a kind, a stage, a point and a microbatch";
constexpr const char* kActionStage = "an action whose stage is a whole number of at most 1000000";
constexpr const char* kTransferForm =
    "a transfer such as 'A3' or 'G3', made of activation or gradient and a microbatch";
constexpr const char* kChannelForm = "a channel such as '0->1', from one stage to another";

/// The microbatches first to last, both included.
struct Range {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

/// The devices that a file may name, and the number of actions read so far.
struct Reading {
  std::unordered_map<std::string, DeviceId> devices;
  std::vector<std::string> device_names;
  std::size_t actions = 0;
};

void count_actions(Reading& reading, const YamlNode& node, std::size_t count) {
  reading.actions += count;
  if (reading.actions > kMostActions) {
    node.fail("the file has more than " + std::to_string(kMostActions) + " actions");
  }
}

std::optional<std::uint32_t> number(std::string_view text, std::int64_t most) {
  const auto parsed = parse_count(text);
  if (!parsed || *parsed.value > most) return std::nullopt;
  return static_cast<std::uint32_t>(*parsed.value);
}

/// `3` or `3..7`.
Range read_range(const YamlNode& node, std::string_view text, std::string_view form) {
  const std::size_t dots = text.find("..");
  const auto first = number(text.substr(0, dots), kMostMicrobatches);
  const auto last = dots == std::string_view::npos ? first : number(text.substr(dots + 2), kMostMicrobatches);
  if (!first || !last) node.fail_expected(form);
  if (*first > *last) node.fail("the range of microbatches " + quote(text) + " is empty");
  if (*last - *first >= kMostActions) {
    node.fail("the range of microbatches has more than " + std::to_string(kMostActions) + " actions");
  }
  return {*first, *last};
}

/// `F0.3`, and with a range of microbatches several actions.
std::vector<Action> read_single(const YamlNode& node, std::string_view text) {
  const std::size_t digits = text.find_first_of("0123456789");
  const std::size_t point = text.find('.');
  if (digits == std::string_view::npos || point == std::string_view::npos || point < digits) {
    node.fail_expected(kActionForm);
  }
  const auto code =
      std::ranges::find(action_codes(), text.substr(0, digits), &std::pair<std::string, ActionKind>::first);
  if (code == action_codes().end()) {
    std::vector<std::string> known;
    for (const auto& [name, kind] : action_codes()) known.push_back(name);
    node.fail("unknown kind of action " + quote(text.substr(0, digits)), suggest_name(text.substr(0, digits), known));
  }
  const auto stage = number(text.substr(digits, point - digits), kMostStages);
  if (!stage) node.fail_expected(kActionStage);
  const Range range = read_range(node, text.substr(point + 1), kActionForm);
  std::vector<Action> actions(range.last - range.first + 1);
  for (std::size_t i = 0; i < actions.size(); ++i) {
    actions[i].kind = code->second;
    actions[i].stage = StageId(*stage);
    actions[i].microbatch = range.first + static_cast<std::uint32_t>(i);
  }
  return actions;
}

/// `F0.3`, `F0.0..7`, a pair `F0.3+B0.1`, or a batch of sends and receives `SA0.3+RG0.1`: all but the first action are
/// joined to the one before.
std::vector<Action> read_step_text(const YamlNode& node) {
  if (node.kind() != YamlKind::Text) node.fail_expected(kActionForm);
  std::string_view rest = node.text();
  if (rest.find('+') == std::string_view::npos) return read_single(node, rest);
  std::vector<Action> all;
  for (std::size_t plus = 0; plus != std::string_view::npos;) {
    plus = rest.find('+');
    const std::vector<Action> next = read_single(node, rest.substr(0, plus));
    if (next.size() > 1) node.fail("a pair joins two actions, not ranges of actions");
    all.push_back(next[0]);
    all.back().joined = all.size() > 1;
    if (plus != std::string_view::npos) rest.remove_prefix(plus + 1);
  }
  const auto is_pair = [](const Action& a, const Action& b) {
    return a.kind == ActionKind::Forward && b.kind == ActionKind::Backward;
  };
  const bool is_batch = std::ranges::all_of(all, [](const Action& action) { return is_mark(action.kind); });
  if (!is_batch && (all.size() > 2 || (!is_pair(all[0], all[1]) && !is_pair(all[1], all[0])))) {
    node.fail_expected("a pair of a forward and a backward, such as 'F0.3+B0.1', or sends and receives");
  }
  return all;
}

/// A whole number, possibly negative.
std::int32_t read_priority(const YamlNode& node) {
  constexpr std::int64_t kMostPriority = std::numeric_limits<std::int32_t>::max();
  const std::string expected =
      "a whole number from -" + std::to_string(kMostPriority) + " to " + std::to_string(kMostPriority);
  if (node.kind() != YamlKind::Text) node.fail_expected(expected);
  if (node.is_quoted()) node.fail_expected(expected, "write it without quotes");
  const std::string_view text = node.text();
  const bool negative = text.starts_with('-');
  const auto magnitude = number(text.substr(negative ? 1 : 0), kMostPriority);
  if (!magnitude) node.fail_expected(expected);
  const auto value = static_cast<std::int32_t>(*magnitude);
  return negative ? -value : value;
}

std::vector<Action> read_step(const YamlNode& node) {
  if (node.kind() != YamlKind::Map) return read_step_text(node);
  node.allow_keys({"op", "duration", "not_before", "priority"});
  std::vector<Action> actions = read_step_text(node.at("op"));
  for (Action& action : actions) {
    if (action.joined) continue;  // in a pair, the keys belong to the first action
    if (const auto duration = node.find("duration")) action.duration = read_moment(*duration);
    if (const auto not_before = node.find("not_before")) action.not_before = read_moment(*not_before);
    if (const auto priority = node.find("priority")) action.priority = read_priority(*priority);
  }
  return actions;
}

std::vector<ChannelAction> read_transfer_text(const YamlNode& node) {
  if (node.kind() != YamlKind::Text) node.fail_expected(kTransferForm);
  const std::string_view text = node.text();
  const bool gradient = text.starts_with('G');
  if (!gradient && !text.starts_with('A')) node.fail_expected(kTransferForm);
  const Range range = read_range(node, text.substr(1), kTransferForm);
  std::vector<ChannelAction> actions(range.last - range.first + 1);
  for (std::size_t i = 0; i < actions.size(); ++i) {
    actions[i].gradient = gradient;
    actions[i].microbatch = range.first + static_cast<std::uint32_t>(i);
  }
  return actions;
}

std::vector<ChannelAction> read_transfer(const YamlNode& node) {
  if (node.kind() != YamlKind::Map) return read_transfer_text(node);
  node.allow_keys({"op", "not_before", "priority"});
  std::vector<ChannelAction> actions = read_transfer_text(node.at("op"));
  for (ChannelAction& action : actions) {
    if (const auto not_before = node.find("not_before")) action.not_before = read_moment(*not_before);
    if (const auto priority = node.find("priority")) action.priority = read_priority(*priority);
  }
  return actions;
}

/// An order: a list, or `{discipline: …, order: list}`. `read` reads one item of the list to a vector.
template <class Order, class Read>
void read_order(Reading& reading, const YamlNode& node, Order& order, const Read& read) {
  if (node.kind() != YamlKind::List && node.kind() != YamlKind::Map) {
    node.fail_expected("a list of actions, or a map with the keys 'discipline' and 'order'");
  }
  if (node.kind() == YamlKind::Map) {
    node.allow_keys({"discipline", "order"});
    if (const auto discipline = node.find("discipline")) {
      order.discipline =
          read_choice<Discipline>(*discipline, {{"strict", Discipline::Strict}, {"ready", Discipline::Ready}});
    }
  }
  const std::vector<YamlNode> items = node.kind() == YamlKind::Map ? node.at("order").items() : node.items();
  for (const YamlNode& item : items) {
    const auto actions = read(item);
    count_actions(reading, item, actions.size());
    order.actions.insert(order.actions.end(), actions.begin(), actions.end());
  }
}

/// The stages of a key `0->1`.
ChannelEnds read_ends(const YamlNode& node, const std::string& key) {
  const std::size_t arrow = key.find("->");
  const auto refuse = [&]() { node.fail("expected " + std::string(kChannelForm) + ", found " + quote(key)); };
  if (arrow == std::string::npos) refuse();
  const auto from = number(std::string_view(key).substr(0, arrow), kMostStages);
  const auto to = number(std::string_view(key).substr(arrow + 2), kMostStages);
  if (!from || !to || *from == *to) refuse();
  return {StageId(*from), StageId(*to)};
}

/// The rules of transfers by their names.
std::vector<std::pair<std::string, Transfers>> transfer_rules() {
  std::vector<std::pair<std::string, Transfers>> rules;
  for (const Transfers rule : kAllTransfers) rules.emplace_back(to_string(rule), rule);
  return rules;
}

}  // namespace

Schedule parse_schedule(std::string_view text, const std::string& file_name, const Platform& platform) {
  const YamlNode root = parse_yaml(text, file_name);
  check_schema(root, "stagecraft/schedule/1");
  root.allow_keys({"schema", "transfers", "devices", "channels"});
  Reading reading;
  for (DeviceId id : indices(platform.devices)) {
    reading.devices.emplace(platform.devices[id].name, id);
    reading.device_names.push_back(platform.devices[id].name);
  }
  Schedule schedule;
  if (const auto rule = root.find("transfers")) schedule.transfers = read_choice<Transfers>(*rule, transfer_rules());
  for (const auto& [name, node] : root.at("devices").entries()) {
    const auto device = reading.devices.find(name);
    if (device == reading.devices.end()) {
      node.fail("the platform " + quote(platform.spec.name) + " has no device " + quote(name),
                suggest_name(name, reading.device_names));
    }
    schedule.devices.push_back({device->second, Discipline::Strict, {}});
    read_order(reading, node, schedule.devices.back(), read_step);
  }
  if (!root.find("transfers") && has_marks(schedule)) schedule.transfers = Transfers::Stream;
  const auto channels = root.find("channels");
  if (!channels) return schedule;
  for (const auto& [key, node] : channels->entries()) {
    schedule.channels.push_back({{read_ends(node, key)}, Discipline::Strict, {}});
    read_order(reading, node, schedule.channels.back(), read_transfer);
  }
  return schedule;
}

}  // namespace stagecraft
