#include "sim/io/events_file.hpp"

#include "sim/io/csv_file.hpp"
#include "sim/io/sha256.hpp"
#include "sim/io/text_file.hpp"
#include "sim/io/yaml_values.hpp"
#include "sim/model/noise.hpp"

#include <array>
#include <cstdint>
#include <filesystem>
#include <set>
#include <system_error>
#include <variant>

namespace stagecraft {
namespace {

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
  if (value.kind() == YamlKind::Text && value.text().ends_with("%")) {
    value.fail("expected a factor of times, found " + quote(value.text()), "for 30 % more time write 1.3");
  }
  const double factor = read_positive_number(value);
  if (factor > kMostEventFactor || factor < 1.0 / kMostEventFactor) value.fail_expected("a factor from 1e-6 to 1e6");
  named.event.change = Slowdown{DeviceId::none(), factor};
}

void read_bandwidth_change(const YamlNode& item, const YamlNode& value, NamedEvent& named) {
  item.allow_keys({"at", "at_microbatch", "link", "bandwidth"});
  read_link_name(item, named);
  const BytesPerSecond bandwidth = read_bandwidth(value);
  if (bandwidth < kLeastEventBandwidth) value.fail_expected("a bandwidth of at least 1 Bps");
  named.event.change = BandwidthChange{LinkId::none(), bandwidth};
}

void read_memory_limit(const YamlNode& item, const YamlNode& value, NamedEvent& named) {
  item.allow_keys({"at", "at_microbatch", "device", "memory"});
  read_device_name(item, named);
  named.event.change = MemoryLimit{DeviceId::none(), read_bytes(value)};
}

void read_failure(const YamlNode& item, const YamlNode& value, NamedEvent& named) {
  if (item.find("link")) {
    item.allow_keys({"at", "at_microbatch", "link", "fails_for"});
    read_link_name(item, named);
    named.event.change = LinkFailure{LinkId::none(), read_moment(value)};
    return;
  }
  item.allow_keys({"at", "at_microbatch", "device", "fails_for"});
  read_device_name(item, named);
  named.event.change = Failure{DeviceId::none(), read_moment(value)};
}

void read_departure(const YamlNode& item, const YamlNode& value, NamedEvent& named) {
  if (const auto microbatch = item.find("at_microbatch")) {
    microbatch->fail("a departure is announced at a time before 'leaves_at': give 'at' in place of 'at_microbatch'");
  }
  item.allow_keys({"at", "device", "leaves_at"});
  read_device_name(item, named);
  const Seconds leaves_at = read_moment(value);
  if (leaves_at <= named.event.at) {
    value.fail_expected("a time after " + format_seconds(named.event.at) + ", when it is announced");
  }
  named.event.change = Departure{DeviceId::none(), leaves_at};
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

/// The file is read later (`load_events`).
void read_work(const YamlNode& item, const YamlNode& value, NamedEvent& named) {
  item.allow_keys({"at", "at_microbatch", "work"});
  named.names = {read_name(value)};
  named.place = value.place();
  named.event.change = MicrobatchWork{};
}

/// What changes the operations themselves cannot change them at a time.
void require_later_microbatch(const YamlNode& item, const NamedEvent& named, const std::string& what) {
  if (!named.event.at_microbatch) item.fail(what + " begins with a microbatch: give 'at_microbatch' in place of 'at'");
  if (*named.event.at_microbatch == 0) {
    item.at("at_microbatch").fail(what + " begins after the first microbatch: expected at least 1");
  }
}

/// The file is read later: its name may be that of a shipped model.
void read_model(const YamlNode& item, const YamlNode& value, NamedEvent& named) {
  item.allow_keys({"at", "at_microbatch", "model"});
  require_later_microbatch(item, named, "another model");
  named.names = {read_name(value)};
  named.place = value.place();
  named.event.change = ModelChange{};
}

void read_microbatch_size(const YamlNode& item, const YamlNode& value, NamedEvent& named) {
  item.allow_keys({"at", "at_microbatch", "microbatch_size"});
  require_later_microbatch(item, named, "another size of a microbatch");
  named.place = value.place();
  named.event.change = SizeChange{read_count(value, 1, kMostMicrobatches)};
}

std::vector<double> read_factors(const std::string& text, const std::string& file_name) {
  const CsvTable table(text, file_name);
  const std::size_t column = table.column("work");
  std::vector<double> factors;
  factors.reserve(table.rows());
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const Parsed<double> factor = parse_number(table.at(row, column));
    if (!factor || *factor.value > kMostEventFactor || *factor.value < 1.0 / kMostEventFactor) {
      throw InputError("expected a factor from 1e-6 to 1e6, found " + quote(table.at(row, column)),
                       table.place(row, column));
    }
    factors.push_back(*factor.value);
  }
  return factors;
}

struct Kind {
  const char* key;
  void (*read)(const YamlNode& item, const YamlNode& value, NamedEvent& named);
};
constexpr std::array<Kind, 9> kKinds = {{{"slowdown", read_slowdown},
                                         {"bandwidth", read_bandwidth_change},
                                         {"memory", read_memory_limit},
                                         {"fails_for", read_failure},
                                         {"leaves_at", read_departure},
                                         {"jitter", read_jitter},
                                         {"work", read_work},
                                         {"model", read_model},
                                         {"microbatch_size", read_microbatch_size}}};

/// `'slowdown', 'bandwidth' and 'jitter'`.
std::string kind_names() {
  std::string names;
  for (const Kind& kind : kKinds) {
    const bool is_last = &kind == &kKinds.back();
    names += (names.empty() ? "" : is_last ? " and " : ", ") + quote(kind.key);
  }
  return names;
}

NamedEvent read_event(const YamlNode& item) {
  item.allow_keys({"at", "at_microbatch", "device", "link", "slowdown", "bandwidth", "memory", "fails_for", "leaves_at",
                   "jitter", "model", "microbatch_size", "work"});
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
  if (kind == nullptr) item.fail("an event needs one of " + kind_names());
  kind->read(item, item.at(kind->key), named);
  return named;
}

void require_only_one(const YamlNode& item, std::set<std::uint32_t>& known, std::uint32_t microbatch,
                      const std::string& what) {
  if (!known.insert(microbatch).second)
    item.fail("two " + what + " begin with microbatch " + std::to_string(microbatch));
}

}  // namespace

