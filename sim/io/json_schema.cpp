#include "sim/io/json_schema.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/json_schema_texts.hpp"

namespace stagecraft {

std::vector<std::string> schema_names() {
  std::vector<std::string> names;
  for (const auto& [name, text] : json_schema_texts()) names.push_back(name);
  return names;
}

std::string_view json_schema(std::string_view name) {
  for (const auto& [known, text] : json_schema_texts()) {
    if (known == name) return text;
  }
  throw InputError("unknown schema " + quote(name), {}, suggest_name(name, schema_names()));
}

}  // namespace stagecraft
