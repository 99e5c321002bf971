// The writing half of text.hpp: exact and human forms of quantities, and names in messages.
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/base/utf8.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <span>

namespace stagecraft {
namespace {

struct Scale {
  const char* unit;
  double worth;
};

constexpr std::array<Scale, 5> kBandwidths = {
    {{" TBps", 1e12}, {" GBps", 1e9}, {" MBps", 1e6}, {" kBps", 1e3}, {" Bps", 1}}};
constexpr std::array<Scale, 5> kBinarySizes = {
    {{" TiB", 0x1p40}, {" GiB", 0x1p30}, {" MiB", 0x1p20}, {" KiB", 0x1p10}, {" B", 1}}};
constexpr std::array<Scale, 4> kTimes = {{{" s", 1}, {" ms", 1e-3}, {" us", 1e-6}, {" ns", 1e-9}}};

/// The first form, largest unit first, that is at least one unit and reads back to `value`; else the last unit.
template <class Read>
std::string exact_form(double value, std::span<const Scale> scales, Read read_back) {
  for (const Scale& scale : scales) {
    if (value < scale.worth) continue;
    std::string text = format_number(value / scale.worth) + scale.unit;
    const std::optional<double> back = read_back(text);
    if (back && !(*back < value) && !(value < *back)) return text;
  }
  return format_number(value) + scales.back().unit;
}

/// Three significant digits without an exponent: `11.2`, `0.04`, `999`.
std::string three_digits(double value) {
  std::array<char, 32> buffer{};
  const double magnitude = std::abs(value);
  const int decimals = magnitude >= 99.95 ? 0 : magnitude >= 9.995 ? 1 : 2;
  std::snprintf(buffer.data(), buffer.size(), "%.*f", decimals, value);
  std::string text = buffer.data();
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

/// `full` is how many of a unit make the next larger one, which is taken as soon as rounding reaches it.
std::string human_form(double value, std::span<const Scale> scales, double full) {
  if (std::isinf(value)) return "never";
  for (std::size_t i = 0; i < scales.size(); ++i) {
    const bool is_last = i + 1 == scales.size();
    const double reaches = is_last ? 0.0 : scales[i + 1].worth * (full - 0.5);
    if (std::abs(value) >= scales[i].worth || (!is_last && std::abs(value) >= reaches) || is_last) {
      return three_digits(value / scales[i].worth) + scales[i].unit;
    }
  }
  return "";
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

constexpr std::size_t kChange = 1024;  ///< a change of letter case alone counts one, so that it only decides ties

/// Levenshtein distance with swaps of neighbours as one change (optimal string alignment), `kChange` for each change.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);  // the rows of a[..i-1], a[..i] and a[..i+1]
  std::vector<std::size_t> row(b.size() + 1);
  std::vector<std::size_t> next(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = kChange * j;
  for (std::size_t i = 0; i < a.size(); ++i) {
    next[0] = kChange * (i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t change = a[i] == b[j] ? 0 : lower(a[i]) == lower(b[j]) ? 1 : kChange;
      next[j + 1] = std::min({row[j] + change, row[j + 1] + kChange, next[j] + kChange});
      const bool swapped = i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j];
      if (swapped) next[j + 1] = std::min(next[j + 1], before[j - 1] + kChange);
    }
    before.swap(row);
    row.swap(next);
  }
  return row[b.size()];
}

std::string escaped(char byte) {
  if (byte == '\n') return "\\n";
  if (byte == '\t') return "\\t";
  std::array<char, 8> hexadecimal{};
  std::snprintf(hexadecimal.data(), hexadecimal.size(), "\\x%02x", static_cast<unsigned char>(byte));
  return hexadecimal.data();
}

/// Appends the character at `at` as a message may show it; returns where the next one begins.
std::size_t append_shown(std::string& into, std::string_view text, std::size_t at) {
  const std::size_t length = utf8_length(text, at);
  if (length != 0 && !is_control_character(text.substr(at, length))) {
    into += text.substr(at, length);
    return at + length;
  }
  into += escaped(text[at]);
  return at + 1;
}

/// `'a', 'b' or 'c'`: the known names that begin with `name`, letter case apart; empty if there are none or too many.
std::string longer_names(std::string_view name, const std::vector<std::string>& known) {
  constexpr std::size_t kMost = 5;
  const auto same = [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); };
  std::vector<std::string> longer;
  for (const std::string& each : known) {
    if (!name.empty() && std::ranges::equal(name, each.substr(0, name.size()), same)) longer.push_back(quote(each));
  }
  std::string text;
  if (longer.size() > kMost) return text;
  for (std::size_t i = 0; i < longer.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == longer.size() ? " or " : ", ") + longer[i];
  }
  return text;
}

}  // namespace

