#include "sim/base/text.hpp"

#include "sim/base/error.hpp"

#include <array>
#include <charconv>
#include <cmath>

namespace stagecraft {
namespace {

enum class Dimension { Size, Time, Bandwidth, FlopsRate };

/// A unit is worth `factor` * 10^decimal * 2^binary of its dimension's base (B, s, B/s, flop/s).
struct Unit {
  std::string_view name;
  Dimension dimension;
  int decimal = 0;
  int binary = 0;
  int factor = 1;
};

constexpr std::array kUnits = {
    Unit{"B", Dimension::Size},
    Unit{"kB", Dimension::Size, 3},
    Unit{"MB", Dimension::Size, 6},
    Unit{"GB", Dimension::Size, 9},
    Unit{"TB", Dimension::Size, 12},
    Unit{"PB", Dimension::Size, 15},
    Unit{"KiB", Dimension::Size, 0, 10},
    Unit{"MiB", Dimension::Size, 0, 20},
    Unit{"GiB", Dimension::Size, 0, 30},
    Unit{"TiB", Dimension::Size, 0, 40},
    Unit{"PiB", Dimension::Size, 0, 50},
    Unit{"b", Dimension::Size, 0, -3},
    Unit{"kb", Dimension::Size, 3, -3},
    Unit{"Mb", Dimension::Size, 6, -3},
    Unit{"Gb", Dimension::Size, 9, -3},
    Unit{"Tb", Dimension::Size, 12, -3},
    Unit{"Kib", Dimension::Size, 0, 7},
    Unit{"Mib", Dimension::Size, 0, 17},
    Unit{"Gib", Dimension::Size, 0, 27},
    Unit{"Tib", Dimension::Size, 0, 37},
    Unit{"s", Dimension::Time},
    Unit{"ms", Dimension::Time, -3},
    Unit{"us", Dimension::Time, -6},
    Unit{"ns", Dimension::Time, -9},
    Unit{"min", Dimension::Time, 0, 0, 60},
    Unit{"h", Dimension::Time, 0, 0, 3600},
    Unit{"Bps", Dimension::Bandwidth},
    Unit{"kBps", Dimension::Bandwidth, 3},
    Unit{"MBps", Dimension::Bandwidth, 6},
    Unit{"GBps", Dimension::Bandwidth, 9},
    Unit{"TBps", Dimension::Bandwidth, 12},
    Unit{"KiBps", Dimension::Bandwidth, 0, 10},
    Unit{"MiBps", Dimension::Bandwidth, 0, 20},
    Unit{"GiBps", Dimension::Bandwidth, 0, 30},
    Unit{"TiBps", Dimension::Bandwidth, 0, 40},
    Unit{"bps", Dimension::Bandwidth, 0, -3},
    Unit{"kbps", Dimension::Bandwidth, 3, -3},
    Unit{"Mbps", Dimension::Bandwidth, 6, -3},
    Unit{"Gbps", Dimension::Bandwidth, 9, -3},
    Unit{"Tbps", Dimension::Bandwidth, 12, -3},
    Unit{"Kibps", Dimension::Bandwidth, 0, 7},
    Unit{"Mibps", Dimension::Bandwidth, 0, 17},
    Unit{"Gibps", Dimension::Bandwidth, 0, 27},
    Unit{"Tibps", Dimension::Bandwidth, 0, 37},
    Unit{"FLOPS", Dimension::FlopsRate},
    Unit{"kFLOPS", Dimension::FlopsRate, 3},
    Unit{"MFLOPS", Dimension::FlopsRate, 6},
    Unit{"GFLOPS", Dimension::FlopsRate, 9},
    Unit{"TFLOPS", Dimension::FlopsRate, 12},
};

std::string_view expectation(Dimension dimension) {
  switch (dimension) {
    case Dimension::Size: return "a size with its unit, such as '16 GiB'";
    case Dimension::Time: return "a time with its unit, such as '1.5 ms'";
    case Dimension::Bandwidth: return "a bandwidth with its unit, such as '25 GBps' or '100 Gbps'";
    case Dimension::FlopsRate: return "a computing rate with its unit, such as '15.7 TFLOPS'";
  }
  return "";
}

constexpr std::string_view kNumber = "a bare number of at least 0, such as '1.5'";
constexpr std::string_view kCount = "a whole number of at least 0, such as '16'";

/// A number as written: `digits` (fraction included) times ten to the `exponent`; `rest` is what follows.
struct Scanned {
  std::string_view digits;
  int exponent = 0;
  bool whole = true;  ///< neither a fraction nor an exponent
  std::string_view rest;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::size_t digits_from(std::string_view text, std::size_t at) {
  while (at < text.size() && is_digit(text[at])) ++at;
  return at;
}

/// Reads the exponent at `at`, if there is one; returns where it ends. A monstrous one saturates.
std::size_t scan_exponent(std::string_view text, std::size_t at, int& exponent) {
  if (at >= text.size() || (text[at] != 'e' && text[at] != 'E')) return at;
  std::size_t digits = at + 1;
  const bool negative = digits < text.size() && text[digits] == '-';
  if (negative || (digits < text.size() && text[digits] == '+')) ++digits;
  const std::size_t end = digits_from(text, digits);
  if (end == digits) return at;
  constexpr int kHuge = 1'000'000;
  int value = 0;
  const auto result = std::from_chars(text.data() + digits, text.data() + end, value);
  if (result.ec != std::errc() || value > kHuge) value = kHuge;
  exponent = negative ? -value : value;
  return end;
}

/// Reads the number at the start of the text. Returns the reason if there is none; empty if there is one.
std::string scan_number(std::string_view text, Scanned& into) {
  if (text.empty()) return "the value is empty";
  if (text[0] == '-') return "negative values are not allowed";
  if (text[0] == '+') return "write it without the plus sign";
  if (text[0] == '.') return "write a digit before the point";
  const std::size_t whole_end = digits_from(text, 0);
  if (whole_end == 0) return "it does not start with a digit";
  if (whole_end > 1 && text[0] == '0') return "write it without leading zeros";
  std::size_t end = whole_end;
  if (end < text.size() && text[end] == '.') {
    end = digits_from(text, whole_end + 1);
    if (end == whole_end + 1) return "write a digit after the point";
  }
  into.digits = text.substr(0, end);
  const std::size_t exponent_end = scan_exponent(text, end, into.exponent);
  into.whole = exponent_end == whole_end;
  into.rest = text.substr(exponent_end);
  return "";
}

/// The double nearest to digits * 10^(exponent + shift); none where that is infinite or vanishes.
std::optional<double> to_double(const Scanned& number, int shift) {
  const std::string text = std::string(number.digits) + "e" + std::to_string(number.exponent + shift);
  double value = 0.0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec == std::errc()) return value;
  const bool is_zero = number.digits.find_first_not_of("0.") == std::string_view::npos;
  return is_zero ? std::optional(0.0) : std::nullopt;
}

template <class T>
Parsed<T> refuse(std::string_view expected, std::string_view found, std::string hint) {
  return {std::nullopt, "expected " + std::string(expected) + ", found " + quote(found), std::move(hint)};
}

std::vector<std::string> unit_names(Dimension dimension) {
  std::vector<std::string> names;
  for (const Unit& unit : kUnits) {
    if (unit.dimension == dimension) names.emplace_back(unit.name);
  }
  return names;
}

struct WithUnit {
  Scanned number;
  const Unit* unit = nullptr;  ///< null: a bare zero
  std::string hint;            ///< why it was refused; empty: it was not
};

const Unit* find_unit(std::string_view name) {
  for (const Unit& unit : kUnits) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

WithUnit scan_with_unit(std::string_view text, Dimension dimension) {
  WithUnit result;
  result.hint = scan_number(text, result.number);
  if (!result.hint.empty()) return result;
  std::string_view name = result.number.rest;
  if (name.empty()) {
    if (text != "0") result.hint = "the unit is missing";
    return result;
  }
  if (name[0] == ' ') name.remove_prefix(1);
  result.unit = find_unit(name);
  if (result.unit != nullptr && result.unit->dimension == dimension) return result;
  if (name.starts_with(' ')) {
    result.hint = "write at most one blank before the unit";
  } else if (result.unit != nullptr) {
    result.hint = quote(name) + " is a unit of another quantity";
  } else {
    result.hint = "unknown unit " + quote(name) + "; " + suggest_name(name, unit_names(dimension));
  }
  return result;
}

Parsed<double> parse_quantity(std::string_view text, Dimension dimension) {
  const WithUnit scanned = scan_with_unit(text, dimension);
  if (!scanned.hint.empty()) return refuse<double>(expectation(dimension), text, scanned.hint);
  if (scanned.unit == nullptr) return {0.0, "", ""};
  const std::optional<double> number = to_double(scanned.number, scanned.unit->decimal);
  const double value = number ? std::ldexp(*number * scanned.unit->factor, scanned.unit->binary) : INFINITY;
  if (!std::isfinite(value)) return refuse<double>(expectation(dimension), text, "the number is out of range");
  return {value, "", ""};
}

template <class Q>
Parsed<Q> as_quantity(const Parsed<double>& parsed) {
  return {parsed ? std::optional(Q(*parsed.value)) : std::nullopt, parsed.problem, parsed.hint};
}

constexpr std::int64_t kLargestSize = std::int64_t{1} << 53;

/// Whole digits times the unit, in integers; if that is not possible, `hint` is the reason.
std::optional<std::int64_t> whole_size(const Scanned& number, const Unit& unit, std::string& hint) {
  __extension__ using Wide = __int128;
  std::int64_t digits = 0;
  const auto read = std::from_chars(number.digits.data(), number.digits.data() + number.digits.size(), digits);
  Wide size = digits;
  for (int i = 0; i < unit.decimal; ++i) size *= 10;
  if (unit.binary > 0) size <<= unit.binary;
  if (read.ec != std::errc() || size / (unit.binary < 0 ? 8 : 1) > kLargestSize) {
    hint = "more than 2^53 bytes";
  } else if (unit.binary < 0 && size % 8 != 0) {
    hint = "not a whole number of bytes; 'b' is bit, 'B' is byte";
  } else {
    return static_cast<std::int64_t>(unit.binary < 0 ? size / 8 : size);
  }
  return std::nullopt;
}

std::optional<std::int64_t> rounded_size(const Scanned& number, const Unit& unit, std::string& hint) {
  const std::optional<double> digits = to_double(number, unit.decimal);
  const double size = digits ? std::ldexp(*digits, unit.binary) : INFINITY;
  const bool is_small_unit = unit.name == "B" || unit.name == "b";
  if (!(size <= static_cast<double>(kLargestSize))) {
    hint = number.exponent < 0 ? "the number is out of range" : "more than 2^53 bytes";
  } else if (is_small_unit && size > std::floor(size)) {
    hint = "not a whole number of bytes";
  } else {
    return static_cast<std::int64_t>(std::llround(size));
  }
  return std::nullopt;
}

}  // namespace

Parsed<Seconds> parse_seconds(std::string_view text) {
  return as_quantity<Seconds>(parse_quantity(text, Dimension::Time));
}

Parsed<BytesPerSecond> parse_bandwidth(std::string_view text) {
  return as_quantity<BytesPerSecond>(parse_quantity(text, Dimension::Bandwidth));
}

Parsed<FlopsPerSecond> parse_flops_rate(std::string_view text) {
  return as_quantity<FlopsPerSecond>(parse_quantity(text, Dimension::FlopsRate));
}

Parsed<Bytes> parse_bytes(std::string_view text) {
  WithUnit scanned = scan_with_unit(text, Dimension::Size);
  if (!scanned.hint.empty()) return refuse<Bytes>(expectation(Dimension::Size), text, scanned.hint);
  if (scanned.unit == nullptr) return {Bytes(0), "", ""};
  const auto size = scanned.number.whole ? whole_size(scanned.number, *scanned.unit, scanned.hint)
                                         : rounded_size(scanned.number, *scanned.unit, scanned.hint);
  if (!size) return refuse<Bytes>(expectation(Dimension::Size), text, scanned.hint);
  return {Bytes(*size), "", ""};
}

Parsed<double> parse_number(std::string_view text) {
  Scanned number;
  std::string hint = scan_number(text, number);
  if (hint.empty() && !number.rest.empty()) hint = "nothing may follow the number";
  if (!hint.empty()) return refuse<double>(kNumber, text, hint);
  const std::optional<double> value = to_double(number, 0);
  if (!value) return refuse<double>(kNumber, text, "the number is out of range");
  return {value, "", ""};
}

Parsed<std::int64_t> parse_count(std::string_view text) {
  Scanned number;
  std::string hint = scan_number(text, number);
  if (hint.empty() && !number.rest.empty()) hint = "nothing may follow the number";
  if (hint.empty() && !number.whole) hint = "write digits only";
  if (!hint.empty()) return refuse<std::int64_t>(kCount, text, hint);
  std::int64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc()) return refuse<std::int64_t>(kCount, text, "the number is out of range");
  return {value, "", ""};
}

}  // namespace stagecraft