std::vector<NamedEvent> parse_events(std::string_view text, const std::string& file_name) {
  const YamlNode root = parse_yaml(text, file_name);
  check_schema(root, "stagecraft/events/1");
  root.allow_keys({"schema", "events"});
  std::vector<NamedEvent> events;
  std::set<std::uint32_t> models;
  std::set<std::uint32_t> sizes;
  for (const YamlNode& item : root.at("events").items()) {
    events.push_back(read_event(item));
    Event& event = events.back().event;
    if (auto* change = std::get_if<ModelChange>(&event.change)) {
      require_only_one(item, models, *event.at_microbatch, "models");
      change->model = static_cast<std::uint32_t>(models.size());
    } else if (std::holds_alternative<SizeChange>(event.change)) {
      require_only_one(item, sizes, *event.at_microbatch, "sizes of a microbatch");
    }
  }
  return events;
}

EventsFile load_events(const std::string& path, const std::string& shown_name) {
  const std::string text = read_text_file(path);
  EventsFile file{.events = parse_events(text, shown_name), .path = path, .text = text, .sha256 = sha256(text)};
  for (NamedEvent& named : file.events) {
    auto* work = std::get_if<MicrobatchWork>(&named.event.change);
    if (work == nullptr) continue;
    const std::string named_path =
        (std::filesystem::path(path).parent_path() / named.names.front()).lexically_normal().string();
    if (std::error_code ignored; !std::filesystem::exists(named_path, ignored)) {
      throw InputError("there is no file " + quote(named_path), named.place);
    }
    const std::string content = read_text_file(named_path);
    work->factors = read_factors(content, named_path);
    file.sha256 = sha256(file.sha256 + sha256(content));
  }
  return file;
}

}  // namespace stagecraft
