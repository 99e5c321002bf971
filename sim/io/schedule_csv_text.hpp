#pragma once

#include "sim/model/schedule.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

enum class CsvWork : std::uint8_t {
  Compute,
  Transfer,
  Mark,  ///< of parameters and gradients of a whole stage, without a microbatch
};

/// A kind of operation in a table of `torch.distributed.pipelining`.
struct CsvKind {
  std::string_view code;
  CsvWork work = CsvWork::Compute;
  std::optional<ActionKind> action = {};  ///< in files since December 2024; none for what is no action
};

/// B and BW are both the whole backward, each in its dialect; what is written is the first one of an action.
inline constexpr std::array<CsvKind, 12> kCsvKinds = {{
    {"F", CsvWork::Compute, ActionKind::Forward},
    {"B", CsvWork::Compute, ActionKind::Backward},
    {"I", CsvWork::Compute, ActionKind::BackwardInput},
    {"W", CsvWork::Compute, ActionKind::BackwardWeight},
    {"BW", CsvWork::Compute, ActionKind::Backward},
    {"SEND_F", CsvWork::Transfer, ActionKind::SendActivation},
    {"RECV_F", CsvWork::Transfer, ActionKind::ReceiveActivation},
    {"SEND_B", CsvWork::Transfer, ActionKind::SendGradient},
    {"RECV_B", CsvWork::Transfer, ActionKind::ReceiveGradient},
    {"UNSHARD", CsvWork::Mark, {}},
    {"RESHARD", CsvWork::Mark, {}},
    {"REDUCE_GRAD", CsvWork::Mark, {}},
}};
inline constexpr std::string_view kCsvPair = "OVERLAP_F_B";

/// The position of a code in `kCsvKinds`, or their number if there is none.
[[nodiscard]] constexpr std::size_t csv_kind(std::string_view code) {
  std::size_t kind = 0;
  while (kind < kCsvKinds.size() && kCsvKinds.at(kind).code != code) ++kind;
  return kind;
}

struct CsvOperation {
  std::size_t kind = 0;  ///< in `kCsvKinds`
  std::uint32_t stage = 0;
  std::uint32_t microbatch = 0;  ///< 0 for marks
};

/// What a rank does in one step: nothing, one operation, or a pair of a forward and a backward.
struct CsvField {
  std::vector<CsvOperation> operations;
};
/// By rank and step.
using CsvRows = std::vector<std::vector<CsvField>>;

/// The fields of such a table, as they are.
class CsvText {
 public:
  /// **Throws** InputError for the first field that is no operation, and for a text without a row.
  CsvText(std::string_view text, std::string file_name);

  [[nodiscard]] const CsvRows& rows() const { return rows_; }
  /// **Throws** InputError about a rank, or about one of its fields. Ranks and steps are counted from 0.
  [[noreturn]] void fail(std::size_t rank, const std::string& message, const std::string& hint = {}) const;
  [[noreturn]] void fail(std::size_t rank, std::size_t step, const std::string& message,
                         const std::string& hint = {}) const;

 private:
  void add_row(std::string_view line);
  /// The field is that of the next step of the last rank.
  [[nodiscard]] CsvField read_field(std::string_view text) const;
  [[nodiscard]] CsvField read_pair(std::string_view text) const;
  [[nodiscard]] CsvOperation read_operation(std::string_view text) const;
  [[noreturn]] void fail_here(const std::string& message, const std::string& hint = {}) const;

  std::string file_;
  CsvRows rows_;
};

}  // namespace stagecraft
