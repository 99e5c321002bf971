#include "experiments/view/chakra_nodes.hpp"

#include "experiments/view/trace_content.hpp"
#include "experiments/view/waits.hpp"
#include "sim/base/error.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::uint32_t kNoEntry = ~std::uint32_t{0};

/// The all-reduce of one bucket: its marks and its flows, which are appended one after the other.
struct ReducedBucket {
  std::uint32_t first = 0;  ///< its first mark, an entry
  std::uint32_t last = 0;   ///< its last mark
  std::set<DeviceId> members;
};

bool is_of_collective(OpKind kind) {
  return kind == OpKind::CollectiveBegin || is_ring_flow(kind) || kind == OpKind::CollectiveEnd;
}

/// Builds the graphs: first the nodes, in the order of starts, then what they wait for.
class ChakraBuilder {
 public:
  ChakraBuilder(const RunRecord& record, const Platform& platform, const RingBytes& rings)
      : timeline_(record.timeline),
        platform_(platform),
        rings_(rings),
        waits_(record, Waits::Of::Dependencies),
        waits_and_turns_(record, Waits::Of::DependenciesAndTurns) {
    run_.devices.resize(platform.devices.size());
    origins_.resize(platform.devices.size());
    nodes_of_.resize(timeline_.size());
  }

