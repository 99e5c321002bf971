#include "sim/io/topo_explicit.hpp"

#include "sim/base/error.hpp"
#include "sim/io/topo_groups.hpp"
#include "sim/io/topo_latencies.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace stagecraft {
namespace {

using NicSets = std::vector<std::vector<std::size_t>>;

/// The place at which the ways of all NICs to their socket meet; that of the first one if they do not.
std::size_t meeting_place(const TopoTree& tree, const std::vector<std::size_t>& nics) {
  for (const std::size_t place : way_up(tree, tree.nics[nics.front()].place)) {
    const auto is_below = [&](std::size_t nic) {
      const std::vector<std::size_t> way = way_up(tree, tree.nics[nic].place);
      return std::ranges::find(way, place) != way.end();
    };
    if (std::ranges::all_of(nics, is_below)) return place;
  }
  return tree.nics[nics.front()].place;
}

TopoPort port_of(const TopoTree& tree, std::vector<std::size_t> nics) {
  TopoPort port;
  port.place = meeting_place(tree, nics);
  port.up = tree.nics[nics.front()].up;
  port.up.bandwidth = BytesPerSecond(0);
  for (const std::size_t nic : nics) {
    port.up.bandwidth = port.up.bandwidth + tree.nics[nic].up.bandwidth;
    port.speed = port.speed + tree.nics[nic].speed;
  }
  port.nics = std::move(nics);
  return port;
}

/// Whether some GPU has only a part of these NICs nearest to it, or more than these.
bool is_mixed(const NicSets& sets, const std::vector<std::size_t>& nics) {
  return std::ranges::any_of(sets, [&](const std::vector<std::size_t>& others) {
    return others != nics && std::ranges::find_first_of(others, nics) != others.end();
  });
}

void add_ports(const TopoTree& tree, const std::vector<std::size_t>& nics, const std::vector<std::size_t>& gpus,
               std::vector<TopoPort>& ports) {
  if (nics.size() == 1 || nics.size() < gpus.size()) {
    ports.push_back(port_of(tree, nics));
    return;
  }
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    std::vector<std::size_t> own;
    for (std::size_t j = i; j < nics.size(); j += gpus.size()) own.push_back(nics[j]);
    ports.push_back(port_of(tree, std::move(own)));
    ports.back().gpu = gpus[i];
  }
}

class FormBuilder {
 public:
  FormBuilder(const TopoMatrix& matrix, const TopoParts& parts) : matrix_(matrix), parts_(parts) {
    if (parts.nodes > 1) network_ = form_.switches.push_back("network");
  }

  ExplicitForm build() {
    for (std::uint32_t node = 0; node < parts_.nodes; ++node) add_node(node);
    return std::move(form_);
  }

 private:
  using Position = std::size_t;  // in the links of the form

  [[nodiscard]] bool is_cluster() const { return parts_.nodes > 1; }

  Position add_link(const std::string& name, ExplicitEnd a, ExplicitEnd b, const LinkSpec& link) {
    form_.links.push_back({is_cluster() ? prefix_ + name : "", {{a, b}}, link});
    return form_.links.size() - 1;
  }

  void add_node(std::uint32_t node) {
    prefix_ = is_cluster() ? "node" + std::to_string(node) + "." : "";
    NodeId id = NodeId::none();
    if (is_cluster()) id = form_.nodes.push_back("node" + std::to_string(node));
    first_ = form_.devices.size();
    for (std::size_t i = 0; i < matrix_.gpus.size(); ++i) {
      form_.devices.push_back({"gpu" + std::to_string(first_ + i), DeviceKindId(0), std::nullopt, id});
    }
    add_nvlinks();
    if (parts_.tree) add_tree(*parts_.tree);
    if (is_cluster()) add_nics();
    if (is_cluster() && parts_.nvlinks == TopoNvLinks::Pairs) add_routes(*parts_.tree);
  }

  [[nodiscard]] DeviceId device(std::size_t gpu) const { return DeviceId(first_ + gpu); }

  static std::string name_of(std::size_t gpu) { return "gpu" + std::to_string(gpu); }

  void add_nvlinks() {
    const auto nvlinks = [&](std::int64_t count) {
      return LinkSpec{parts_.nvlink.bandwidth * static_cast<double>(count), parts_.nvlink.latency};
    };
    if (parts_.nvlinks == TopoNvLinks::Switch) {
      const SwitchId middle = form_.switches.push_back(prefix_ + "nvswitch");
      for (std::size_t i = 0; i < matrix_.gpus.size(); ++i) {
        add_link(name_of(i) + ".nvlink", device(i), middle, nvlinks(matrix_.gpu_gpu[0][1].nvlinks));
      }
      return;
    }
    for (std::size_t i = 0; i < matrix_.gpus.size(); ++i) {
      for (std::size_t j = i + 1; j < matrix_.gpus.size(); ++j) {
        const std::int64_t count = matrix_.gpu_gpu[i][j].nvlinks;
        if (count > 0) add_link(name_of(i) + "-" + name_of(j), device(i), device(j), nvlinks(count));
      }
    }
  }

  void use(const TopoTree& tree, std::size_t place) {
    for (const std::size_t each : way_up(tree, place)) switches_.try_emplace(each, SwitchId::none());
  }

