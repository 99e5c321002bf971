#pragma once

#include "experiments/study/cell_spec.hpp"
#include "experiments/study/study.hpp"
#include "sim/base/error.hpp"
#include "sim/io/yaml_node.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace stagecraft {

using ReadKey = std::function<void(const YamlNode& node, Keys& into)>;
using TakeKey = void (*)(const Detail& value, CellSpec& spec);

/// A key of a cell: its name, the function that reads it from a study file, and the function that applies it to a
/// CellSpec.
struct CellKey {
  std::string name;
  ReadKey read;
  TakeKey take = nullptr;  ///< null: the key does not change the run
};

/// The key of that name; null if there is none.
[[nodiscard]] const CellKey* find_cell_key(const std::vector<CellKey>& keys, std::string_view name);

/// A value of a cell. **Throws** InputError for another type than a study file gives it.
template <class T>
[[nodiscard]] const T& as(const Detail& value) {
  const T* found = std::get_if<T>(&value.value);
  if (found == nullptr) throw InputError("expected a cell as a study file gives it");
  return *found;
}
[[nodiscard]] inline const std::string& word(const Detail& value) { return as<std::string>(value); }
[[nodiscard]] inline std::int64_t whole(const Detail& value) { return as<std::int64_t>(value); }

/// One of the words. **Throws** InputError for any other.
[[nodiscard]] std::string read_word(const YamlNode& node, const std::vector<std::string>& known);

/// Functions that read a number from `least` to `most`, a name, one of the words, and a number of something up to
/// `most` or one of the words.
[[nodiscard]] ReadKey count_key(const std::string& name, std::int64_t least, std::int64_t most);
[[nodiscard]] ReadKey name_key(const std::string& name);
[[nodiscard]] ReadKey word_key(const std::string& name, const std::vector<std::string>& known);
[[nodiscard]] ReadKey count_or_word_key(const std::string& name, const std::string& of, std::int64_t most,
                                        const std::vector<std::string>& words);

/// A key that a cell keeps under its own name. `make_read` is one of the functions above, `more` its further arguments.
template <class MakeRead, class... More>
[[nodiscard]] CellKey key(const char* name, TakeKey take, MakeRead make_read, const More&... more) {
  return {name, make_read(name, more...), take};
}

/// The keys that say into how many devices a replica is divided, and how.
[[nodiscard]] std::vector<CellKey> group_keys();

}  // namespace stagecraft
