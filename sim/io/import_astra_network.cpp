#include "sim/io/import_astra_network.hpp"

#include "sim/base/error.hpp"
#include "sim/io/platform_topology.hpp"
#include "sim/io/yaml_node.hpp"
#include "sim/io/yaml_values.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace stagecraft {
namespace {

using AstraShape = AstraNetwork::Shape;
using AstraDimension = AstraNetwork::Dimension;

constexpr std::size_t kMostAstraDimensions = 8;

const std::vector<std::pair<std::string, AstraShape>>& astra_shapes() {
  static const std::vector<std::pair<std::string, AstraShape>> shapes = {
      {"Ring", AstraShape::Ring}, {"FullyConnected", AstraShape::FullyConnected}, {"Switch", AstraShape::Switch}};
  return shapes;
}

/// The values of a key, one for each dimension.
std::vector<YamlNode> read_dimensions(const YamlNode& root, const char* key, std::size_t count) {
  std::vector<YamlNode> items = root.at(key).items();
  if (items.size() != count) {
    root.at(key).fail("expected " + std::to_string(count) + " values, as 'topology' has, found " +
                      std::to_string(items.size()));
  }
  return items;
}

LinkSpec read_astra_link(const YamlNode& bandwidth, const YamlNode& latency) {
  constexpr double kGibibyte = 1 << 30;
  constexpr double kMostGiga = 1e8;
  constexpr double kMostNanoseconds = 1e15;
  const double giga = read_positive_number(bandwidth);
  if (giga > kMostGiga || giga < 1 / kGibibyte) bandwidth.fail_expected("a bandwidth in GB/s, at most 100000000");
  if (read_number(latency) > kMostNanoseconds) latency.fail_expected("a latency in ns, at most 1e15");
  const auto seconds = parse_seconds(latency.text() + " ns");
  STAGECRAFT_CHECK(seconds, "a number with a unit is a time");
  return {BytesPerSecond(giga * kGibibyte), *seconds.value};
}

/// Builds the explicit form: links of each row of each dimension, and routes.
class AstraForm {
 public:
  explicit AstraForm(const std::vector<AstraDimension>& dimensions) : dimensions_(dimensions) {
    for (const AstraDimension& dimension : dimensions) {
      strides_.push_back(count_);
      count_ *= dimension.count;
    }
  }

  ExplicitForm build() {
    for (std::size_t npu = 0; npu < count_; ++npu) {
      if (npu % dimensions_.front().count == 0) form_.nodes.push_back("node" + std::to_string(form_.nodes.size()));
      form_.devices.push_back(
          {"gpu" + std::to_string(npu), DeviceKindId(0), std::nullopt, NodeId(form_.nodes.size() - 1)});
    }
    for (std::size_t dimension = 0; dimension < dimensions_.size(); ++dimension) {
      links_.emplace_back();
      for (std::size_t npu = 0; npu < count_; ++npu) {
        if (at(npu, dimension) == 0) add_row(npu, dimension);
      }
    }
    for (std::size_t a = 0; a < count_; ++a) {
      for (std::size_t b = a + 1; b < count_; ++b) add_route(a, b);
    }
    return std::move(form_);
  }

 private:
  using Position = std::size_t;  // in the links of the form

  /// Where an NPU is in its row.
  [[nodiscard]] std::size_t at(std::size_t npu, std::size_t dimension) const {
    return npu / strides_[dimension] % dimensions_[dimension].count;
  }

  void add_link(std::size_t dimension, std::size_t a, std::size_t b) {
    const std::string name = "d" + std::to_string(dimension) + ".gpu" + std::to_string(a) + "-gpu" + std::to_string(b);
    const ExplicitEnd from = DeviceId(a);
    const ExplicitEnd to = DeviceId(b);
    links_[dimension][{a, b}] = links_[dimension][{b, a}] = form_.links.size();
    form_.links.push_back({name, {{from, to}}, dimensions_[dimension].link});
  }

  void add_row(std::size_t first, std::size_t dimension) {
    const AstraDimension& row = dimensions_[dimension];
    const auto npu = [&](std::size_t i) { return first + i * strides_[dimension]; };
    if (row.shape == AstraShape::Switch) {
      const std::string name = "d" + std::to_string(dimension) + ".switch" + std::to_string(first);
      const SwitchId middle = form_.switches.push_back(name);
      for (std::size_t i = 0; i < row.count; ++i) {
        links_[dimension][{npu(i), npu(i)}] = form_.links.size();
        form_.links.push_back(
            {name + ".gpu" + std::to_string(npu(i)), {{ExplicitEnd(DeviceId(npu(i))), ExplicitEnd(middle)}}, row.link});
      }
      return;
    }
    for (std::size_t i = 0; i < row.count; ++i) {
      for (std::size_t j = i + 1; j < row.count; ++j) {
        const bool are_neighbours = j == i + 1 || (i == 0 && j + 1 == row.count);
        if (row.shape == AstraShape::FullyConnected || are_neighbours) add_link(dimension, npu(i), npu(j));
      }
    }
  }

  /// The way between two NPUs of a row, and on to `links`.
  void add_way(std::size_t dimension, std::size_t from, std::size_t to, std::vector<Position>& links) const {
    const AstraDimension& row = dimensions_[dimension];
    const std::map<std::pair<std::size_t, std::size_t>, Position>& known = links_[dimension];
    if (row.shape == AstraShape::Switch) {
      links.push_back(known.at({from, from}));
      links.push_back(known.at({to, to}));
    } else if (row.shape == AstraShape::FullyConnected) {
      links.push_back(known.at({from, to}));
    } else {
      const std::size_t count = row.count;
      const std::size_t forward = (at(to, dimension) + count - at(from, dimension)) % count;
      const std::size_t step = forward <= count - forward ? 1 : count - 1;
      while (from != to) {
        const std::size_t here = at(from, dimension);
        const std::size_t next = from - here * strides_[dimension] + (here + step) % count * strides_[dimension];
        links.push_back(known.at({from, next}));
        from = next;
      }
    }
  }

