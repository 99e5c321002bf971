#include "sim/io/import_simai_topo.hpp"

#include "sim/base/text.hpp"
#include "sim/io/text_file.hpp"
#include "sim/io/text_words.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::int64_t kMostSimaiNodes = 200'000;
constexpr std::int64_t kMostSimaiLinks = 400'000;
constexpr const char* kSimaiHint =
    "the first line is: nodes, GPUs of a server, NVSwitches, switches, links, kind of GPU; then the numbers of all "
    "switches; then a line for each link: from, to, bandwidth, delay, error rate";

/// The words of a text, one after the other.
class SimaiWords {
 public:
  SimaiWords(std::string_view text, const std::string& file) : lines_(text, file) {}

  const TextWord& next(const std::string& expected) {
    if (++at_ >= lines_.words().size() || lines_.number() == 0) {
      if (!lines_.next()) refuse("expected " + expected + ", found the end");
      at_ = 0;
    }
    return lines_.words()[at_];
  }

  std::size_t count(const std::string& expected, std::int64_t least, std::int64_t most) {
    const TextWord& word = next(expected);
    const auto number = parse_count(word.text);
    if (!number || *number.value < least || *number.value > most) {
      refuse("expected " + expected + ", from " + std::to_string(least) + " to " + std::to_string(most) + ", found " +
             quote(word.text));
    }
    return static_cast<std::size_t>(*number.value);
  }

  bool is_at_end() { return at_ + 1 >= lines_.words().size() && !lines_.next(); }

  [[nodiscard]] InputPlace place() const {
    return lines_.place(at_ < lines_.words().size() ? lines_.words()[at_].column : 0);
  }

  [[noreturn]] void refuse(const std::string& message) const { throw InputError(message, place(), kSimaiHint); }

 private:
  TextLines lines_;
  std::size_t at_ = 0;
};

class SimaiReader {
 public:
  SimaiReader(std::string_view text, const std::string& file) : words_(text, file) {}

  SimaiTopology read() {
    const std::size_t nodes = words_.count("the number of nodes", 1, kMostSimaiNodes);
    topology_.gpus_per_server = words_.count("the number of GPUs of a server", 1, kMostSimaiNodes);
    const std::size_t nvswitches = words_.count("the number of NVSwitches", 0, kMostSimaiNodes);
    const std::size_t switches = words_.count("the number of switches", 0, kMostSimaiNodes);
    const std::size_t links = words_.count("the number of links", 1, kMostSimaiLinks);
    topology_.gpu_type = words_.next("the kind of GPU").text;
    check_gpus(nodes, nvswitches + switches);
    topology_.nodes.assign(nodes, SimaiTopology::Kind::Gpu);
    for (std::size_t i = 0; i < nvswitches; ++i) read_switch(SimaiTopology::Kind::NvSwitch);
    for (std::size_t i = 0; i < switches; ++i) read_switch(SimaiTopology::Kind::Switch);
    for (std::size_t i = 0; i < links; ++i) read_link();
    if (!words_.is_at_end()) words_.refuse("expected " + std::to_string(links) + " links, found more");
    check_linked();
    return std::move(topology_);
  }

 private:
  void check_gpus(std::size_t nodes, std::size_t switches) const {
    if (switches >= nodes) {
      words_.refuse("expected more nodes than switches, found " + std::to_string(nodes) + " nodes and " +
                    std::to_string(switches) + " switches");
    }
    if ((nodes - switches) % topology_.gpus_per_server == 0) return;
    words_.refuse("expected whole servers of " + std::to_string(topology_.gpus_per_server) + " GPUs, found " +
                  std::to_string(nodes - switches) + " GPUs");
  }

  [[nodiscard]] std::size_t read_node(const std::string& expected) {
    return words_.count(expected, 0, std::ssize(topology_.nodes) - 1);
  }

  void read_switch(SimaiTopology::Kind kind) {
    const std::size_t id = read_node("the number of a switch");
    if (topology_.nodes[id] != SimaiTopology::Kind::Gpu) {
      words_.refuse("expected each switch once, found " + std::to_string(id) + " again");
    }
    topology_.nodes[id] = kind;
  }

  void read_link() {
    SimaiTopology::Link link;
    link.a = read_node("the number of a node");
    link.place = words_.place();
    link.b = read_node("the number of a node");
    check_pair(link.a, link.b);
    const std::string bandwidth_text = words_.next("a bandwidth").text;
    const auto bandwidth = parse_bandwidth(bandwidth_text);
    if (!bandwidth || *bandwidth.value < BytesPerSecond(1) || *bandwidth.value > BytesPerSecond(1e18)) {
      words_.refuse("expected a bandwidth, such as 100Gbps, found " + quote(bandwidth_text));
    }
    const std::string delay_text = words_.next("a delay").text;
    const auto delay = parse_seconds(delay_text);
    if (!delay || *delay.value > Seconds(1e6)) {
      words_.refuse("expected a delay, such as 0.0005ms, found " + quote(delay_text));
    }
    const std::string errors_text = words_.next("an error rate").text;
    const auto errors = parse_number(errors_text);
    if (!errors || *errors.value < 0 || *errors.value > 1) {
      words_.refuse("expected an error rate from 0 to 1, found " + quote(errors_text));
    }
    topology_.has_errors = topology_.has_errors || *errors.value > 0;
    link.link = {*bandwidth.value, *delay.value};
    topology_.links.push_back(std::move(link));
  }

  void check_pair(std::size_t a, std::size_t b) {
    if (a == b) words_.refuse("expected a link between two nodes, found node " + std::to_string(a) + " twice");
    const auto is_gpu = [&](std::size_t node) { return topology_.nodes[node] == SimaiTopology::Kind::Gpu; };
    if (is_gpu(a) && is_gpu(b)) words_.refuse("expected a link to a switch, found one between two GPUs");
    if (pairs_.insert(std::minmax(a, b)).second) return;
    words_.refuse("expected one link between two nodes, found " + std::to_string(a) + " and " + std::to_string(b) +
                  " linked again");
  }

  void check_linked() const {
    std::vector<bool> is_linked(topology_.nodes.size());
    for (const SimaiTopology::Link& link : topology_.links) is_linked[link.a] = is_linked[link.b] = true;
    const auto alone = std::ranges::find(is_linked, false);
    if (alone == is_linked.end()) return;
    throw InputError("expected a link of node " + std::to_string(alone - is_linked.begin()) + ", found none",
                     {words_.place().file, 0, 0, ""}, kSimaiHint);
  }

  SimaiWords words_;
  SimaiTopology topology_;
  std::set<std::pair<std::size_t, std::size_t>> pairs_;
};

}  // namespace

SimaiTopology parse_simai_topo(std::string_view text, const std::string& file_name) {
  check_text(text, file_name);
  return SimaiReader(text, file_name).read();
}

}  // namespace stagecraft
