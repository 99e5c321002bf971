#include "sim/io/file_remarks.hpp"

#include "sim/base/text.hpp"
#include "sim/io/yaml_node.hpp"
#include "sim/io/yaml_values.hpp"

namespace stagecraft {
namespace {

constexpr BytesPerSecond kFastestNic{100e9};  ///< 800 Gbit/s, the fastest that is sold; a node may have several

class Remarks {
 public:
  void add(const YamlNode& node, const std::string& sentence) {
    const InputPlace place = node.place();
    list_.push_back(place.file + ":" + std::to_string(place.line) + ":" + std::to_string(place.column) + ": " +
                    node.key() + ": " + sentence);
  }
  [[nodiscard]] std::vector<std::string> take() { return std::move(list_); }

 private:
  std::vector<std::string> list_;
};

void note_bits(const YamlNode& memory, Remarks& remarks) {
  if (memory.kind() != YamlKind::Text || !memory.text().ends_with('b')) return;
  std::string in_bytes = memory.text();
  in_bytes.back() = 'B';
  remarks.add(memory, quote(memory.text()) + " is in bits, which makes " + format_human_bytes(read_bytes(memory)) +
                          "; " + quote(in_bytes) + " is in bytes");
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

/// Looks at every `memory`, `reserved` and `nic` of the file, wherever the format has it.
void walk(const YamlNode& node, Remarks& remarks) {
  if (node.kind() == YamlKind::List) {
    for (const YamlNode& item : node.items()) walk(item, remarks);
  }
  if (node.kind() != YamlKind::Map) return;
  for (const auto& [name, value] : node.entries()) {
    if (name == "memory" || name == "reserved") note_bits(value, remarks);
    if (name == "nic") note_nic(value, remarks);
    walk(value, remarks);
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

}  // namespace

std::vector<std::string> file_remarks(std::string_view text, const std::string& file_name) {
  const YamlNode root = parse_yaml(text, file_name);
  Remarks remarks;
  walk(root, remarks);
  if (root.at("schema").text() == "stagecraft/device/1") note_efficiency(root, remarks);
  return remarks.take();
}

}  // namespace stagecraft
