#include "sim/io/yaml_node.hpp"

#include "sim/io/text_file.hpp"
#include "sim/io/yaml_text.hpp"
#include "sim/io/yaml_values.hpp"
#include "tests/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace stagecraft::yaml_node_test {

namespace {

std::string refusal(const std::string& text) {
  try {
    static_cast<void>(read_detail(parse_yaml(text, "f")));
  } catch (const InputError& error) {
    return error.what();
  }
  return "no refusal";
}

std::string read_refusal(const std::string& path) {
  try {
    static_cast<void>(read_text_file(path));
  } catch (const InputError& error) {
    return error.what();
  }
  return "no refusal";
}

std::string repeated(const std::string& part, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += part;
  return text;
}

/// `a2: &a2 [*a1, *a1]`: a list of aliases of the one before.
std::string anchored_list(int number, int count) {
  const std::string name = "a" + std::to_string(number);
  const std::string alias = "*a" + std::to_string(number - 1);
  return name + ": &" + name + " [" + repeated(alias + ", ", count - 1) + alias + "]\n";
}

}  // namespace

TEST_CASE("yaml: a missing value stands at its key, wherever the next word is") {
  const YamlNode root = parse_yaml("a: 1\nb:\n\n# c\nd:\n  e:\nf: {g: , h: ~}\ni:\n", "f");
  CHECK(root.at("b").place() == InputPlace{"f", 2, 1, "b"});
  CHECK(root.at("d").at("e").place() == InputPlace{"f", 6, 3, "d.e"});
  CHECK(root.at("f").at("g").place().line == 7);
  CHECK(root.at("f").at("h").place() == InputPlace{"f", 7, 13, "f.h"});  // written out: the value's own place
  CHECK(root.at("i").place() == InputPlace{"f", 8, 1, "i"});
}

TEST_CASE("yaml: lines, columns and key paths count as an editor does") {
  const YamlNode root = parse_yaml("a: 1\nb:\n  - x\n  - {c: [7, y]}\n", "f");
  const YamlNode y = root.at("b").items()[1].at("c").items()[1];
  CHECK(y.text() == "y");
  CHECK(y.place() == InputPlace{"f", 4, 13, "b[1].c[1]"});
  CHECK_FALSE(root.find("z").has_value());
  CHECK_THROWS_WITH(static_cast<void>(root.at("z")), "f:1:1: the key 'z' is missing");
  CHECK_THROWS_WITH(static_cast<void>(root.at("a").items()), "f:1:4: a: expected a list, found '1'");
  CHECK_THROWS_WITH(static_cast<void>(root.at("b").text()), "f:3:3: b: expected a value, found a list");
  CHECK_THROWS_WITH(root.allow_keys({"a", "bb"}), "f:2:1: unknown key 'b' (did you mean 'bb'? known: a, bb)");
}

TEST_CASE("yaml: nothing is told apart from the text 'null'") {
  const YamlNode root = parse_yaml("{a: , b: null, c: ~, d: 'null', e: \"\"}", "f");
  CHECK(root.at("a").kind() == YamlKind::Nothing);
  CHECK(root.at("b").kind() == YamlKind::Nothing);
  CHECK(root.at("c").kind() == YamlKind::Nothing);
  CHECK(root.at("d").text() == "null");
  CHECK(root.at("e").text().empty());
}

TEST_CASE("yaml: what yaml-cpp would accept in silence is refused") {
  CHECK(refusal("a: 1\nb: 2\na: 3\n") == "f:3:1: the key 'a' is given twice, first in line 1");
  CHECK(refusal("a: &x {b: 1}\nc:\n  <<: *x\n") == "f:3:3: merge keys are not supported (write the keys out)");
  CHECK(refusal("a: &x [1, *x]\n") == "f:1:11: an alias must not refer to a node that contains it");
  CHECK(refusal("a: 1\n---\nb: 2\n") == "f:2:1: expected one document, found a second one after '---'");
  CHECK(refusal("a: !!int 3\n") == "f:1:4: tags are not supported, found 'tag:yaml.org,2002:int'");
  CHECK(refusal("? [a, b]\n: 1\n") == "f:1:3: expected a name as key");
  CHECK(refusal("a: *nowhere\n").starts_with("f:1:4: is not valid YAML: "));
  CHECK(refusal("a: [1, 2\n").starts_with("f:2:1: is not valid YAML: "));
  for (const char* empty : {"", "\n\n", "# only a comment\n", "---\n", "null\n"}) {
    CAPTURE(empty);
    CHECK(refusal(empty) == "f:1:1: the file is empty");
  }
}

