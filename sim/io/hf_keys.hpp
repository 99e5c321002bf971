#pragma once

#include "sim/io/yaml_node.hpp"
#include "sim/workload/decoder.hpp"

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// The keys of a configuration file as its reader takes them: which it has taken, and where each size of the decoder
/// came from. A key that is null counts as missing.
class HfKeys {
 public:
  /// The names that a key has in the files of several models; a file has one, or several with one value.
  using Names = std::initializer_list<std::string_view>;

  explicit HfKeys(YamlNode root) : root_(std::move(root)) {}

  [[nodiscard]] const YamlNode& root() const { return root_; }

  /// Whether the file has the key, null or not.
  [[nodiscard]] bool has(std::string_view name) const { return root_.find(name).has_value(); }

  /// **Throws** InputError if two of the names have different values.
  std::optional<YamlNode> find(Names names);

  /// **Throws** InputError if the file has none of the names.
  YamlNode at(Names names);

  /// A size of at least 1 and at most `most`; `size` is its name in a `DecoderDefect`.
  /// **Throws** InputError if the file has none of the names.
  std::int64_t require(const std::string& size, Names names, std::int64_t most);

  /// The same, `into` unchanged without the key; at least `least`. Returns whether the file has it.
  bool take(const std::string& size, Names names, std::int64_t most, std::int64_t& into, std::int64_t least = 1);

  /// As `take`, 0 for null. **Throws** InputError if the key is missing.
  void require_or_null(const std::string& size, std::string_view name, std::int64_t most, std::int64_t& into);

  bool flag(std::string_view name, bool otherwise);

  /// **Throws** InputError if the file has the flag with the other value, saying that `what` is not modelled.
  void require_flag(std::string_view name, bool value, const std::string& what);

  /// Marks a key as taken that says nothing which another key does not say.
  void ignore(Names names);

  /// **Throws** InputError for the defect, at the place of the size's key and with the names of the file.
  [[noreturn]] void refuse(const DecoderDefect& defect) const;

  /// What no function took, but for keys that never change the network (numbers of tokens, rates of initialisation).
  [[nodiscard]] std::vector<std::string> unread() const;

 private:
  YamlNode root_;
  std::set<std::string, std::less<>> taken_;
  std::map<std::string, YamlNode> sizes_;
};

}  // namespace stagecraft
