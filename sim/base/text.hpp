#pragma once

#include "sim/base/quantity.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// The result of reading a piece of text: a value, or the reason why there is none.
template <class T>
struct [[nodiscard]] Parsed {
  std::optional<T> value;
  std::string problem;  ///< what was expected and what was found; empty with a value
  std::string hint;     ///< what to write instead, if that can be guessed
  [[nodiscard]] explicit operator bool() const { return value.has_value(); }
};

/// Quantities as users write them: digits without a superfluous leading zero, an optional fraction and exponent, at
/// most one blank, a unit. `b` is bit and `B` is byte; `k M G T` are powers of ten, `Ki Mi Gi Ti` powers of two; times
/// are `ns us ms s min h`; rates end in `Bps`, `bps` or `FLOPS`. `0` needs no unit. Negative, infinite and not-a-number
/// are refused. A decimal unit is read as a shift of the decimal point, so `41.3 ms` and `0.0413 s` are the same
/// double.
[[nodiscard]] Parsed<Seconds> parse_seconds(std::string_view text);

/// A size of at most 2^53 bytes. A fraction of a larger unit is rounded to the nearest byte; `1.5 B` and `3 b` are
/// refused.
[[nodiscard]] Parsed<Bytes> parse_bytes(std::string_view text);

/// May be zero; a caller that needs a positive rate checks for it.
[[nodiscard]] Parsed<BytesPerSecond> parse_bandwidth(std::string_view text);
[[nodiscard]] Parsed<FlopsPerSecond> parse_flops_rate(std::string_view text);

/// A bare number of at least 0, such as a ratio.
[[nodiscard]] Parsed<double> parse_number(std::string_view text);

/// A bare whole number of at least 0, digits only.
[[nodiscard]] Parsed<std::int64_t> parse_count(std::string_view text);

/// The shortest digits that read back to the same double. **Requires** a finite number.
[[nodiscard]] std::string format_number(double value);

/// Forms that read back to the same value: `0.0413 s`, `12025908428 B`, `25 GBps`, `15.7 TFLOPS`.
/// **Requires** finite values.
[[nodiscard]] std::string format_seconds(Seconds value);
[[nodiscard]] std::string format_bytes(Bytes value);
[[nodiscard]] std::string format_bandwidth(BytesPerSecond value);

/// As `format_bytes`, in the largest binary unit of which the size is a whole number: `16 GiB`.
[[nodiscard]] std::string format_whole_bytes(Bytes value);

/// Rounded to three digits for tables: `11.2 GiB`, `41.3 ms`, `12.5 GBps`; infinity is `never`.
[[nodiscard]] std::string format_human_bytes(Bytes value);
[[nodiscard]] std::string format_human_seconds(Seconds value);
/// As `format_human_bytes`, but rounded up, for advice: what it says is enough where `value` is.
[[nodiscard]] std::string format_enough_bytes(Bytes value);
[[nodiscard]] std::string format_human_bandwidth(BytesPerSecond value);

/// `text` in single quotes for a message: at most 80 characters shown, control characters and bytes that are no UTF-8
/// escaped byte by byte.
[[nodiscard]] std::string quote(std::string_view text);

/// The text as one word of a POSIX shell, whatever is in it. **Requires** that it has no NUL.
[[nodiscard]] std::string shell_word(std::string_view text);

/// Lines of text for a message, each after `indent`, escaped as by `quote`. Without a final line end.
[[nodiscard]] std::string indented(std::string_view text, std::string_view indent);

/// The known name that needs the fewest changes of one character, letter case deciding ties only; none if more than a
/// third of the name would have to change.
/// **Cost** O(length² · known).
[[nodiscard]] std::optional<std::string> nearest_name(std::string_view name, const std::vector<std::string>& known);

/// The hint for an unknown name: the nearest known one and the known ones, of which at most 20 are listed.
[[nodiscard]] std::string suggest_name(std::string_view name, const std::vector<std::string>& known);

}  // namespace stagecraft
