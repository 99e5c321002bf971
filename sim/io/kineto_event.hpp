#pragma once

#include "sim/io/kineto_shapes.hpp"
#include "sim/io/kineto_trace.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace stagecraft {

/// The fields of an event of a trace that are read.
enum class KinetoField : std::uint8_t {
  None,
  // numbers of the event and of its `args`
  Time,
  Duration,
  Process,
  Thread,
  Id,
  Correlation,
  Stream,
  Device,
  Sequence,
  ForwardThread,
  ElementsIn,
  ElementsOut,
  GroupSize,
  SourceRank,
  TargetRank,
  // texts
  Phase,
  Category,
  Name,
  Collective,
  ElementType,
  GroupName,
  GroupRanks,
  // structures
  Arguments,
  InputDims,
  InputTypes,
};

inline constexpr std::size_t kKinetoNumbers = 16;  ///< fields from None to the last number
inline constexpr std::size_t kKinetoTexts = 7;     ///< fields after those

/// The field that a key names in an event, or in its `args`.
[[nodiscard]] KinetoField kineto_field(std::string_view key, bool is_argument);

/// An event as it is read, before it is known what it is.
class KinetoEvent {
 public:
  void clear();

  /// Times are in nanoseconds, all other numbers are as in the file.
  void set(KinetoField field, std::int64_t number);
  /// A text that is longer than the field may be is wrong, and not kept.
  void set(KinetoField field, const std::string& text);
  /// A list of ranks begins, or has one more. `[0, 1]` is the same as a list and as a text.
  void start_ranks() { set(KinetoField::GroupRanks, ""); }
  void add_rank(std::int64_t rank);
  /// The value of the field is of another kind than it should be. The first such message of a field is kept.
  void set_wrong(KinetoField field, std::string_view found);
  /// Of inputs and types the first 1024 are kept.
  void add_dimensions(std::int64_t elements, std::int64_t first);
  void add_type(const std::string& type);

  [[nodiscard]] std::optional<std::int64_t> number(KinetoField field) const;
  [[nodiscard]] const std::string& text(KinetoField field) const;
  /// **Throws** InputError, with the key of the field alone, if the field is missing or its value is of another kind.
  [[nodiscard]] std::int64_t required(KinetoField field) const;
  /// The same, but `otherwise` where it is missing.
  [[nodiscard]] std::int64_t number_or(KinetoField field, std::int64_t otherwise) const;
  [[nodiscard]] std::vector<KinetoInput> inputs() const;

 private:
  void refuse_wrong(KinetoField field) const;
  [[nodiscard]] const std::pair<KinetoField, std::string>* wrong(KinetoField field) const;

  std::array<std::int64_t, kKinetoNumbers> numbers_{};
  std::array<bool, kKinetoNumbers> has_{};
  std::array<std::string, kKinetoTexts> texts_;
  std::vector<std::pair<KinetoField, std::string>> wrong_;
  std::vector<KinetoInput> inputs_;
  std::vector<std::string> types_;
};

/// Turns events into the parts of a trace.
class KinetoCollector {
 public:
  explicit KinetoCollector(const std::string& file);

  /// **Throws** InputError, with the key of the field but without a file, for events that the trace needs and whose
  /// values are missing or out of range.
  void add(const KinetoEvent& event);

  /// A device of the host, by name.
  void add_device(const std::string& name);

  /// What was added. **Requires** that nothing is added afterwards.
  [[nodiscard]] KinetoTrace& trace() { return trace_; }

 private:
  void add_complete(const KinetoEvent& event);
  void add_kernel(const KinetoEvent& event);
  void add_call(const KinetoEvent& event);
  void add_scope(const KinetoEvent& event, ScopeKind kind);
  void add_link(const KinetoEvent& event, bool starts);
  void count_kept();
  [[nodiscard]] std::uint32_t name_of(const std::string& name, KinetoField field);
  [[nodiscard]] KinetoMessage message_of(const KinetoEvent& event);
  [[nodiscard]] std::uint32_t thread_of(const KinetoEvent& event);
  [[nodiscard]] std::uint32_t shapes_of(const KinetoEvent& event);

  KinetoTrace trace_;
  std::unordered_map<std::string, std::uint32_t> names_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint32_t> threads_;
  std::map<KinetoShapes, std::uint32_t> shapes_;
  std::size_t kept_ = 0;
  std::size_t name_bytes_ = 0;
  Nanoseconds kernel_time_ = 0;
};

/// A time in microseconds, as JSON writes numbers, in nanoseconds: exact where it has at most three decimals, and
/// rounded to the nearest one otherwise. None for what is beyond 95 years.
[[nodiscard]] std::optional<Nanoseconds> nanoseconds_of(std::string_view microseconds);

}  // namespace stagecraft
