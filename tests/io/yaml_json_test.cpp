// A JSON text is read by another parser than YAML is. Both give the same, with the same words and places for errors.
#include "sim/base/error.hpp"
#include "sim/io/yaml_node.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <random>
#include <string>
#include <vector>

namespace stagecraft::yaml_json_test {
namespace {

/// The same text for the YAML reader, one line further down.
std::string as_yaml(const std::string& json) { return "---\n" + json; }

void check_same(const YamlNode& json, const YamlNode& yaml) {
  CAPTURE(json.key());
  REQUIRE(json.kind() == yaml.kind());
  CHECK(json.size() == yaml.size());
  CHECK(json.place().line == yaml.place().line - 1);
  CHECK(json.place().column == yaml.place().column);
  if (json.kind() == YamlKind::Text) {
    CHECK(json.text() == yaml.text());
    CHECK(json.is_quoted() == yaml.is_quoted());
  } else if (json.kind() == YamlKind::List) {
    const std::vector<YamlNode> items = json.items();
    for (std::size_t i = 0; i < items.size(); ++i) check_same(items[i], yaml.items().at(i));
  } else if (json.kind() == YamlKind::Map) {
    for (const auto& [name, value] : json.entries()) check_same(value, yaml.at(name));
  }
}

void check_same(const std::string& json) {
  CAPTURE(json);
  check_same(parse_yaml(json, "f"), parse_yaml(as_yaml(json), "g"));
}

/// A value of random kind, with line breaks between its parts.
std::string random_value(std::mt19937& random, int depth) {
  const auto pick = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most)); };
  const std::vector<std::string> scalars = {"0",
                                            "-1",
                                            "17",
                                            "1e-5",
                                            "-2.50",
                                            "1E+3",
                                            "18446744073709551616",
                                            "true",
                                            "false",
                                            "null",
                                            R"("")",
                                            R"("1.5 ms")",
                                            R"("null")",
                                            R"("a: b, {c}")",
                                            R"("quote \" and \\")",
                                            "\"\xC3\xA9\"",
                                            R"("\u00e9")"};
  const int kind = depth > 3 ? 0 : pick(4);
  if (kind < 2) return scalars[static_cast<std::size_t>(pick(static_cast<int>(scalars.size())))];
  const std::string gap = pick(2) == 0 ? "\n  " : " ";
  std::string text;
  const int count = pick(4);
  for (int i = 0; i < count; ++i) {
    if (i > 0) text += "," + gap;
    if (kind == 3) text += "\"key " + std::to_string(i) + "\":" + (pick(2) == 0 ? " " : "");
    text += random_value(random, depth + 1);
  }
  return kind == 2 ? "[" + text + "]" : "{" + text + "}";
}

std::string refused(const std::string& text, int line_offset) {
  try {
    const YamlNode root = parse_yaml(text, "f");
    root.allow_keys({"known"});
    root.at("known").fail_expected("something else");
  } catch (const InputError& error) {
    const InputPlace place = error.place();
    return error.message() + " at " + std::to_string(place.line - line_offset) + ":" + std::to_string(place.column) +
           " " + place.key + " (" + error.hint() + ")";
  }
  return "no refusal";
}

}  // namespace

TEST_CASE("JSON: random documents are read as YAML reads them, places included") {
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) check_same("{\"known\": " + random_value(random, 0) + "}");
}

TEST_CASE("JSON: errors have the words and the places of YAML") {
  for (const std::string text :
       {"{\"known\": 1}", "{\n  \"known\": [1,\n 2]}", "{\"other\":\n 1}", "{\"known\": 1", "{\"known\": 1} {}",
        "{\"\": 1}", "{\"<<\": 1, \"known\": 2}", "{\"a\\u0007\": 1}", "{\"known\": \"\\u0085\"}", "{known: 1}"}) {
    CAPTURE(text);
    CHECK(refused(text, 0) == refused(as_yaml(text), 1));
  }
}

TEST_CASE("JSON: a key that is given twice is refused where it is given again") {
  CHECK(refused("{\"known\": 1,\n \"known\": 2}", 0)
            .starts_with("the key 'known' is given twice, first in line 1 at 2:2"));
}

TEST_CASE("JSON: what only JSON can say is read, and an error there has no line") {
  const std::string text = R"({"known": "\ud83d\ude00", "path": "a\/b"})";
  CHECK(parse_yaml(text, "f").at("known").text() == "\xF0\x9F\x98\x80");
  CHECK(parse_yaml(text, "f").at("path").text() == "a/b");
  CHECK_THROWS_AS(parse_yaml(text, "f").allow_keys({"known"}), InputError);
}

TEST_CASE("JSON: a text that was read before gives the same document, another file's not") {
  const std::string text = "{\"known\": 1}";
  CHECK(parse_yaml(text, "f").place().file == "f");
  CHECK(parse_yaml(text, "g").place().file == "g");
  CHECK(parse_yaml(text, "f").at("known").text() == "1");
  for (int i = 0; i < 20; ++i) {
    const std::string other = "{\"known\": " + std::to_string(i) + "}";
    CHECK(parse_yaml(other, "f").at("known").text() == std::to_string(i));
  }
}

}  // namespace stagecraft::yaml_json_test