TEST_CASE("yaml: a value that is kept as a whole has a bound, judged before it is read") {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 5; ++i) text += anchored_list(i, 10);
  const YamlNode root = parse_yaml(text, "f");
  CHECK(root.at("a4").size() == 111'111);
  CHECK(root.size() == 1 + 11 + 111 + 1111 + 11'111 + 111'111 + 5);
  CHECK(std::get<Detail::List>(read_detail(root.at("a4"), 111'111).value).size() == 10);
  CHECK_THROWS_WITH(static_cast<void>(read_detail(root.at("a4"), 111'110)),
                    "f:5:5: a4: expected a value of at most 111110 nodes, found 111111 (the content of an alias counts "
                    "each time it is used)");
}

TEST_CASE("yaml: nesting and expansion are bounded, without a crash") {
  for (const char* part : {"[", "{a: ", "- ", "? "}) {
    CAPTURE(part);
    CHECK(refusal(repeated(part, 20000)).ends_with(": nested more than 100 deep"));
  }
  CHECK(refusal(repeated("[", 101) + repeated("]", 101)) == "f:1:101: nested more than 100 deep");
  CHECK(refusal(repeated("[", 100) + repeated("]", 100)) == "no refusal");
  std::string laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";  // ten to the ninth when expanded
  for (int i = 1; i < 9; ++i) laughs += anchored_list(i, 10);
  CHECK(refusal(laughs) ==
        "f:6:55: aliases add more than a million nodes to the file (the content of an alias counts each time it is "
        "used)");
  std::string words = "a0: &a0 [" + repeated("x", 10'000) + "]\n";  // 100 MB when expanded
  for (int i = 1; i < 5; ++i) words += anchored_list(i, 10);
  CHECK(
      refusal(words) ==
      "f:5:15: aliases add more than 16 MiB of text to the file (the content of an alias counts each time it is used)");
  std::string deep = "a0: &a0 [x]\n";
  for (int i = 1; i < 12; ++i) deep += anchored_list(i, 1);
  CHECK(refusal(deep) == "f:10:10: aliases are nested more than 8 deep");
}

TEST_CASE("yaml: quoted scalars stay text") {
  CHECK(read_detail(parse_yaml(R"({a: 1, b: "1", c: -2.5, d: true, e: 'true', f: [010, 1e3, x], g: -7, h: null})",
                               "f")) == Detail(Detail::Record{{"a", 1},
                                                              {"b", "1"},
                                                              {"c", -2.5},
                                                              {"d", true},
                                                              {"e", "true"},
                                                              {"f", Detail::List{"010", 1000.0, "x"}},
                                                              {"g", -7},
                                                              {"h", Detail()}}));
}

TEST_CASE("yaml: JSON is read by the same cursor") {
  const std::string json = "{\"a\":{\"b\":[1,2.5,\"\\u00e9\\/\\n\\t\\\"\"]},\n\t\"c\" : null}";
  CHECK(read_detail(parse_yaml(json, "f")) ==
        Detail(Detail::Record{{"a", Detail::Record{{"b", Detail::List{1, 2.5, "é/\n\t\""}}}}, {"c", Detail()}}));
}

TEST_CASE("yaml: what is written reads back to the same value") {
  const Detail::Record value = {
      {"plain", "word"},
      {"time", "0.0413 s"},
      {"odd key: yes", "a: b, [c] {d} # e"},
      {"number", "12"},
      {"truth", "Yes"},
      {"lines", "one\ntwo\ttab \\ \"quoted\" \x7f"},
      {"empty", ""},
      {"none", Detail()},
      {"counts", Detail::List{1, -2, 3.0, 1e-30, 0.1}},
      {"nested", Detail::List{Detail::Record{{"a", Detail::List{}}, {"b", Detail::Record{}}}, Detail::List{true}}},
      {"map", Detail::Record{{"x", Detail::Record{{"y", 1}}}, {"z", Detail::List{"grün"}}}}};
  const std::string text = to_yaml(value);
  CAPTURE(text);
  CHECK(read_detail(parse_yaml(text, "f")) == Detail(value));
  CHECK(read_detail(parse_yaml(to_yaml({}), "f")) == Detail(Detail::Record{}));
}

TEST_CASE("text file: what cannot be read says why") {
  const test::TemporaryFolder folder;
  const std::string missing = folder / "missing.yaml";
  CHECK(read_refusal(missing) == missing + ": cannot be read: No such file or directory");
  CHECK(read_refusal(folder / ".") == folder / "." + ": expected a file, found a directory");
  const std::string binary = folder / "binary";
  std::ofstream(binary, std::ios::binary) << "ok\nab" << '\0' << "c";
  CHECK(read_refusal(binary) == binary + ":2:3: expected a text file in UTF-8, found the byte 0x00");
  const std::string latin = folder / "latin1";
  std::ofstream(latin, std::ios::binary) << "gr\xfcn";
  CHECK(read_refusal(latin) == latin + ":1:3: expected a text file in UTF-8, found the byte 0xfc");
  const std::string large = folder / "large";
  std::ofstream(large).close();
  std::filesystem::resize_file(large, (std::uintmax_t{256} << 20) + 1);
  CHECK(read_refusal(large) == large + ": is larger than 64 MiB");
  if (std::filesystem::exists("/proc/self/mem")) {  // opens, but its first page cannot be read
    CHECK(read_refusal("/proc/self/mem") == "/proc/self/mem: cannot be read to its end");
  }
  if (geteuid() == 0) {
    MESSAGE("skipped: root reads files whatever their permissions");
    return;
  }
  const std::string locked = folder / "locked";
  std::ofstream(locked) << "a: 1\n";
  std::filesystem::permissions(locked, std::filesystem::perms::none);
  CHECK(read_refusal(locked) == locked + ": cannot be read: Permission denied");
}

TEST_CASE("text file: only well-formed UTF-8 is text") {
  for (const char* good : {"", "a\tb\r\n", "é", "€", "😀", "\xEF\xBB\xBFstart"}) {
    CAPTURE(good);
    CHECK_NOTHROW(check_text(good, "f"));
  }
  // Overlong, surrogate, beyond U+10FFFF, a lone continuation, a cut character, an escape character.
  for (const char* bad :
       {"\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\x80", "\xE2\x82", "\x1b[0m"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(check_text(bad, "f"), InputError);
  }
}

}  // namespace stagecraft::yaml_node_test
