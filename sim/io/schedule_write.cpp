#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/json.hpp"
#include "sim/io/schedule_codes.hpp"
#include "sim/io/schedule_file.hpp"
#include "sim/io/yaml_text.hpp"

#include <algorithm>

namespace stagecraft {
namespace {

std::string action_text(const Action& action) {
  const auto code = std::ranges::find(action_codes(), action.kind, &std::pair<std::string, ActionKind>::second);
  STAGECRAFT_CHECK(code != action_codes().end(), "every kind of action has letters");
  return code->first + std::to_string(action.stage.value()) + "." + std::to_string(action.microbatch);
}

/// The text alone, or a record of it and of the keys that differ from their defaults.
Detail step(std::string text, Seconds duration, Seconds not_before, std::int32_t priority) {
  Detail::Record record = {{"op", text}};
  if (duration >= Seconds(0)) record.emplace_back("duration", format_seconds(duration));
  if (not_before > Seconds(0)) record.emplace_back("not_before", format_seconds(not_before));
  if (priority != 0) record.emplace_back("priority", std::int64_t{priority});
  return record.size() > 1 ? Detail(std::move(record)) : Detail(std::move(text));
}

Detail with_discipline(Discipline discipline, Detail::List order) {
  if (discipline == Discipline::Strict) return order;
  return Detail::Record{{"discipline", "ready"}, {"order", std::move(order)}};
}

Detail device_order(const DeviceOrder& device) {
  Detail::List order;
  for (std::size_t i = 0; i < device.actions.size(); ++i) {
    const Action& action = device.actions[i];
    std::string text = action_text(action);
    if (i + 1 < device.actions.size() && device.actions[i + 1].joined) text += "+" + action_text(device.actions[++i]);
    order.push_back(step(std::move(text), action.duration, action.not_before, action.priority));
  }
  return with_discipline(device.discipline, std::move(order));
}

Detail channel_order(const ChannelOrder& channel) {
  Detail::List order;
  for (const ChannelAction& action : channel.actions) {
    std::string text = (action.gradient ? "G" : "A") + std::to_string(action.microbatch);
    order.push_back(step(std::move(text), kFromModel, action.not_before, action.priority));
  }
  return with_discipline(channel.discipline, std::move(order));
}

}  // namespace

Detail::Record schedule_record(const Schedule& schedule, const Platform& platform) {
  Detail::Record root = {{"schema", "stagecraft/schedule/1"}};
  if (schedule.explicit_transfers) root.emplace_back("transfers", "explicit");
  if (schedule.rendezvous) root.emplace_back("transfers", "rendezvous");
  Detail::Record devices;
  for (const DeviceOrder& device : schedule.devices) {
    devices.emplace_back(platform.devices[device.device].name, device_order(device));
  }
  root.emplace_back("devices", std::move(devices));
  Detail::Record channels;
  for (const ChannelOrder& channel : schedule.channels) {
    const ChannelEnds& ends = channel.boundaries.front();  // a file gives each boundary a channel of its own
    const std::string key = std::to_string(ends.from.value()) + "->" + std::to_string(ends.to.value());
    channels.emplace_back(key, channel_order(channel));
  }
  if (!channels.empty()) root.emplace_back("channels", std::move(channels));
  return root;
}

std::string write_schedule_yaml(const Schedule& schedule, const Platform& platform) {
  return to_yaml(schedule_record(schedule, platform));
}

std::string schedule_to_json(const Schedule& schedule, const Platform& platform) {
  return to_json(schedule_record(schedule, platform)) + "\n";
}

}  // namespace stagecraft
