#include "tests/experiments/commands/answer_schemas.hpp"

#include "sim/io/json_schema.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <map>
#include <utility>

namespace stagecraft::test {
namespace {

using Json = nlohmann::json;

/// A schema as it is printed.
const Json& printed_schema(const std::string& name) {
  static std::map<std::string, Json> schemas;
  const auto [found, is_new] = schemas.try_emplace(name);
  if (is_new) found->second = Json::parse(json_schema(name));
  return found->second;
}

/// What `NAME.json#/definitions/KEY` stands for.
struct SchemaPart {
  std::string schema;
  std::string pointer;  ///< empty: the whole schema

  SchemaPart(const std::string& reference, const std::string& home) {
    const std::size_t hash = reference.find('#');
    const std::string file = reference.substr(0, hash);
    schema = file.empty() ? home : file.substr(0, file.rfind(".json"));
    if (hash != std::string::npos) pointer = reference.substr(hash + 1);
  }
  [[nodiscard]] const Json& read() const { return printed_schema(schema).at(Json::json_pointer(pointer)); }
  [[nodiscard]] std::string name() const {
    return pointer.empty() ? schema : schema + "." + pointer.substr(pointer.rfind('/') + 1);
  }
};

/// Lets all references be to `definitions`, and adds what they refer to.
void embed(Json& node, const std::string& home, Json& definitions) {
  if (!node.is_structured()) return;
  if (!node.contains("$ref")) {
    for (Json& child : node) embed(child, home, definitions);
    return;
  }
  const SchemaPart part(node["$ref"].get<std::string>(), home);
  node["$ref"] = "#/definitions/" + part.name();
  if (definitions.contains(part.name())) return;
  definitions[part.name()] = nullptr;  // it may refer to itself
  Json copy = part.read();
  copy.erase("definitions");
  embed(copy, part.schema, definitions);
  definitions[part.name()] = std::move(copy);
}

/// Calls `visit` with the schema of each property of `record`, its name and the path of the property.
template <typename Visit>
void each_property(const Json& record, const std::string& path, const Visit& visit) {
  if (!record.contains("properties")) return;
  for (const auto& [name, schema] : record["properties"].items()) visit(schema, name, path + "." + name);
}

/// Adds what `value` has of the properties of its schema, which lies in the part of this name.
void find_properties(const Json& schema, const Json& value, const SchemaPart& in, std::set<std::string>& found) {
  if (schema.contains("$ref")) {
    const SchemaPart part(schema["$ref"].get<std::string>(), in.schema);
    if (part.schema != "plan") find_properties(part.read(), value, part, found);
    return;
  }
  for (const Json& choice : schema.value("anyOf", Json::array())) {
    if (!value.is_null()) find_properties(choice, value, in, found);
  }
  if (value.is_array() && schema.contains("items")) {
    for (const Json& item : value) find_properties(schema["items"], item, in, found);
  }
  if (!value.is_object()) return;
  each_property(schema, in.name(), [&](const Json& property, const std::string& name, const std::string& path) {
    if (!value.contains(name)) return;
    found.insert(path);
    find_properties(property, value[name], in, found);
  });
}

/// A schema with those that it refers to, so that it stands alone.
Json whole_schema(const std::string& name) {
  Json schema = printed_schema(name);
  schema.erase("definitions");
  Json definitions = Json::object();
  embed(schema, name, definitions);
  schema["definitions"] = std::move(definitions);
  return schema;
}

}  // namespace

AnswerSchemas::AnswerSchemas() {
  for (const std::string& name : names()) validators_.try_emplace(name, whole_schema(name));
}

std::vector<std::string> AnswerSchemas::names() const {
  std::vector<std::string> names;
  for (const std::string& name : schema_names()) {
    if (printed_schema(name)["title"].get<std::string>().starts_with("stagecraft/answer/")) names.push_back(name);
  }
  return names;
}

std::string AnswerSchemas::refusal(const std::string& schema, const std::string& answer) {
  const Json value = Json::parse(answer);
  const SchemaPart whole("#", schema);
  find_properties(whole.read(), value, whole, found_);
  return validators_.at(schema).refusal(value);
}

std::set<std::string> AnswerSchemas::missing() const {
  std::set<std::string> missing;
  const auto add = [&](const Json&, const std::string&, const std::string& path) {
    if (!found_.contains(path)) missing.insert(path);
  };
  for (const std::string& name : names()) {
    const Json& schema = printed_schema(name);
    each_property(schema, name, add);
    if (!schema.contains("definitions")) continue;
    for (const auto& [key, record] : schema["definitions"].items()) each_property(record, name + "." + key, add);
  }
  return missing;
}

}  // namespace stagecraft::test
