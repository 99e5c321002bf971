#pragma once

#include "sim/base/error.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// The flags of a run of Megatron-LM, each of which is taken once by who reads it. A name is without `--`.
class MegatronFlags {
 public:
  struct Flag {
    std::string name;
    std::vector<std::string> values;
    InputPlace place;        ///< its key is the name with `--`
    InputPlace value_place;  ///< of the first value
    bool is_taken = false;
  };

  /// **Throws** InputError for a flag that comes twice.
  MegatronFlags(std::vector<Flag> flags, std::optional<std::int64_t> ranks, std::string file);

  /// A flag that something else says; one that is given stays as it is.
  void add(Flag flag);

  /// Whether the flag is given. **Throws** InputError if it has a value.
  [[nodiscard]] bool take_switch(const std::string& name);
  /// The value of a flag; none if it is not given. **Throws** InputError for another number of values than one, and for
  /// one that is something else than asked for.
  [[nodiscard]] std::optional<std::string> take_word(const std::string& name);
  [[nodiscard]] std::optional<std::int64_t> take_count(const std::string& name, std::int64_t least);
  [[nodiscard]] std::optional<double> take_number(const std::string& name);
  [[nodiscard]] std::optional<std::string> take_choice(const std::string& name, const std::vector<std::string>& known);
  /// The flag, whatever its values.
  [[nodiscard]] const Flag* take(const std::string& name);

  /// Where a flag stands; the file if it is not given.
  [[nodiscard]] InputPlace place(const std::string& name) const;
  [[nodiscard]] InputPlace value_place(const std::string& name) const;
  /// The ranks that the words before the training script say: nodes times processes of a node.
  [[nodiscard]] std::optional<std::int64_t> ranks() const { return ranks_; }

  /// Whether the flag is given, taken or not.
  [[nodiscard]] bool has(const std::string& name) const { return find(name) != nullptr; }

  /// The flags that nobody has taken, with `--`, in their order.
  [[nodiscard]] std::vector<std::string> left() const;
  /// **Throws** InputError for a flag that seems to mean one of those that were asked for.
  void refuse_mistake(const std::string& name) const;

 private:
  [[nodiscard]] const Flag* find(const std::string& name) const;

  std::vector<Flag> flags_;
  std::optional<std::int64_t> ranks_;
  std::string file_;
  std::vector<std::string> asked_;
};

/// The flags of a text: words as a shell has them, with quotes, comments and `\` at the ends of lines. If it begins
/// with a command, the words up to the first that ends in `.py` are the launcher's, of which `--nnodes` and
/// `--nproc-per-node` are read.
/// **Throws** InputError at the first place that is no such text.
[[nodiscard]] MegatronFlags parse_megatron_flags(std::string_view text, const std::string& file_name);

}  // namespace stagecraft
