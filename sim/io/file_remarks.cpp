#include "sim/io/file_remarks.hpp"

#include "sim/base/counted.hpp"
#include "sim/base/text.hpp"
#include "sim/io/yaml_node.hpp"
#include "sim/io/yaml_values.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

namespace stagecraft {
namespace {

constexpr BytesPerSecond kFastestNic{100e9};  ///< 800 Gbit/s, the fastest that is sold; a node may have several

class Remarks {
 public:
  void add(const YamlNode& node, const std::string& sentence) {
    const InputPlace place = node.place();
    list_.push_back(fmt::format("{}:{}:{}: {}: {}", place.file, place.line, place.column, node.key(), sentence));
  }
  [[nodiscard]] std::vector<std::string> take() { return std::move(list_); }

 private:
  std::vector<std::string> list_;
};

/// The sizes of models, platforms and devices.
constexpr std::array<std::string_view, 9> kSizes = {"memory", "reserved",   "parameters", "input", "output",
                                                    "stash",  "checkpoint", "workspace",  "bytes"};

/// Tells of the first size in bits, and how many more there are: a model may have one in each layer.
class BitsNote {
 public:
  void look_at(const YamlNode& size) {
    if (size.kind() != YamlKind::Text || !size.text().ends_with('b')) return;
    if (first_) {
      ++others_;
    } else {
      first_ = size;
    }
  }

  void tell(Remarks& remarks) const {
    if (!first_) return;
    std::string in_bytes = first_->text();
    in_bytes.back() = 'B';
    const std::string more = others_ == 0 ? "" : "; the file has " + counted(others_, "more size") + " in bits";
    remarks.add(*first_, quote(first_->text()) + " is in bits, which makes " + format_human_bytes(read_bytes(*first_)) +
                             "; " + quote(in_bytes) + " is in bytes" + more);
  }