  void add_tree(const TopoTree& tree) {
    switches_.clear();
    for (const TopoTree::Gpu& gpu : tree.gpus) use(tree, gpu.place);
    for (const TopoPort& port : parts_.ports) {
      if (!port.gpu) use(tree, port.place);
    }
    std::map<bool, int> numbers;  // by whether it is a socket
    std::map<std::size_t, std::string> names;
    for (auto& [place, id] : switches_) {
      const bool is_socket = !tree.places[place].above;
      names[place] = (is_socket ? "numa" : "pcie") + std::to_string(numbers[is_socket]++);
      id = form_.switches.push_back(prefix_ + names[place]);
    }
    gpu_links_.clear();
    for (std::size_t i = 0; i < tree.gpus.size(); ++i) {
      gpu_links_.push_back(
          add_link(name_of(i) + ".pcie", device(i), switches_.at(tree.gpus[i].place), tree.gpus[i].up));
    }
    up_links_.clear();
    for (const auto& [place, id] : switches_) {
      const TopoTree::Place& here = tree.places[place];
      if (here.above) up_links_[place] = add_link(names[place] + ".up", id, switches_.at(*here.above), here.up);
    }
    add_socket_links(tree, names);
  }

  void add_socket_links(const TopoTree& tree, const std::map<std::size_t, std::string>& names) {
    socket_links_.clear();
    for (const auto& [a, a_id] : switches_) {
      for (const auto& [b, b_id] : switches_) {
        if (b <= a || tree.places[a].above || tree.places[b].above) continue;
        socket_links_[{a, b}] = add_link(names.at(a) + "-" + names.at(b), a_id, b_id, tree.socket_link);
      }
    }
  }

  void add_nics() {
    for (std::size_t i = 0; i < parts_.ports.size(); ++i) {
      const TopoPort& port = parts_.ports[i];
      const std::string name = "nic" + std::to_string(i);
      const SwitchId nic = form_.switches.push_back(prefix_ + name);
      const ExplicitEnd at = port.gpu ? ExplicitEnd(device(*port.gpu)) : ExplicitEnd(switches_.at(port.place));
      add_link(name + ".pcie", at, nic, port.up);
      add_link(name + ".port", nic, network_, {port.speed, topo_latency::kNic});
    }
  }

  void add_routes(const TopoTree& tree) {
    for (std::size_t a = 0; a < tree.gpus.size(); ++a) {
      for (std::size_t b = a + 1; b < tree.gpus.size(); ++b) {
        if (matrix_.gpu_gpu[a][b].nvlinks == 0) form_.routes.push_back({device(a), device(b), way(tree, a, b)});
      }
    }
  }

  /// The links from a GPU up to where the ways meet, and down to the other.
  [[nodiscard]] std::vector<Position> way(const TopoTree& tree, std::size_t a, std::size_t b) const {
    std::vector<std::size_t> up = way_up(tree, tree.gpus[a].place);
    std::vector<std::size_t> down = way_up(tree, tree.gpus[b].place);
    std::vector<Position> links{gpu_links_[a]};
    std::optional<Position> between_sockets;
    if (up.back() != down.back()) between_sockets = socket_links_.at(std::minmax(up.back(), down.back()));
    while (up.size() > 1 && down.size() > 1 && up[up.size() - 2] == down[down.size() - 2]) {
      up.pop_back();
      down.pop_back();
    }
    up.pop_back();
    down.pop_back();
    for (const std::size_t place : up) links.push_back(up_links_.at(place));
    if (between_sockets) links.push_back(*between_sockets);
    std::ranges::reverse(down);
    for (const std::size_t place : down) links.push_back(up_links_.at(place));
    links.push_back(gpu_links_[b]);
    return links;
  }

  const TopoMatrix& matrix_;
  const TopoParts& parts_;
  ExplicitForm form_;
  SwitchId network_ = SwitchId::none();
  std::string prefix_;     // of the names of the node that is being added
  std::size_t first_ = 0;  // its first device
  std::map<std::size_t, SwitchId> switches_;
  std::vector<Position> gpu_links_;
  std::map<std::size_t, Position> up_links_;
  std::map<std::pair<std::size_t, std::size_t>, Position> socket_links_;
};

}  // namespace

std::vector<TopoPort> ports_of(const TopoMatrix& matrix, const TopoTree& tree) {
  std::vector<TopoPort> ports;
  if (matrix.nics.empty()) return ports;
  const NicSets sets = nearest_nics(matrix);
  std::map<std::vector<std::size_t>, std::vector<std::size_t>> gpus;  // by what is nearest to them
  for (std::size_t gpu = 0; gpu < sets.size(); ++gpu) gpus[sets[gpu]].push_back(gpu);
  std::vector<bool> is_alone(matrix.nics.size());
  for (const auto& [nics, near] : gpus) {
    if (!is_mixed(sets, nics)) {
      add_ports(tree, nics, near, ports);
      continue;
    }
    for (const std::size_t nic : nics) {
      if (!is_alone[nic]) ports.push_back(port_of(tree, {nic}));
      is_alone[nic] = true;
    }
  }
  return ports;
}

ExplicitForm explicit_nodes(const TopoMatrix& matrix, const TopoParts& parts) {
  STAGECRAFT_CHECK(parts.nodes == 1 || (parts.tree && !parts.ports.empty()), "nodes have a way to each other");
  return FormBuilder(matrix, parts).build();
}

}  // namespace stagecraft
