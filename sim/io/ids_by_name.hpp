#pragma once

#include "sim/base/text.hpp"
#include "sim/io/yaml_node.hpp"
#include "sim/io/yaml_values.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// What the names of a file stand for.
template <class Id>
using IdsByName = std::map<std::string, Id>;

/// What the name at `node` stands for. **Throws** InputError with the nearest of the known names, and what else the
/// file might mean.
template <class Id>
[[nodiscard]] Id find_id(const YamlNode& node, std::string_view what, const IdsByName<Id>& by_name,
                         const std::string& otherwise = "") {
  const std::string name = read_name(node);
  const auto found = by_name.find(name);
  if (found != by_name.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [known_name, id] : by_name) known.push_back(known_name);
  node.fail("unknown " + std::string(what) + " " + quote(name), suggest_name(name, known) + otherwise);
}

}  // namespace stagecraft