  void add_route(std::size_t a, std::size_t b) {
    std::vector<Position> links;
    std::size_t npu = a;
    for (std::size_t dimension = 0; dimension < dimensions_.size(); ++dimension) {
      const std::size_t next = npu + (at(b, dimension) - at(npu, dimension)) * strides_[dimension];
      if (next != npu) add_way(dimension, npu, next, links);
      npu = next;
    }
    if (links.size() > 1) form_.routes.push_back({DeviceId(a), DeviceId(b), std::move(links)});
  }

  const std::vector<AstraDimension>& dimensions_;
  std::vector<std::size_t> strides_;  // by dimension
  std::size_t count_ = 1;
  ExplicitForm form_;
  /// By dimension and pair of NPUs; of a switch, the link of an NPU is that of it and itself.
  std::vector<std::map<std::pair<std::size_t, std::size_t>, Position>> links_;
};

Interconnect interconnect_of(const AstraDimension& dimension) {
  if (dimension.shape == AstraShape::Switch) return {SwitchedNode{}, dimension.link};
  // A ring of two is one link.
  if (dimension.shape == AstraShape::FullyConnected || dimension.count == 2) return {FullNode{}, dimension.link};
  return {RingNode{}, dimension.link};
}

bool is_node_form(const AstraNetwork& network) {
  const std::vector<AstraDimension>& dimensions = network.dimensions;
  return dimensions.size() == 1 || (dimensions.size() == 2 && dimensions.back().shape == AstraShape::Switch);
}

/// `Ring of 4`
std::string text_of(const AstraDimension& dimension) {
  const auto named = std::ranges::find(astra_shapes(), dimension.shape, &std::pair<std::string, AstraShape>::second);
  return named->first + " of " + std::to_string(dimension.count);
}

std::vector<std::string> astra_remarks(const AstraNetwork& network) {
  std::vector<std::string> remarks{"bandwidths: 1 GB/s is 2^30 B/s, as ASTRA-sim's analytical backends reckon"};
  if (network.dimensions.size() == 1) return remarks;
  std::string outside;
  for (std::size_t i = 1; i < network.dimensions.size(); ++i) {
    outside += (i == 1 ? "" : ", ") + text_of(network.dimensions[i]);
  }
  remarks.push_back("dimensions: inside a node " + text_of(network.dimensions.front()) + "; between nodes " + outside);
  return remarks;
}

std::uint64_t npus_of(const AstraNetwork& network) {
  std::uint64_t npus = 1;
  for (const AstraDimension& dimension : network.dimensions) npus *= dimension.count;
  return npus;
}

}  // namespace

AstraNetwork parse_astra_network(std::string_view text, const std::string& file_name) {
  const YamlNode root = parse_yaml(text, file_name);
  root.allow_keys({"topology", "npus_count", "bandwidth", "latency"});
  const std::vector<YamlNode> shapes = root.at("topology").items();
  if (shapes.empty() || shapes.size() > kMostAstraDimensions) {
    root.at("topology").fail("expected one to eight dimensions, found " + std::to_string(shapes.size()));
  }
  const std::vector<YamlNode> counts = read_dimensions(root, "npus_count", shapes.size());
  const std::vector<YamlNode> bandwidths = read_dimensions(root, "bandwidth", shapes.size());
  const std::vector<YamlNode> latencies = read_dimensions(root, "latency", shapes.size());
  AstraNetwork network;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    AstraDimension dimension;
    dimension.shape = read_choice<AstraShape>(shapes[i], astra_shapes());
    dimension.count = static_cast<std::uint32_t>(read_count(counts[i], 2, kMostDevices));
    dimension.link = read_astra_link(bandwidths[i], latencies[i]);
    network.dimensions.push_back(dimension);
    if (npus_of(network) > static_cast<std::uint64_t>(kMostDevices)) {
      counts[i].fail("expected at most 100000 NPUs in all, found " + std::to_string(npus_of(network)), kPart);
    }
  }
  return network;
}

bool is_astra_platform(const AstraNetwork& network) {
  return is_node_form(network) || npus_of(network) <= kMostAstraRouted;
}

TopoPlatform astra_platform(const AstraNetwork& network, const std::string& name, const DeviceKind& kind) {
  STAGECRAFT_CHECK(is_astra_platform(network), "a network that a platform describes");
  TopoPlatform result;
  result.remarks = astra_remarks(network);
  PlatformSpec& spec = result.spec;
  spec.name = name;
  spec.device_kinds.push_back(kind);
  if (!is_node_form(network)) {
    spec.form = AstraForm(network.dimensions).build();
    return result;
  }
  const AstraDimension& first = network.dimensions.front();
  NodeKind node{"node", DeviceKindId(0), first.count, interconnect_of(first), {}, {}};
  std::uint32_t nodes = 1;
  if (network.dimensions.size() == 2) {
    node.nic = NicSpec{network.dimensions.back().link, true, 1};
    nodes = network.dimensions.back().count;
  }
  NodeForm form;
  form.groups = {{form.node_kinds.push_back(std::move(node)), nodes}};
  spec.form = std::move(form);
  return result;
}

}  // namespace stagecraft