std::string format_number(double value) {
  STAGECRAFT_CHECK(std::isfinite(value), "only finite numbers are written");
  std::array<char, 32> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), result.ptr};
}

std::string format_seconds(Seconds value) { return format_number(value.value()) + " s"; }

std::string format_bytes(Bytes value) { return std::to_string(value.value()) + " B"; }

std::string format_bandwidth(BytesPerSecond value) {
  return exact_form(value.value(), kBandwidths, [](const std::string& text) {
    const auto parsed = parse_bandwidth(text);
    return parsed ? std::optional(parsed.value->value()) : std::nullopt;
  });
}

std::string format_whole_bytes(Bytes value) {
  for (const Scale& scale : kBinarySizes) {
    const auto worth = static_cast<std::int64_t>(scale.worth);
    if (value.value() != 0 && value.value() % worth == 0) return std::to_string(value.value() / worth) + scale.unit;
  }
  return format_bytes(value);
}

std::string format_human_bytes(Bytes value) {
  return human_form(static_cast<double>(value.value()), kBinarySizes, 1024);
}

std::string format_enough_bytes(Bytes value) {
  constexpr double kStep = 1.0005;  // less than a step of the last digit
  std::string text = format_human_bytes(value);
  double more = static_cast<double>(value.value());
  for (auto read = parse_bytes(text); read && *read.value < value; read = parse_bytes(text)) {
    text = human_form(more *= kStep, kBinarySizes, 1024);
  }
  return text;  // also what is too large to be read, which no device has
}

std::string format_human_seconds(Seconds value) {
  if (value == Seconds(0)) return "0 s";
  return human_form(value.value(), kTimes, 1000);
}

std::string format_human_bandwidth(BytesPerSecond value) { return human_form(value.value(), kBandwidths, 1000); }

std::string shell_word(std::string_view text) {
  STAGECRAFT_CHECK(text.find('\0') == std::string_view::npos, "no word of a shell has a NUL");
  std::string word = "'";
  for (const char letter : text) {
    if (letter == '\'') {
      word += R"('\'')";
    } else if (letter == '\r') {
      word += "'\"$(printf '\\r')\"'";  // sbatch refuses a script that has a carriage return before a line feed
    } else {
      word += letter;
    }
  }
  return word + "'";
}

std::string quote(std::string_view text) {
  constexpr std::size_t kShown = 80;
  std::string result = "'";
  std::size_t shown = 0;
  for (std::size_t at = 0; at < text.size(); ++shown) {
    if (shown == kShown) return result + "…'";
    at = append_shown(result, text, at);
  }
  return result + "'";
}

std::string indented(std::string_view text, std::string_view indent) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  std::string result(indent);
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\n') {
      result.append("\n").append(indent);
      ++at;
    } else {
      at = append_shown(result, text, at);
    }
  }
  return result;
}

std::optional<std::string> nearest_name(std::string_view name, const std::vector<std::string>& known) {
  constexpr std::size_t kLongest = 256;
  if (name.size() > kLongest) return std::nullopt;
  std::optional<std::string> nearest;
  std::size_t fewest = kChange * (std::max<std::size_t>(1, name.size() / 3) + 1);
  for (const std::string& candidate : known) {
    if (candidate.size() > kLongest) continue;
    const std::size_t changes = distance(name, candidate);
    if (changes < fewest && changes < kChange * candidate.size()) {
      fewest = changes;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string suggest_name(std::string_view name, const std::vector<std::string>& known) {
  if (known.empty()) return "none is known";
  constexpr std::size_t kListed = 20;
  std::string result;
  const auto nearest = nearest_name(name, known);
  const std::string meant = nearest ? quote(*nearest) : longer_names(name, known);
  if (!meant.empty()) result = "did you mean " + meant + "? ";
  result += "known: ";
  for (std::size_t i = 0; i < std::min(known.size(), kListed); ++i) result += (i > 0 ? ", " : "") + known[i];
  if (known.size() > kListed) result += ", and " + std::to_string(known.size() - kListed) + " more";
  return result;
}

}  // namespace stagecraft
