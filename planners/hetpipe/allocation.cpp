#include "planners/hetpipe/allocation.hpp"

#include "planners/shared/costs/cost_model.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace stagecraft::hetpipe {
namespace {

using Node = std::vector<DeviceId>;

/// The number of devices of every node. **Throws** InputError if the nodes differ in size.
std::size_t node_size(const std::vector<Node>& nodes, const std::string& allocation) {
  for (const Node& node : nodes) {
    if (node.size() == nodes[0].size()) continue;
    throw InputError(
        fmt::format("planner 'hetpipe': allocation '{}' needs nodes of equal size, found nodes of {} and {} devices",
                    allocation, nodes[0].size(), node.size()),
        {}, "allocation 'node' accepts nodes of any size");
  }
  return nodes[0].size();
}

[[noreturn]] void refuse_size(std::size_t size, const std::string& what) {
  throw InputError("planner 'hetpipe': virtual workers of " + counted(size, "device") + " (option worker_size) " +
                   what);
}

/// Forms workers with `per_node` devices of each of the nodes, until the nodes are used up.
void distribute(const std::vector<Node>& nodes, std::size_t per_node, std::vector<Worker>& workers) {
  for (std::size_t used = 0; used < nodes[0].size(); used += per_node) {
    workers.emplace_back();
    for (const Node& node : nodes) {
      const auto begin = node.begin() + static_cast<std::ptrdiff_t>(used);
      workers.back().insert(workers.back().end(), begin, begin + static_cast<std::ptrdiff_t>(per_node));
    }
  }
}

/// Workers of several whole nodes, one after the other; none if nodes have to be divided.
std::vector<Worker> of_whole_nodes(const std::vector<Node>& nodes, std::size_t size) {
  std::vector<Worker> workers(1);
  for (const Node& node : nodes) {
    if (workers.back().size() == size) workers.emplace_back();
    workers.back().insert(workers.back().end(), node.begin(), node.end());
    if (workers.back().size() > size) return {};
  }
  return workers.back().size() == size ? workers : std::vector<Worker>{};
}

std::vector<Worker> of_one_node(const std::vector<Node>& nodes, std::size_t size) {
  std::size_t common = 0;
  for (const Node& node : nodes) common = std::gcd(common, node.size());
  if (size == 0) size = common;
  std::vector<Worker> workers;
  if (common % size != 0) {
    workers = of_whole_nodes(nodes, size);
    if (!workers.empty()) return workers;
    refuse_size(size, "do not divide the nodes, nor are they whole nodes; possible sizes are the divisors of " +
                          std::to_string(common));
  }
  for (const Node& node : nodes) distribute({node}, size, workers);
  return workers;
}

std::vector<Worker> of_all_nodes(const std::vector<Node>& nodes, std::size_t size) {
  const std::size_t each = node_size(nodes, "equal");
  if (size == 0) size = nodes.size();
  if (size % nodes.size() != 0 || each % (size / nodes.size()) != 0) {
    refuse_size(size, "cannot take the same number of devices from each of " + counted(nodes.size(), "node") +
                          " with " + counted(each, "device"));
  }
  std::vector<Worker> workers;
  distribute(nodes, size / nodes.size(), workers);
  return workers;
}

/// Sorts the nodes, the fastest first; equally fast nodes keep the platform's order.
void sort_by_speed(const LayerGraph& graph, const Platform& platform, std::vector<Node>& nodes) {
  std::ranges::stable_sort(nodes, {}, [&](const Node& node) { return slowest_factor(graph, platform, node); });
}

std::vector<Worker> of_two_nodes(const LayerGraph& graph, const Platform& platform, std::vector<Node> nodes,
                                 std::size_t size) {
  const std::size_t each = node_size(nodes, "hybrid");
  if (nodes.size() % 2 != 0) {
    throw InputError(
        "planner 'hetpipe': allocation 'hybrid' needs an even number of nodes, found " + std::to_string(nodes.size()),
        {}, "allocations 'node' and 'equal' accept any number");
  }
  if (size == 0) size = each % 2 == 0 ? each : 2 * each;
  if (size % 2 != 0 || each % (size / 2) != 0) {
    refuse_size(size, "cannot take half of their devices from each of two nodes with " + counted(each, "device"));
  }
  sort_by_speed(graph, platform, nodes);
  std::vector<Worker> workers;
  for (std::size_t i = 0; i < nodes.size() / 2; ++i) {
    distribute({nodes[i], nodes[nodes.size() - 1 - i]}, size / 2, workers);
  }
  return workers;
}

}  // namespace

Allocation allocation_of(const std::string& name) {
  if (name == "node") return Allocation::Node;
  return name == "equal" ? Allocation::Equal : Allocation::Hybrid;
}

std::vector<Worker> virtual_workers(const LayerGraph& graph, const Platform& platform, Allocation allocation,
                                    std::size_t size) {
  const std::vector<Node> nodes = nodes_of(platform);
  switch (allocation) {
    case Allocation::Node: return of_one_node(nodes, size);
    case Allocation::Equal: return of_all_nodes(nodes, size);
    case Allocation::Hybrid: return of_two_nodes(graph, platform, nodes, size);
  }
  return {};
}

std::vector<std::int64_t> worker_sizes(const LayerGraph& graph, const Platform& platform, Allocation allocation) {
  const std::size_t devices = platform.devices.size();
  std::vector<std::int64_t> sizes{std::ssize(virtual_workers(graph, platform, allocation, 0).front())};
  for (std::size_t size = 1; size <= devices; ++size) {
    if (devices % size != 0 || std::cmp_equal(size, sizes.front())) continue;
    try {
      static_cast<void>(virtual_workers(graph, platform, allocation, size));
      sizes.push_back(static_cast<std::int64_t>(size));
    } catch (const InputError&) {
      continue;
    }
  }
  return sizes;
}

}  // namespace stagecraft::hetpipe
