#include "planners/exhaustive/free_devices.hpp"

#include <algorithm>
#include <cstdint>
#include <variant>

namespace stagecraft::exhaustive {
namespace {

/// Whether names of nodes say nothing, and no link differs from what the platform's file says.
bool has_plain_network(const Platform& platform) {
  const auto* form = std::get_if<NodeForm>(&platform.spec.form);
  if (form == nullptr || platform.members != nullptr) return false;
  const bool is_plain = platform.nodes.size() == 1 || std::holds_alternative<SwitchedNetwork>(form->network) ||
                        std::holds_alternative<FullNetwork>(form->network);
  return is_plain && build_platform(platform.spec).links == platform.links;
}

const NodeKind& kind_of(const Platform& platform, const Node& node) {
  return std::get<NodeForm>(platform.spec.form).node_kinds[node.kind];
}

bool has_switch(const NodeKind& kind) {
  return kind.interconnect && std::holds_alternative<SwitchedNode>(kind.interconnect->shape);
}

bool is_equal(const Device& a, const Device& b) {
  return a.kind == b.kind && a.slowdown == b.slowdown && a.memory == b.memory;
}

/// Whether two devices of a node with a switch have the same links, or each its own. A NIC is of no use to a single
/// node.
bool is_alike(const Platform& platform, const NodeKind& kind, const Device& a, const Device& b) {
  const bool has_same_nic = platform.nodes.size() == 1 || a.nic == b.nic;
  const bool has_own_host_link = !kind.host || kind.host->shared_by == 1;
  return is_equal(a, b) && has_same_nic && (has_own_host_link || a.to_host == b.to_host);
}

std::vector<std::size_t> runs_of(const Platform& platform, const Node& node) {
  const NodeKind& kind = kind_of(platform, node);
  std::vector<std::size_t> sizes{1};
  for (std::uint32_t i = 1; i < kind.device_count; ++i) {
    const DeviceId device(node.first_device.value() + i);
    const DeviceId last(device.value() - 1);
    if (has_switch(kind) && is_alike(platform, kind, platform.devices[last], platform.devices[device])) {
      ++sizes.back();
    } else {
      sizes.push_back(1);
    }
  }
  return sizes;
}

bool is_alike(const Platform& platform, const Node& a, const Node& b) {
  const NodeKind& kind = kind_of(platform, a);
  if (a.kind != b.kind || !(has_switch(kind) || kind.device_count == 1)) return false;
  for (std::uint32_t i = 0; i < kind.device_count; ++i) {
    const Device& of_a = platform.devices[DeviceId(a.first_device.value() + i)];
    const Device& of_b = platform.devices[DeviceId(b.first_device.value() + i)];
    if (!is_equal(of_a, of_b)) return false;
  }
  return true;
}

/// Enters in `after` what nodes owe after a stage.
class Debts {
 public:
  Debts(const std::vector<NodeRuns>& nodes, const FreeDevices& before, FreeDevices& after)
      : nodes_(nodes), before_(before), after_(after) {}

  void enter() {
    std::size_t run = 0;
    Use last;
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
      const Use use = use_of(nodes_[node], run);
      if (nodes_[node].is_like_last) after_.owes[node] = owes(before_.owes[node] != 0, last, use) ? 1 : 0;
      last = use;
      run += nodes_[node].sizes.size();
    }
  }

 private:
  struct Use {
    bool is_now = false;   ///< by this stage
    bool is_ever = false;  ///< by this or an earlier one
  };

  [[nodiscard]] Use use_of(const NodeRuns& node, std::size_t run) const {
    Use use;
    for (std::size_t i = 0; i < node.sizes.size(); ++i) {
      use.is_now = use.is_now || after_.left[run + i] < before_.left[run + i];
      use.is_ever = use.is_ever || after_.left[run + i] < node.sizes[i];
    }
    return use;
  }

  static bool owes(bool owed, const Use& last, const Use& own) {
    if (last.is_now && own.is_now) return false;
    return owed || (own.is_ever && !last.is_ever);
  }

  const std::vector<NodeRuns>& nodes_;
  const FreeDevices& before_;
  FreeDevices& after_;
};

}  // namespace

std::vector<NodeRuns> in_platform_order(const Platform& platform) { return {{{platform.devices.size()}, false}}; }

std::vector<NodeRuns> alike_devices(const Platform& platform) {
  if (!has_plain_network(platform)) return std::vector<NodeRuns>(platform.devices.size(), NodeRuns{{1}, false});
  std::vector<NodeRuns> nodes;
  const Node* last = nullptr;
  for (const Node& node : platform.nodes) {
    nodes.push_back({runs_of(platform, node), last != nullptr && is_alike(platform, *last, node)});
    last = &node;
  }
  return nodes;
}

FreeDevices all_free(const std::vector<NodeRuns>& nodes) {
  FreeDevices free;
  for (const NodeRuns& node : nodes) free.left.insert(free.left.end(), node.sizes.begin(), node.sizes.end());
  free.owes.assign(nodes.size(), 0);
  return free;
}

bool may_stay(const FreeDevices& free) { return std::ranges::count(free.owes, 1) == 0; }

void for_each_choice(const std::vector<NodeRuns>& nodes, const FreeDevices& free, std::size_t replicas,
                     const std::function<void(const FreeDevices&)>& use) {
  FreeDevices after = free;
  const std::function<void(std::size_t, std::size_t)> take = [&](std::size_t run, std::size_t wanted) {
    if (run == free.left.size()) {
      if (wanted > 0) return;
      Debts(nodes, free, after).enter();
      use(after);
      return;
    }
    const bool is_last = run + 1 == free.left.size();
    for (std::size_t count = std::min(wanted, free.left[run]);; --count) {
      after.left[run] = free.left[run] - count;
      take(run + 1, wanted - count);
      if (count == 0 || is_last) break;
    }
    after.left[run] = free.left[run];
  };
  take(0, replicas);
}

std::vector<DeviceId> taken(const std::vector<NodeRuns>& nodes, const FreeDevices& before, const FreeDevices& after) {
  std::vector<DeviceId> devices;
  std::size_t run = 0;
  std::size_t end = 0;  // of the run
  for (const NodeRuns& node : nodes) {
    for (const std::size_t size : node.sizes) {
      end += size;
      for (std::size_t left = before.left[run]; left > after.left[run]; --left) devices.emplace_back(end - left);
      ++run;
    }
  }
  return devices;
}

}  // namespace stagecraft::exhaustive
