#pragma once

#include "sim/io/kineto_trace.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// What in a trace is a layer.
struct KinetoChoice {
  /// A pattern of names of annotations and modules, with `*` for any characters; or `operators`. None: modules, where
  /// the trace has any, and otherwise operators.
  std::optional<std::string> layers;
  std::optional<std::int64_t> passes;  ///< forward passes in the trace; none: as the trace says
};

/// Where the time of a kernel goes that no layer has.
enum class NoLayer : std::uint8_t { Communication, Optimizer, Backward, Outside, NoCall };
inline constexpr std::size_t kNoLayers = 5;

/// Kernels and their time.
struct KernelSum {
  std::size_t count = 0;
  Nanoseconds time = 0;
  friend bool operator==(const KernelSum&, const KernelSum&) = default;
};

/// A layer of a trace, with the time of all passes.
struct KinetoLayer {
  std::string name;
  KernelSum forward;
  KernelSum backward;
  Bytes input{-1};  ///< what its first operator reads; -1: not recorded
  Bytes parameters;
  std::int64_t first = -1;  ///< first dimension of the input; -1: not recorded, or none
  bool in_place = false;    ///< its output is in the memory of its input
};

/// A forward or backward of all layers of a trace: from the start of its first kernel to the end of its last one.
struct KinetoOperation {
  bool is_backward = false;
  std::int64_t pass = 0;
  Nanoseconds start = 0;
  Nanoseconds end = 0;
  friend bool operator==(const KinetoOperation&, const KinetoOperation&) = default;
};

/// How the time of a trace's kernels is divided.
struct KinetoProfile {
  std::string file;
  std::optional<std::int64_t> rank;
  std::vector<std::string> device_names;  ///< those of the trace
  bool has_modules = true;                ///< its layers are ranges, not operators
  std::int64_t passes = 1;
  std::vector<KinetoLayer> layers;          ///< in the order in which the forward reaches them
  std::vector<KinetoOperation> operations;  ///< by pass, the forward first
  std::array<KernelSum, kNoLayers> unattributed{};
  KernelSum kernels;          ///< all; the sum of those of the layers and of the unattributed ones
  Nanoseconds base_time = 0;  ///< to which the times of operations are relative
  Nanoseconds busy = 0;       ///< time in which a device runs at least one kernel, of all devices
  Nanoseconds idle = 0;  ///< time from the first kernel of a device to the end of its last one in which it runs none
};

/// Divides the time of a trace's kernels among its layers (docs/how-to/import-a-profile.md). A kernel belongs to the
/// layer in which it was launched: the innermost range whose name fits, or the outermost operator that autograd
/// numbers. A kernel that an operator of the backward launched belongs to the layer of the operator of the forward with
/// the same number. A layer is the range or ranges of a name, or the operator at a place of each pass.
/// **Throws** InputError for a trace without kernels or layers, and where executions do not fit into passes.
/// **Cost** O(n log n) in the events of the trace.
[[nodiscard]] KinetoProfile profile_kineto(const KinetoTrace& trace, const KinetoChoice& choice);

}  // namespace stagecraft