  ChakraRun build() {
    find_buckets();
    find_lanes();
    std::vector<std::uint32_t> order(timeline_.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::stable_sort(order, {},
                             [&](std::uint32_t i) { return std::pair(timeline_[i].start, timeline_[i].id); });
    for (const std::uint32_t entry : order) add_nodes(entry);
    for (const DeviceId device : indices(run_.devices)) {
      for (std::uint32_t node = 0; node < run_.devices[device].size(); ++node) connect(device, node);
    }
    return std::move(run_);
  }

 private:
  /// The all-reduces, in the order of operations. The flows of one stand between its marks.
  void find_buckets() {
    std::vector<std::uint32_t> order(timeline_.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::sort(order, {}, [&](std::uint32_t i) { return timeline_[i].id; });
    bucket_of_.assign(timeline_.size(), kNoEntry);
    bool is_open = false;
    for (const std::uint32_t i : order) {
      const TimelineEntry& entry = timeline_[i];
      if (!is_of_collective(entry.kind)) continue;
      if (!is_open) buckets_.push_back({.first = i, .last = i, .members = {}});
      is_open = entry.kind != OpKind::CollectiveEnd;
      bucket_of_[i] = static_cast<std::uint32_t>(buckets_.size() - 1);
      buckets_.back().last = i;
      if (is_ring_flow(entry.kind)) {
        buckets_.back().members.insert({platform_.device(entry.from), platform_.device(entry.to)});
      }
    }
  }

  /// What came before each computation and each post on its device. They are in the order of their starts.
  void find_lanes() {
    before_.assign(timeline_.size(), kNoEntry);
    IndexVector<DeviceId, std::uint32_t> last(platform_.devices.size(), kNoEntry);
    for (std::uint32_t i = 0; i < timeline_.size(); ++i) {
      if (!is_compute(timeline_[i].kind)) continue;
      std::uint32_t& before = last[platform_.device(timeline_[i].from)];
      before_[i] = std::exchange(before, i);
    }
  }

  void add_nodes(std::uint32_t i) {
    const TimelineEntry& entry = timeline_[i];
    if (bucket_of_[i] != kNoEntry) {
      if (buckets_[bucket_of_[i]].first == i) add_collective(buckets_[bucket_of_[i]]);
    } else if (entry.kind == OpKind::SwapOut || entry.kind == OpKind::SwapIn) {
      const bool is_out = entry.kind == OpKind::SwapOut;
      const DeviceId device = platform_.device(is_out ? entry.from : entry.to);
      add(device, i, is_out ? ChakraKind::MemoryStore : ChakraKind::MemoryLoad);
    } else if (is_transfer(entry.kind)) {
      if (entry.from != entry.to) add_message(i);
    } else if (is_compute(entry.kind) && entry.kind != OpKind::Post) {
      add(platform_.device(entry.from), i, ChakraKind::Compute);
    }
  }

  /// A node of the device for an entry, with what every kind of node has.
  ChakraNode& add(DeviceId device, std::uint32_t i, ChakraKind kind) {
    const TimelineEntry& entry = timeline_[i];
    std::vector<ChakraNode>& nodes = run_.devices[device];
    nodes_of_[i].emplace_back(device, static_cast<std::uint32_t>(nodes.size()));
    origins_[device].push_back(i);
    ChakraNode node;
    node.kind = kind;
    node.name = slice_name(entry);
    node.microbatch = entry.microbatch;
    node.stage = entry.stage;
    node.start = entry.start;
    node.end = entry.end;
    node.bytes = entry.bytes;
    return nodes.emplace_back(std::move(node));
  }

  void add_message(std::uint32_t i) {
    const TimelineEntry& entry = timeline_[i];
    const DeviceId from = platform_.device(entry.from);
    const DeviceId to = platform_.device(entry.to);
    const std::uint32_t first = first_leg(i);
    if (first == i) {
      tags_[i] = next_tag_[{from, to}]++;
      ChakraNode& send = add(from, i, ChakraKind::Send);
      send.peer = to;
      send.tag = tags_[i];
    }
    if (is_last(entry.leg)) {
      ChakraNode& receive = add(to, i, ChakraKind::Receive);
      receive.peer = from;
      receive.tag = tags_.at(first);
    }
  }

  /// A further leg depends on nothing but the one before.
  [[nodiscard]] std::uint32_t first_leg(std::uint32_t i) const {
    while (is_continued(timeline_[i].leg)) i = waits_.of(i).front();
    return i;
  }

  void add_collective(const ReducedBucket& bucket) {
    const TimelineEntry& first = timeline_[bucket.first];
    const std::vector<Bytes>& sizes = rings_.at(first.chunk);
    const Bytes bytes = sizes.at(reduced_[first.chunk]++ % sizes.size());
    const std::vector<DeviceId> members(bucket.members.begin(), bucket.members.end());
    const auto known = std::ranges::find(run_.groups, members);
    const auto group = static_cast<std::uint32_t>(known - run_.groups.begin());
    if (known == run_.groups.end()) run_.groups.push_back(members);
    for (const DeviceId device : members) {
      ChakraNode& node = add(device, bucket.first, ChakraKind::Collective);
      node.name = std::string(to_string(OpKind::AllReduce)) + ' ' + std::to_string(first.microbatch);
      node.end = timeline_[bucket.last].end;
      node.bytes = bytes;
      node.group = group;
    }
  }

  /// The node that stands for an entry on a device; any leg of a tensor's way stands for its message.
  [[nodiscard]] std::optional<std::uint32_t> node_on(DeviceId device, std::uint32_t i) const {
    const std::uint32_t entry = bucket_of_[i] == kNoEntry ? i : buckets_[bucket_of_[i]].first;
    for (const auto& [where, node] : nodes_of_[entry]) {
      if (where == device) return node;
    }
    return std::nullopt;
  }

  /// Marks have no nodes, nor has what moves within a device: they hand on what they waited for.
  [[nodiscard]] bool hands_on(std::uint32_t i) const { return nodes_of_[i].empty() && bucket_of_[i] == kNoEntry; }

  void connect(DeviceId device, std::uint32_t number) {
    ChakraNode& node = run_.devices[device][number];
    const std::uint32_t origin = origins_[device][number];
    std::set<std::uint32_t> found;
    std::set<std::uint32_t> seen;
    std::vector<std::uint32_t> open = waited_for(is_transfer(timeline_[origin].kind) ? first_leg(origin) : origin);
    while (!open.empty()) {
      const std::uint32_t i = open.back();
      open.pop_back();
      if (const auto on = node_on(device, i)) {
        found.insert(*on);
      } else if (hands_on(i)) {
        if (seen.insert(i).second) std::ranges::copy(waited_for(i), std::back_inserter(open));
      } else {
        const bool is_met =
            node.kind == ChakraKind::Send || node.kind == ChakraKind::Receive || node.kind == ChakraKind::Collective;
        STAGECRAFT_CHECK(is_met, "an operation waits for another device without a message");
      }
    }
    found.erase(number);
    node.data_deps.assign(found.begin(), found.end());
    if (node.kind == ChakraKind::Compute) follow(device, node, before_[origin]);
  }

  /// The waits of an entry. A swap also waits for the copy before it in its direction, a post for its turn on its
  /// device.
  [[nodiscard]] std::vector<std::uint32_t> waited_for(std::uint32_t i) const {
    const bool is_swap = timeline_[i].kind == OpKind::SwapOut || timeline_[i].kind == OpKind::SwapIn;
    const auto waits = is_swap ? waits_and_turns_.of(i) : waits_.of(i);
    std::vector<std::uint32_t> all(waits.begin(), waits.end());
    if (timeline_[i].kind == OpKind::Post && before_[i] != kNoEntry) all.push_back(before_[i]);
    return all;
  }

  void follow(DeviceId device, ChakraNode& node, std::uint32_t before) const {
    while (before != kNoEntry && timeline_[before].kind == OpKind::Post) before = before_[before];
    if (before == kNoEntry) return;
    const std::uint32_t number = *node_on(device, before);
    if (!std::ranges::binary_search(node.data_deps, number)) node.ctrl_deps.push_back(number);
  }

  const Timeline& timeline_;
  const Platform& platform_;
  const RingBytes& rings_;
  Waits waits_;
  Waits waits_and_turns_;
  ChakraRun run_;
  std::vector<ReducedBucket> buckets_;
  std::vector<std::uint32_t> bucket_of_;  ///< by entry
  std::vector<std::uint32_t> before_;     ///< by entry: the one before it on the device
  /// By entry: its devices and the numbers of its nodes there.
  std::vector<std::vector<std::pair<DeviceId, std::uint32_t>>> nodes_of_;
  IndexVector<DeviceId, std::vector<std::uint32_t>> origins_;  ///< by node: its entry
  std::map<std::uint32_t, std::uint32_t> tags_;                ///< by entry that starts a message
  std::map<std::pair<DeviceId, DeviceId>, std::uint32_t> next_tag_;
  std::map<std::uint16_t, std::size_t> reduced_;  ///< by ring: the buckets so far
};

}  // namespace

ChakraRun chakra_run(const RunRecord& record, const Platform& platform, const RingBytes& rings) {
  return ChakraBuilder(record, platform, rings).build();
}

}  // namespace stagecraft
