#include "experiments/study/cell_key.hpp"

#include "sim/base/text.hpp"
#include "sim/io/yaml_values.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace stagecraft {

const CellKey* find_cell_key(const std::vector<CellKey>& keys, std::string_view name) {
  const auto found = std::ranges::find(keys, name, &CellKey::name);
  return found == keys.end() ? nullptr : &*found;
}

std::string read_word(const YamlNode& node, const std::vector<std::string>& known) {
  if (std::ranges::find(known, node.text()) == known.end()) {
    node.fail("unknown value " + quote(node.text()), suggest_name(node.text(), known));
  }
  return node.text();
}

ReadKey count_key(const std::string& name, std::int64_t least, std::int64_t most) {
  return [=](const YamlNode& node, Keys& into) { set_key(into, name, read_count(node, least, most)); };
}

ReadKey name_key(const std::string& name) {
  return [=](const YamlNode& node, Keys& into) { set_key(into, name, read_name(node)); };
}

ReadKey word_key(const std::string& name, const std::vector<std::string>& known) {
  return [=](const YamlNode& node, Keys& into) { set_key(into, name, read_word(node, known)); };
}

ReadKey count_or_word_key(const std::string& name, const std::string& of, std::int64_t most,
                          const std::vector<std::string>& words) {
  return [=](const YamlNode& node, Keys& into) {
    if (std::ranges::find(words, node.text()) != words.end()) {
      set_key(into, name, node.text());
    } else {
      if (!parse_number(node.text()))
        node.fail_expected(fmt::format("a number of {}, {}", of, fmt::join(words, " or ")));
      set_key(into, name, read_count(node, 1, most));
    }
  };
}

}  // namespace stagecraft
