#include "sim/io/events_file.hpp"

#include "sim/io/text_file.hpp"
#include "sim/io/yaml_values.hpp"
#include "sim/model/noise.hpp"

#include <array>
#include <cstdint>

namespace stagecraft {
namespace {

constexpr double kMostSlowdown = 1e6;
constexpr BytesPerSecond kLeastBandwidth{1.0};
constexpr Seconds kLatest{1e12};

Seconds read_moment(const YamlNode& node) {
  const Seconds time = read_seconds(node);
  if (time > kLatest) node.fail_expected("a time of at most 1e12 s");
  return time;
}

void read_time(const YamlNode& item, Event& event) {
  const auto at = item.find("at");
  const auto at_microbatch = item.find("at_microbatch");
  if (at.has_value() == at_microbatch.has_value()) {
    item.fail(at ? "an event cannot have both 'at' and 'at_microbatch'" : "an event needs 'at' or 'at_microbatch'");
  }
  if (at) {
    event.at = read_moment(*at);
  } else {
    event.at_microbatch = static_cast<std::uint32_t>(read_count(*at_microbatch, 0, kMostMicrobatches));
  }
}

void read_device_name(const YamlNode& item, NamedEvent& named) {
  const YamlNode device = item.at("device");
  named.names = {read_name(device)};
  named.place = device.place();
}

/// A link's name, or the names of two devices.
void read_link_name(const YamlNode& item, NamedEvent& named) {
  const YamlNode link = item.at("link");
  named.place = link.place();
  if (link.kind() != YamlKind::List) {
    if (link.kind() != YamlKind::Text) link.fail_expected("a link's name, or a list of two devices");
    named.names = {read_name(link)};
    return;
  }
  for (const YamlNode& end : link.items()) named.names.push_back(read_name(end));
  if (named.names.size() != 2) link.fail("expected two devices, found " + std::to_string(named.names.size()));
  if (named.names[0] == named.names[1])
    link.fail("expected two different devices, found " + quote(named.names[0]) + " twice");
}

void read_slowdown(const YamlNode& item, const YamlNode& value, NamedEvent& named) {
  item.allow_keys({"at", "at_microbatch", "device", "slowdown"});
  read_device_name(item, named);
  const double factor = read_positive_number(value);
  if (factor > kMostSlowdown || factor < 1.0 / kMostSlowdown) value.fail_expected("a factor from 1e-6 to 1e6");
  named.event.change = Slowdown{DeviceId::none(), factor};
}

void read_bandwidth_change(const YamlNode& item, const YamlNode& value, NamedEvent& named) {
  item.allow_keys({"at", "at_microbatch", "link", "bandwidth"});
  read_link_name(item, named);
  const BytesPerSecond bandwidth = read_bandwidth(value);
  if (bandwidth < kLeastBandwidth) value.fail_expected("a bandwidth of at least 1 Bps");
  named.event.change = BandwidthChange{LinkId::none(), bandwidth};
}

void read_failure(const YamlNode& item, const YamlNode& value, NamedEvent& named) {
  item.allow_keys({"at", "at_microbatch", "device", "fails_for"});
  read_device_name(item, named);
  named.event.change = Failure{DeviceId::none(), read_moment(value)};
}

void read_jitter(const YamlNode& item, const YamlNode& value, NamedEvent& named) {
  item.allow_keys({"at", "at_microbatch", "jitter"});
  value.allow_keys({"sigma", "seed"});
  Jitter jitter;
  const YamlNode sigma = value.at("sigma");
  jitter.sigma = read_number(sigma);
  if (jitter.sigma > kLargestSigma) sigma.fail_expected("a number of at most " + format_number(kLargestSigma));
  jitter.seed = static_cast<std::uint64_t>(read_count(value.at("seed")));
  named.event.change = jitter;
}

struct Kind {
  const char* key;
  void (*read)(const YamlNode& item, const YamlNode& value, NamedEvent& named);
};
constexpr std::array<Kind, 4> kKinds = {{{"slowdown", read_slowdown},
                                         {"bandwidth", read_bandwidth_change},
                                         {"fails_for", read_failure},
                                         {"jitter", read_jitter}}};

void refuse_unsupported(const YamlNode& item) {
  for (const char* key : {"model", "memory", "work"}) {
    if (const auto value = item.find(key)) {
      value->fail("events of the kind '" + std::string(key) + "' are not supported yet",
                  "supported are 'slowdown', 'bandwidth', 'fails_for' and 'jitter'");
    }
  }
}

NamedEvent read_event(const YamlNode& item) {
  item.allow_keys({"at", "at_microbatch", "device", "link", "slowdown", "bandwidth", "fails_for", "jitter", "model",
                   "memory", "work"});
  refuse_unsupported(item);
  NamedEvent named;
  read_time(item, named.event);
  const Kind* kind = nullptr;
  for (const Kind& each : kKinds) {
    if (!item.find(each.key)) continue;
    if (kind != nullptr) {
      item.fail("an event has one change, but this one has '" + std::string(kind->key) + "' and '" + each.key + "'",
                "write two events");
    }
    kind = &each;
  }
  if (kind == nullptr) item.fail("an event needs one of 'slowdown', 'bandwidth', 'fails_for' and 'jitter'");
  kind->read(item, item.at(kind->key), named);
  return named;
}

}  // namespace

std::vector<NamedEvent> parse_events(std::string_view text, const std::string& file_name) {
  const YamlNode root = parse_yaml(text, file_name);
  check_schema(root, "stagecraft/events/1");
  root.allow_keys({"schema", "events"});
  std::vector<NamedEvent> events;
  for (const YamlNode& item : root.at("events").items()) events.push_back(read_event(item));
  return events;
}

std::vector<NamedEvent> read_events_file(const std::string& path) { return parse_events(read_text_file(path), path); }

}  // namespace stagecraft
