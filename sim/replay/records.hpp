#pragma once

#include "sim/base/error.hpp"
#include "sim/model/report.hpp"
#include "sim/model/timeline.hpp"
#include "sim/replay/replay.hpp"

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

namespace stagecraft {

/// The records that a replay's child sends to its parent, one in each frame. Both run the same program, so numbers are
/// sent as they are in memory.
enum class RecordKind : std::uint32_t { Progress, RecordChunk, Report, Failure };

/// An exception, encoded for the parent.
struct FailureRecord {
  ExitCode code = ExitCode::Internal;
  std::string message;
  InputPlace place;  ///< of an InputError
  std::string hint;
  friend bool operator==(const FailureRecord&, const FailureRecord&) = default;
};

/// **Requires** that it is called while `error` is handled, or with an exception in flight.
[[nodiscard]] FailureRecord failure_record(const std::exception& error);
/// Throws the child's exception again: InputError, InternalError or Error.
[[noreturn]] void throw_again(const FailureRecord& failure);

[[nodiscard]] std::string encode(const ReplayProgress& progress);
[[nodiscard]] std::string encode(const RunRecord& chunk);
[[nodiscard]] std::string encode(const Report& report);
[[nodiscard]] std::string encode(const FailureRecord& failure);

[[nodiscard]] ReplayProgress decode_progress(std::string_view bytes);
void decode_record(std::string_view bytes, RunRecord& append_to);
[[nodiscard]] Report decode_report(std::string_view bytes);
[[nodiscard]] FailureRecord decode_failure(std::string_view bytes);

}  // namespace stagecraft
