#pragma once

#include "sim/base/error.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecraft {

enum class YamlKind { Nothing, Text, List, Map };

struct YamlDocument;

/// A cursor into a parsed YAML (or JSON) document, which it keeps alive. It knows its place in the file and the path of
/// keys that leads to it, so that error messages can name both. Cheap to copy.
class YamlNode {
 public:
  YamlNode(std::shared_ptr<const YamlDocument> document, std::size_t index, std::string key);

  [[nodiscard]] YamlKind kind() const;
  [[nodiscard]] InputPlace place() const;
  /// The path of keys from the root, e.g. `layers[3].forward`; empty at the root.
  [[nodiscard]] const std::string& key() const { return key_; }
  /// The number of nodes from here down, keys included. The content of an alias counts each time it is used. Constant
  /// cost.
  [[nodiscard]] std::uint64_t size() const;

  /// The scalar as written, quotes removed. **Throws** InputError unless it is a scalar.
  [[nodiscard]] const std::string& text() const;
  /// Whether the scalar was written in quotes, and so is never a number.
  [[nodiscard]] bool is_quoted() const;

  /// **Throws** InputError unless it is a list.
  [[nodiscard]] std::vector<YamlNode> items() const;
  /// Keys and values in file order. **Throws** InputError unless it is a map.
  [[nodiscard]] std::vector<std::pair<std::string, YamlNode>> entries() const;

  /// The value of `name`; none if the key is missing. **Throws** InputError unless this is a map.
  [[nodiscard]] std::optional<YamlNode> find(std::string_view name) const;
  /// **Throws** InputError if the key is missing.
  [[nodiscard]] YamlNode at(std::string_view name) const;
  /// **Throws** InputError at the first key that is not listed, with the hint for it that `hint` has, if any, else with
  /// the nearest ones.
  void allow_keys(std::initializer_list<std::string_view> known,
                  const std::function<std::string(const std::string& key)>& hint = {}) const;

  /// Refuses this node. **Throws** InputError, always.
  [[noreturn]] void fail(const std::string& message, const std::string& hint = {}) const;
  /// As `fail`, saying what was expected here and what was found.
  [[noreturn]] void fail_expected(std::string_view expected, const std::string& hint = {}) const;

 private:
  [[nodiscard]] std::string key_of(std::string_view name) const;

  std::shared_ptr<const YamlDocument> document_;
  std::size_t index_;
  std::string key_;
};

/// The most characters of a key between quotes: YAML allows 1024. Whatever is read must be writable and readable again.
inline constexpr std::size_t kLongestKey = 1000;
[[nodiscard]] bool fits_as_key(const std::string& text);

/// The root of the only document in `text`.
/// **Throws** InputError for text that is empty, not valid YAML, nested deeper than 100, with several documents,
/// duplicate keys, keys that are no scalars, merge keys, tags, recursive or deeply nested aliases, more than ten
/// million nodes, or aliases that add more than a million nodes or 16 MiB of text to what is written.
[[nodiscard]] YamlNode parse_yaml(std::string_view text, const std::string& file_name);

}  // namespace stagecraft
