#pragma once

#include "sim/base/quantity.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// A time of a trace in whole nanoseconds, so that sums are exact.
using Nanoseconds = std::int64_t;

[[nodiscard]] inline Seconds to_seconds(Nanoseconds time) { return Seconds(static_cast<double>(time) / 1e9); }

/// What a kernel of NCCL says that it moves. Texts are empty and numbers -1 where the trace does not tell.
struct KinetoMessage {
  std::string collective;         ///< `allreduce`, `send`, …
  Bytes bytes{-1};                ///< the larger one of what goes in and what comes out
  std::int64_t group_size = -1;   ///< ranks
  std::uint32_t group = 0;        ///< name of the process group and its ranks: position in `KinetoTrace::names`
  std::int64_t source_rank = -1;  ///< from which a `recv` receives
  std::int64_t target_rank = -1;  ///< to which a `send` sends
};

/// A run of a kernel on a device.
struct KinetoKernel {
  Nanoseconds start = 0;
  Nanoseconds duration = 0;
  std::int64_t correlation = -1;  ///< of its launch; -1: not told
  std::int64_t stream = -1;
  std::int32_t device = -1;
  std::uint32_t name = 0;     ///< position in `KinetoTrace::names`
  std::int32_t message = -1;  ///< position in `KinetoTrace::messages`; -1: none
};

/// A call of the CUDA runtime or driver on a thread of the host.
struct KinetoCall {
  Nanoseconds start = 0;
  std::int64_t correlation = 0;
  std::uint32_t thread = 0;  ///< counted through the trace
};

/// What the recorded shapes of an operator's inputs say.
struct KinetoShapes {
  Bytes input{-1};  ///< the tensor that it reads from the layer before; -1: not recorded
  Bytes parameters;
  std::int64_t first = -1;  ///< first dimension of `input`; -1: it has none, or is a list of tensors
  friend auto operator<=>(const KinetoShapes&, const KinetoShapes&) = default;
};

enum class ScopeKind : std::uint8_t { Operator, Annotation, Module };

/// A range of time on a thread of the host: an operator, an annotation (`user_annotation`), or a call of a module.
struct KinetoScope {
  Nanoseconds start = 0;
  Nanoseconds end = 0;
  std::int64_t sequence = -1;       ///< number of autograd that the forward and the backward of an operator share
  std::int64_t forward_thread = 0;  ///< of an operator of the backward: autograd's number of the forward's thread
  std::uint32_t thread = 0;         ///< counted as those of `KinetoCall`
  std::uint32_t name = 0;           ///< position in `KinetoTrace::names`
  std::uint32_t shapes = 0;         ///< position in `KinetoTrace::shapes`
  ScopeKind kind = ScopeKind::Operator;
};

/// A point that links an operator of the forward to that of its backward (`fwdbwd`).
struct KinetoLink {
  std::int64_t id = 0;
  Nanoseconds time = 0;
  std::uint32_t thread = 0;
  bool starts = false;  ///< at the forward
};

/// What a trace of the PyTorch profiler says about the work of its devices. Events come in the order of the file.
struct KinetoTrace {
  std::string file;
  std::optional<std::int64_t> rank;
  std::optional<std::int64_t> world_size;
  Nanoseconds base_time = 0;              ///< to which all times are relative
  std::vector<std::string> device_names;  ///< of all devices of its host, each name once; at most 64
  std::vector<std::string> names;         ///< each once
  std::vector<KinetoKernel> kernels;
  std::vector<KinetoCall> calls;
  std::vector<KinetoScope> scopes;
  std::vector<KinetoLink> links;
  std::vector<KinetoMessage> messages;
  std::vector<KinetoShapes> shapes;  ///< the first one is that of unrecorded shapes
};

/// Reads a trace of the PyTorch profiler (`*.pt.trace.json`, also compressed by gzip) in one pass. Only what the
/// trace's kernels, calls, operators, annotations and modules need is kept: memory does not depend on the size of the
/// file but on their number. Of an operator's inputs the first 1024 are looked at.
/// **Throws** InputError, with the line and column, for what is not JSON or is cut off; for a kernel, call or range
/// without a time, or with values of another type or out of range; for more than 50 million of them; and for a name or
/// a list of ranks of more than 1 MiB, other texts of more than 256 bytes, and more than 128 MiB of different names.
/// **Cost** O(bytes of the decompressed file); some 50 bytes for each of those events, and the names twice.
[[nodiscard]] KinetoTrace read_kineto_trace(const std::string& path);

/// The same from the text of a file, which is not compressed.
[[nodiscard]] KinetoTrace parse_kineto_trace(std::string_view text, const std::string& file_name);

}  // namespace stagecraft
