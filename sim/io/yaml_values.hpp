#pragma once

#include "sim/base/quantity.hpp"
#include "sim/base/text.hpp"
#include "sim/io/yaml_node.hpp"
#include "sim/model/detail.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecraft {

// Values of a document. Each function throws InputError, at the node's place, for any other value than it describes.

[[nodiscard]] Seconds read_seconds(const YamlNode& node);
/// At most 1e12 s, so that sums of some are exact enough.
[[nodiscard]] Seconds read_moment(const YamlNode& node);
[[nodiscard]] Bytes read_bytes(const YamlNode& node);
/// More than zero.
[[nodiscard]] BytesPerSecond read_bandwidth(const YamlNode& node);
/// More than zero, at most 1e21.
[[nodiscard]] FlopsPerSecond read_flops_rate(const YamlNode& node);
[[nodiscard]] double read_number(const YamlNode& node);
/// More than zero.
[[nodiscard]] double read_positive_number(const YamlNode& node);
[[nodiscard]] std::int64_t read_count(const YamlNode& node, std::int64_t least = 0,
                                      std::int64_t most = std::numeric_limits<std::int64_t>::max());
/// `true` or `false`.
[[nodiscard]] bool read_bool(const YamlNode& node);
/// Any text, possibly empty, without control characters other than tabs and line ends.
[[nodiscard]] std::string read_text(const YamlNode& node);
/// Text that is not empty and has no control characters.
[[nodiscard]] std::string read_name(const YamlNode& node);
/// A name that other files have as a key.
[[nodiscard]] std::string read_key_name(const YamlNode& node);
// The largest numbers that the readers of plans, orders, events and answers accept.
constexpr std::int64_t kMostMicrobatches = 1'000'000'000;
constexpr std::int64_t kMostStages = 1'000'000;
constexpr std::uint64_t kMostDetailNodes = 500'000;
/// Any value: unquoted `true`, `false` and numbers become such, all else text, lists and records. Refuses a value of
/// more than `most` nodes before it reads any, because a Detail keeps all of them; the content of an alias counts each
/// time.
[[nodiscard]] Detail read_detail(const YamlNode& node, std::uint64_t most = kMostDetailNodes);

/// Refuses the file unless its `schema` key is `schema`.
void check_schema(const YamlNode& root, std::string_view schema);

/// The value that goes with the name written here.
template <class T>
[[nodiscard]] T read_choice(const YamlNode& node, const std::vector<std::pair<std::string, T>>& choices) {
  const std::string& text = node.text();
  std::vector<std::string> names;
  for (const auto& [name, value] : choices) {
    if (name == text) return value;
    names.push_back(name);
  }
  node.fail("unknown value " + quote(text), suggest_name(text, names));
}

}  // namespace stagecraft
