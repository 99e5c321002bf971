#pragma once

#include <algorithm>
#include <cstdint>

namespace stagecraft {

/// The most devices of a group.
inline constexpr std::int64_t kMostInGroup = 256;

/// How the members of a context group, each with its part of a sample's tokens, attend to the tokens of the others.
enum class ContextAttention : std::uint8_t {
  Ring,       ///< keys and values pass from member to member, while each attends to those that it has
  AllGather,  ///< each gathers the keys and values of all
  AllToAll    ///< each gets some of the heads for all tokens
};

/// Into how many devices a worker of a stage is divided, and how. Its devices are ranks: the tensor index varies
/// fastest, then the context index, then that of the samples. So rank r has the part r mod `tensor` of what a tensor
/// group divides and, of experts, the part r mod `expert`.
struct Degrees {
  std::int64_t tensor = 1;  ///< devices that divide each layer's weights among themselves
  /// Sequence parallelism: what these do not divide by weights (norms, sums, dropout) they divide by tokens.
  bool sequence = true;
  /// A member has a whole multiple of so many rows of the table of words; the rows are padded.
  std::int64_t vocabulary_multiple = 1;
  std::int64_t context = 1;  ///< devices that divide the tokens of each sample among themselves
  ContextAttention attention = ContextAttention::Ring;
  std::int64_t expert = 1;  ///< devices that divide the experts of each block among themselves
  double imbalance = 1.0;   ///< how many times the mean of tokens the busiest of these gets

  /// Members with samples of their own: a group of more experts than tensor and context indices has as many samples of
  /// a microbatch as it needs to have devices for them.
  [[nodiscard]] std::int64_t samples() const { return std::max<std::int64_t>(1, expert / (tensor * context)); }
  [[nodiscard]] std::int64_t devices() const { return tensor * context * samples(); }
  /// Into how many parts the members of a tensor group divide a tensor between stages that each of them has whole.
  [[nodiscard]] std::int64_t sent_parts() const { return sequence ? 1 : tensor; }
  friend bool operator==(const Degrees&, const Degrees&) = default;
};

/// Whether members exchange with others than those before and after them.
[[nodiscard]] inline bool crosses_ring(const Degrees& degrees) { return degrees.tensor < degrees.devices(); }

/// How many devices of a group hold the same parameters.
struct Copies {
  std::int64_t plain = 1;    ///< of what a tensor group divides
  std::int64_t experts = 1;  ///< of those of experts
  friend bool operator==(const Copies&, const Copies&) = default;
};

[[nodiscard]] inline Copies copies_in(const Degrees& degrees) {
  return {degrees.devices() / degrees.tensor, degrees.devices() / degrees.expert};
}

}  // namespace stagecraft