 private:
  std::optional<YamlNode> first_;
  std::int64_t others_ = 0;
};

/// Tells of the first event that makes a device faster than its profile, and how many more there are.
void note_slowdowns(const YamlNode& events, Remarks& remarks) {
  std::optional<YamlNode> first;
  std::int64_t others = -1;
  for (const YamlNode& event : events.items()) {
    const auto slowdown = event.find("slowdown");
    if (!slowdown || read_number(*slowdown) >= 1.0) continue;
    if (!first) first = slowdown;
    ++others;
  }
  if (!first) return;
  const std::string more = others == 0 ? "" : "; the file has " + counted(others, "more slowdown") + " below 1";
  remarks.add(*first, "a slowdown of " + first->text() +
                          " makes the device faster than in the model; a device that takes " +
                          "30 % more time has a slowdown of 1.3" + more);
}

void note_nic(const YamlNode& nic, Remarks& remarks) {
  const YamlNode bandwidth = nic.at("bandwidth");
  const BytesPerSecond value = read_bandwidth(bandwidth);
  if (!bandwidth.text().ends_with("Bps") || value <= kFastestNic) return;
  constexpr double kGigabit = 1e9 / 8;
  const std::string in_gigabits = format_number(value.value() / kGigabit) + " Gbps";
  std::string as_bits = bandwidth.text();
  as_bits.replace(as_bits.size() - 3, 1, "b");
  remarks.add(bandwidth, quote(bandwidth.text()) + " is " + in_gigabits + ", more than a single NIC has; if bits are " +
                             "meant, write " + quote(as_bits) + ", and otherwise " + quote(in_gigabits));
}

/// Looks at every size and `nic` of the file, wherever the format has it.
void walk(const YamlNode& node, Remarks& remarks, BitsNote& bits) {
  if (node.kind() == YamlKind::List) {
    for (const YamlNode& item : node.items()) walk(item, remarks, bits);
  }
  if (node.kind() != YamlKind::Map) return;
  for (const auto& [name, value] : node.entries()) {
    if (std::ranges::find(kSizes, name) != kSizes.end()) bits.look_at(value);
    if (name == "nic") note_nic(value, remarks);
    walk(value, remarks, bits);
  }
}

/// The default efficiencies are those of ordinary cores.
void note_efficiency(const YamlNode& device, Remarks& remarks) {
  const auto precision = device.find("precision");
  if (!precision || precision->text() == "fp32") return;
  const auto efficiency = device.find("efficiency");
  std::string missing;
  for (const char* name : {"convolution", "linear", "matmul"}) {
    if (!efficiency || !efficiency->find(name)) missing += (missing.empty() ? "" : ", ") + std::string(name);
  }
  if (missing.empty()) return;
  remarks.add(*precision, quote(precision->text()) +
                              " computes on tensor cores, but the efficiency of ordinary cores is assumed for " +
                              missing +
                              " (linear: 0.8 of the peak); tensor cores reach less: a starting point is "
                              "'efficiency: {convolution: 0.5, linear: 0.6, matmul: 0.4}'");
}

/// Tells of the first device whose links to switches are of several bandwidths, as those to a switch of its node and to
/// a network are.
void note_switches_of_two_kinds(const YamlNode& platform, const std::vector<YamlNode>& devices, Remarks& remarks) {
  const auto links = platform.find("links");
  const auto switches = platform.find("switches");
  if (!links || !switches) return;
  std::set<std::string> names;
  for (const YamlNode& name : switches->items()) names.insert(name.text());
  std::map<std::string, std::set<BytesPerSecond>> bandwidths;
  for (const YamlNode& link : links->items()) {
    if (!link.find("between")) continue;
    const std::vector<YamlNode> ends = link.at("between").items();
    for (const std::size_t end : {0U, 1U}) {
      if (!names.contains(ends[1 - end].text())) continue;
      bandwidths[ends[end].text()].insert(read_bandwidth(link.at("bandwidth")));
    }
  }
  for (const YamlNode& device : devices) {
    if (bandwidths[device.at("name").text()].size() < 2) continue;
    remarks.add(device.at("name"),
                quote(device.at("name").text()) +
                    " has links of several bandwidths to switches, but no node: an all-reduce is one "
                    "ring there; name the 'node' of each device");
    return;
  }
}

/// Without nodes an all-reduce is one ring, whatever is wished.
void note_collectives(const YamlNode& platform, Remarks& remarks) {
  const auto devices = platform.find("devices");
  if (!devices || devices->items().front().find("node")) return;
  const auto collectives = platform.find("collectives");
  if (!collectives) {
    note_switches_of_two_kinds(platform, devices->items(), remarks);
    return;
  }
  const auto note = [&](const YamlNode& key) {
    remarks.add(key, quote(key.text()) +
                         " has no effect in the explicit form without nodes: an all-reduce is one ring there; "
                         "name the 'node' of each device");
  };
  const auto algorithm = collectives->find("algorithm");
  if (algorithm && algorithm->text() == "hierarchical") note(*algorithm);
  const auto rings = collectives->find("rings");
  if (rings && rings->text() != "1") note(*rings);
}

/// The devices that come first and second in the routes that cross a link.
struct Crossings {
  std::set<std::string> first = {};
  std::set<std::string> second = {};
};

/// By name: links of two directions without ends, which routes cross forward from their first to their second device.
std::map<std::string, Crossings> crossings_of_named_links(const YamlNode& platform) {
  std::map<std::string, Crossings> named;
  const auto links = platform.find("links");
  const auto routes = platform.find("routes");
  if (!links || !routes) return named;
  for (const YamlNode& link : links->items()) {
    const auto duplex = link.find("duplex");
    if (!link.find("between") && (!duplex || duplex->text() == "full")) named.try_emplace(link.at("name").text());
  }
  for (const YamlNode& route : routes->items()) {
    const std::vector<YamlNode> ends = route.at("between").items();
    for (const YamlNode& link : route.at("links").items()) {
      const auto crossed = named.find(link.text());
      if (crossed == named.end()) continue;
      crossed->second.first.insert(ends[0].text());
      crossed->second.second.insert(ends[1].text());
    }
  }
  return named;
}

/// Tells of the first named link on which a device's sending and receiving meet, and how many more there are: a device
/// that comes first in one route sends forward over it, and where it comes second in another, it receives forward.
void note_named_links(const YamlNode& platform, Remarks& remarks) {
  std::optional<YamlNode> first;
  std::string meeting;
  std::int64_t others = -1;
  const std::map<std::string, Crossings> named = crossings_of_named_links(platform);
  for (const YamlNode& link : named.empty() ? std::vector<YamlNode>{} : platform.at("links").items()) {
    const auto crossed = link.find("between") ? named.end() : named.find(link.at("name").text());
    if (crossed == named.end()) continue;
    const auto& [senders, receivers] = crossed->second;
    const auto both = std::ranges::find_if(senders, [&](const std::string& name) { return receivers.contains(name); });
    if (both == senders.end()) continue;
    if (!first) {
      first = link.at("name");
      meeting = *both;
    }
    ++others;
  }
  if (!first) return;
  const std::string more = others == 0 ? "" : "; the file has " + counted(others, "more such link");
  remarks.add(*first, quote(first->text()) +
                          " has only a name, so routes cross it forward from their first device: " + quote(meeting) +
                          " comes first in one and second in another, and what it sends and receives "
                          "shares one direction; give the link its two ends, 'between: [a, b]' ('switches' are ends "
                          "without a device), or 'duplex: half' if both do share it" +
                          more);
}

/// Whether it is worth to parse the text, which may be a large model.
bool may_have_remarks(std::string_view text) {
  for (const std::string_view word : {"nic", "precision", "slowdown", "collectives", "routes", "switches"}) {
    if (text.find(word) != std::string_view::npos) return true;
  }
  for (std::size_t at = text.find('b', 1); at != std::string_view::npos; at = text.find('b', at + 1)) {
    if (std::string_view(" 0123456789kKMGTPi").find(text[at - 1]) == std::string_view::npos) continue;
    if (at + 1 == text.size() || std::isalnum(static_cast<unsigned char>(text[at + 1])) == 0) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> file_remarks(std::string_view text, const std::string& file_name) {
  if (!may_have_remarks(text)) return {};
  const YamlNode root = parse_yaml(text, file_name);
  Remarks remarks;
  BitsNote bits;
  walk(root, remarks, bits);
  bits.tell(remarks);
  const std::string& schema = root.at("schema").text();
  if (schema == "stagecraft/device/1") note_efficiency(root, remarks);
  if (schema == "stagecraft/platform/1") {
    note_collectives(root, remarks);
    note_named_links(root, remarks);
  }
  if (schema == "stagecraft/events/1") note_slowdowns(root.at("events"), remarks);
  return remarks.take();
}

}  // namespace stagecraft
