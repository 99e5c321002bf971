#pragma once

#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/layer_graph.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stagecraft {

/// Layers [begin, end) of a chain, by position, on one of the devices.
struct ChainStage {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::uint32_t device = 0;
  friend bool operator==(const ChainStage&, const ChainStage&) = default;
};

/// By tensor of `Crossings::branching(cut)`: the bytes that its producer sends to the stages behind the cut. The memory
/// ledger counts a tensor once for each stage that uses it, so this depends on the cuts behind.
using Charges = std::vector<Bytes>;

/// Which tensors of a graph pass between which positions of a topological order of its layers.
class Crossings {
 public:
  /// An edge to or from a layer, by the position of its other end.
  struct Use {
    std::size_t at = 0;
    Bytes bytes;
  };

  Crossings() = default;
  /// **Cost** O(edges log edges) and the sizes of all `branching`.
  Crossings(const LayerGraph& graph, const std::vector<LayerId>& order);

  [[nodiscard]] std::size_t layers() const { return made_.size(); }
  /// The layers that use the tensor of the layer at `position`, ascending; each with its largest edge.
  [[nodiscard]] const std::vector<Use>& uses_of(std::size_t position) const { return made_[position]; }
  /// The layers whose tensors the layer at `position` uses.
  [[nodiscard]] const std::vector<Use>& needs_of(std::size_t position) const { return needed_[position]; }
  /// The producers before the cut whose tensors are used by several layers behind it, ascending. Only for these does it
  /// depend on the cuts behind what is sent. A chain has none.
  [[nodiscard]] const std::vector<std::size_t>& branching(std::size_t cut) const { return branching_[cut]; }
  /// The bytes of a tensor that its producer sends behind the cut.
  [[nodiscard]] Bytes sent(std::size_t producer, std::size_t cut, const Charges& behind) const;

 private:
  std::vector<std::vector<Use>> made_;
  std::vector<std::vector<Use>> needed_;
  std::vector<std::vector<std::size_t>> branching_;
};

/// Whether each layer's tensor goes to the next layer and to no other one.
[[nodiscard]] bool is_plain_chain(const Crossings& crossings);

/// A stage that ends at a cut and grows to the front, layer by layer.
class StageWalk {
 public:
  explicit StageWalk(const Crossings& crossings) : crossings_(crossings), largest_(crossings.layers()) {}

  /// Starts with the empty stage before the cut `end`.
  void restart(std::size_t end);
  void prepend();
  /// Goes on as if all layers from `begin` on had been prepended. **Requires** a plain chain, and that at least one
  /// was.
  void skip_to(std::size_t begin);

  /// The bytes that the stage receives: each tensor that is made before it and used in it, at its largest edge there.
  [[nodiscard]] Bytes received() const { return received_; }
  /// The bytes that the layer prepended last sends behind the stage.
  [[nodiscard]] Bytes sent_by_first(const Charges& behind) const { return crossings_.sent(begin_, end_, behind); }
  /// The charges of the cut before the stage.
  [[nodiscard]] Charges charges(const Charges& behind) const;

 private:
  const Crossings& crossings_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  Bytes received_;
  std::vector<Bytes> largest_;  // by producer: the largest edge into the stage
  std::vector<std::size_t> touched_;
};

/// The bytes that each stage exchanges with stages on other devices, as the memory ledger counts them: each tensor once
/// for each pair of its stage and a stage that uses it, whatever stages lie between. **Cost** O(edges · log stages).
[[nodiscard]] std::vector<Bytes> exchanged_bytes(const Crossings& crossings, std::span<const ChainStage> stages);

}  // namespace stagecraft
