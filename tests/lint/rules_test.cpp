// The lints on planted violations: each rule must find them, and must let the clean neighbour pass.
#include "tests/lint/class_size.hpp"
#include "tests/lint/links.hpp"
#include "tests/lint/source_tree.hpp"
#include "tests/lint/text_rules.hpp"
#include "tests/lint/walls.hpp"
#include "tests/paths.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

namespace stagecraft::lint {
namespace {

const std::set<std::string>& known_files() {
  static const std::set<std::string> paths = {
      "sim/base/error.hpp",     "sim/model/plan.hpp",   "sim/io/plan_yaml.hpp",          "sim/schedule/lower.hpp",
      "planners/x.hpp",         "sim/engine/lane.hpp",  "sim/replay/simgrid_zone.hpp",   "sim/replay/replay.hpp",
      "experiments/view/m.hpp", "tests/lint/walls.hpp", "planners/shared/savings/s.hpp", "planners/shared/costs/c.hpp",
      "planners/table.hpp.in",  "planners/planner.hpp", "planners/shared/turns/t.hpp",   "planners/shared/cuts/c.hpp",
      "sim/model/plan.cpp",     "sim/analytic/e.hpp"};
  return paths;
}

bool wall_stands(const std::string& path, const std::string& include_line) {
  return !check_walls(as_file(path, include_line + "\n"), known_files()).empty();
}

TEST_CASE("walls: a room may not include what stands to its right") {
  CHECK(wall_stands("sim/base/a.cpp", "#include \"sim/model/plan.hpp\""));
  CHECK(wall_stands("sim/model/a.hpp", "#include \"sim/io/plan_yaml.hpp\""));
  CHECK(wall_stands("sim/schedule/a.cpp", "#include \"sim/engine/lane.hpp\""));
  CHECK(wall_stands("sim/engine/a.cpp", "#include \"sim/schedule/lower.hpp\""));
  CHECK(wall_stands("sim/analytic/a.cpp", "#include \"sim/replay/replay.hpp\""));
  CHECK(wall_stands("planners/a.cpp", "#include \"sim/io/plan_yaml.hpp\""));
  CHECK(wall_stands("planners/a.cpp", "#include \"sim/replay/replay.hpp\""));
  CHECK(wall_stands("planners/a.cpp", "#include \"experiments/view/m.hpp\""));
  CHECK(wall_stands("experiments/run/a.cpp", "#include \"experiments/view/m.hpp\""));
  CHECK(wall_stands("experiments/study/a.cpp", "#include \"tests/lint/walls.hpp\""));
  CHECK(wall_stands("experiments/study/a.cpp", "#include <tests/lint/walls.hpp>"));
}

TEST_CASE("walls: a room includes itself and what stands to its left") {
  CHECK_FALSE(wall_stands("sim/base/a.cpp", "#include \"sim/base/error.hpp\""));
  CHECK_FALSE(wall_stands("sim/engine/a.cpp", "#include \"sim/model/plan.hpp\""));
  CHECK_FALSE(wall_stands("sim/analytic/a.cpp", "#include \"sim/engine/lane.hpp\""));
  CHECK_FALSE(wall_stands("sim/replay/a.cpp", "#include \"sim/schedule/lower.hpp\""));
  CHECK_FALSE(wall_stands("planners/a.cpp", "#include \"sim/analytic/e.hpp\""));
  CHECK_FALSE(wall_stands("experiments/study/a.cpp", "#include \"planners/x.hpp\""));
  CHECK_FALSE(wall_stands("experiments/study/a.cpp", "#include \"experiments/view/m.hpp\""));
  CHECK_FALSE(wall_stands("tests/io/a_test.cpp", "#include \"experiments/view/m.hpp\""));
}

TEST_CASE("walls: a planner includes nothing of another planner") {
  CHECK(wall_stands("planners/a.cpp", "#include \"planners/x.hpp\""));
  CHECK(wall_stands("planners/a/b.cpp", "#include \"planners/x.hpp\""));
  CHECK(wall_stands("planners/shared/costs/a.cpp", "#include \"planners/x.hpp\""));
  CHECK(wall_stands("planners/planner.cpp", "#include \"planners/shared/cuts/c.hpp\""));
  CHECK_FALSE(wall_stands("planners/x/a.cpp", "#include \"planners/x.hpp\""));
  CHECK_FALSE(wall_stands("planners/a.cpp", "#include \"planners/planner.hpp\""));
  CHECK_FALSE(wall_stands("planners/a/b.cpp", "#include \"planners/shared/cuts/c.hpp\""));
  CHECK_FALSE(wall_stands("planners/registry.cpp", "#include \"planners/x.hpp\""));
}

TEST_CASE("walls: what planners share is costs, cuts above them, savings above both, and turns") {
  const std::vector<std::string> folders = {"costs/c", "cuts/c", "savings/s", "turns/t"};
  const auto includes_of_all = [&](const std::string& from) {
    std::string allowed;
    for (const std::string& to : folders) {
      allowed += wall_stands("planners/shared/" + from, "#include \"planners/shared/" + to + ".hpp\"") ? '-' : '+';
    }
    return allowed;
  };
  CHECK(includes_of_all("costs/a.cpp") == "+---");
  CHECK(includes_of_all("cuts/a.hpp") == "++--");
  CHECK(includes_of_all("savings/a.cpp") == "++++");
  CHECK(includes_of_all("turns/a.cpp") == "+--+");
  CHECK(wall_stands("planners/shared/a.cpp", ""));
  CHECK(wall_stands("planners/shared/others/a.cpp", ""));
  CHECK_FALSE(wall_stands("planners/a.cpp", "#include \"planners/shared/savings/s.hpp\""));
  CHECK_FALSE(wall_stands("planners/shared/turns/a.cpp", "#include \"planners/planner.hpp\""));
  CHECK_FALSE(wall_stands("experiments/run/a.cpp", "#include \"planners/shared/turns/t.hpp\""));
}

TEST_CASE("walls: includes are full paths of existing headers, from files that lie in a room") {
  CHECK(wall_stands("sim/base/a.cpp", "#include \"error.hpp\""));
  CHECK(wall_stands("sim/base/a.cpp", "#include \"../base/error.hpp\""));
  CHECK_FALSE(wall_stands("planners/registry.cpp", "#include \"planners/table.hpp\""));  // configured from table.hpp.in
  CHECK(wall_stands("sim/base/a.cpp", "#  include \"sim/base/absent.hpp\""));
  CHECK(wall_stands("tests/a.cpp", "#include \"sim/model/plan.cpp\""));
  CHECK(wall_stands("traces/a.cpp", ""));
}

TEST_CASE("walls: third-party headers stay where the table puts them") {
  CHECK(wall_stands("sim/io/a.hpp", "#include <yaml-cpp/yaml.h>"));
  CHECK_FALSE(wall_stands("sim/io/a.cpp", "#include <yaml-cpp/yaml.h>"));
  CHECK(wall_stands("sim/replay/replay.cpp", "#include <simgrid/s4u.hpp>"));
  CHECK(wall_stands("tests/replay/a_test.cpp", "#include <xbt/log.h>"));
  CHECK_FALSE(wall_stands("sim/replay/simgrid_zone.cpp", "#include <simgrid/s4u.hpp>"));
  CHECK(wall_stands("tests/replay/a_test.cpp", "#include \"sim/replay/simgrid_zone.hpp\""));
  CHECK(wall_stands("sim/model/plan.cpp", "#include <boost/graph/adjacency_list.hpp>"));
  CHECK_FALSE(wall_stands("sim/model/graph_order.cpp", "#include <boost/graph/adjacency_list.hpp>"));
  CHECK_FALSE(wall_stands("planners/pipedream/a.cpp", "#include <boost/graph/adjacency_list.hpp>"));
  CHECK(wall_stands("planners/a.cpp", "#include <nlohmann/json.hpp>"));
  CHECK(wall_stands("sim/io/a.cpp", "#include <CLI/CLI.hpp>"));
  CHECK(wall_stands("sim/base/a.cpp", "#include <range/v3/all.hpp>"));
  CHECK(wall_stands("sim/model/a.cpp", "#include <unistd.h>"));
  CHECK_FALSE(wall_stands("sim/model/a.cpp", "#include <vector>"));
}

TEST_CASE("text: blanks, tabs, carriage returns and a missing newline are found on their lines") {
  const std::vector<Violation> found = check_whitespace(as_file("a.md", "clean\ntail \n\ttab\nreturn\r\nlast"));
  const std::vector<Violation> expected = {{"a.md", 2, "blank at the end of the line"},
                                           {"a.md", 3, "tab"},
                                           {"a.md", 4, "carriage return"},
                                           {"a.md", 0, "no newline at the end of the file"}};
  CHECK(found == expected);
  CHECK(check_whitespace(as_file("a.md", "clean\n")).empty());
}

TEST_CASE("text: only headers need #pragma once, and as their first line") {
  CHECK(check_pragma_once(as_file("a.hpp", "// first\n#pragma once\n")).size() == 1);
  CHECK(check_pragma_once(as_file("a.hpp", "")).size() == 1);
  CHECK(check_pragma_once(as_file("a.hpp", "#pragma once\n")).empty());
  CHECK(check_pragma_once(as_file("a.cpp", "int a;\n")).empty());
}

TEST_CASE("text: 400 lines pass and 401 do not") {
  std::string text;
  for (int i = 0; i < 400; ++i) text += "// line\n";
  CHECK(check_length(as_file("sim/a.cpp", text)).empty());
  CHECK(check_length(as_file("sim/a.cpp", text + "// line\n")).size() == 1);
  CHECK(check_length(as_file("docs/a.md", text + "line\n")).empty());
}

TEST_CASE("text: 120 characters on a line pass and 121 do not, whatever bytes they take") {
  const auto check = [](const std::string& path, const std::string& line) {
    return check_width(as_file(path, "int a;\n" + line + "\n"));
  };
  std::string wide;
  for (int i = 0; i < 117; ++i) wide += i % 2 == 0 ? "…" : "⌊";
  CHECK(check("sim/a.cpp", "// " + std::string(117, 'a')).empty());
  CHECK(check("sim/a.hpp", "// " + wide).empty());
  for (const std::string& line : {"// " + std::string(118, 'a'), "// " + wide + "é"}) {
    const std::vector<Violation> found = check("tests/a.hpp", line);
    REQUIRE(found.size() == 1);
    CHECK(found[0].line == 2);
    CHECK(found[0].message.starts_with("121 characters"));
  }
  CHECK(check("sim/a.cpp", "const char* a = R\"(" + std::string(120, 'a')).size() == 1);
  CHECK(check("docs/a.md", std::string(200, 'a')).empty());
}

TEST_CASE("text: refused words are found in code and not in comments") {
  CHECK(check_words(as_file("sim/a.cpp", "auto b = a | std::views::reverse;\n")).size() == 1);
  CHECK(check_words(as_file("sim/a.hpp", "class PlanManager {};\n")).size() == 1);
  CHECK(check_words(as_file("sim/a.cpp", "using namespace std;\n")).size() == 1);
  CHECK(check_words(as_file("tests/a.cpp", "  typedef int a;\n")).size() == 1);
  CHECK(check_words(as_file("planners/a.cpp", "std::cout << 1;\n")).size() == 1);
  CHECK(check_words(as_file("sim/a.cpp", "std::exit(1);\n")).size() == 1);
  CHECK(check_words(as_file("experiments/main.cpp", "std::cout << 1;\n")).empty());
  CHECK(check_words(as_file("sim/a.cpp", "int a;  // std::cout would be refused\n")).empty());
  CHECK(check_words(as_file("sim/a.cpp", "class Handlers {};\n")).empty());
}

TEST_CASE("text: data says where it comes from") {
  CHECK(check_data(as_file("traces/a.yaml", "model: a\n")).size() == 1);
  CHECK(check_data(as_file("platforms/a.yaml", "# source:\nplatform: a\n")).size() == 1);
  CHECK(check_data(as_file("platforms/a.cpp", "// source: here\n")).size() == 1);
  CHECK(check_data(as_file("traces/a.yaml", "source: \"measured by us\"\n")).empty());
  CHECK(check_data(as_file("platforms/a.yaml", "# Sources: the vendor's data sheet\n")).empty());
  CHECK(check_data(as_file("tests/a.yaml", "model: a\n")).empty());
}

/// "name methods/fields" of each class in `text`.
std::string sizes(const std::string& text) {
  std::string list;
  for (const ClassSize& size : classes_of(as_file("sim/a.hpp", text))) {
    if (!list.empty()) list += ", ";
    list += size.name + " " + std::to_string(size.methods) + "/" + std::to_string(size.fields);
  }
  return list;
}

TEST_CASE("classes: fields are what each object has, methods what is declared") {
  CHECK(sizes("struct A { int a; std::map<int, std::function<void(int)>> b; double c = f(1, 2); };\n") == "A 0/3");
  CHECK(sizes("class A final : public B {\n public:\n  int a() const { return a_; }\n private:\n  int a_{0};\n};\n") ==
        "A 1/1");
  CHECK(sizes("struct A { A() : a{1}, b(2) {} ~A(); int a; int b; static int c; static void d(); };\n") == "A 3/2");
  CHECK(
      sizes("struct A { void (*call)(int); int list[3]; using B = int; friend void f(A); A(const A&) = delete; };\n") ==
      "A 0/2");
  CHECK(sizes("struct A { bool operator==(const A&) const { return true; } int operator()(int a = 2); int a; };\n") ==
        "A 2/1");
  CHECK(sizes("struct A { [[nodiscard]] int f() const; template <class T> void g(T a = {}); };\n") == "A 2/0");
}

TEST_CASE("classes: nested ones count for themselves, and what is defined with a type counts for the class around it") {
  CHECK(
      sizes("namespace n { class A { struct B { int b; } first; enum class C { D, E } second; struct F; B g; }; }\n") ==
      "B 0/1, A 0/3");
  CHECK(sizes("enum class A { B };\nint f() { struct C { int d; }; return 0; }\nstruct E {};\n") == "E 0/0");
}

TEST_CASE("classes: comments, literals and the preprocessor are no code") {
  CHECK(sizes("#define A struct B { int b; };\n// struct C { int c; };\n/* struct D {\nint d; }; */\n"
              "struct E { std::string e = \"struct F { int f; };\"; char g = '}'; int h = 1'000'000; };\n") == "E 0/3");
}

TEST_CASE("classes: 25 methods or 20 fields pass, one more does not, and excuses must be needed") {
  const auto check = [](int methods, int fields, const std::vector<std::string>& excused) {
    std::string text = "class A {\n";
    for (int i = 0; i < methods; ++i) text += "  void m" + std::to_string(i) + "();\n";
    for (int i = 0; i < fields; ++i) text += "  int f" + std::to_string(i) + ";\n";
    return check_class_sizes({as_file("sim/a.hpp", text + "};\n")}, excused).size();
  };
  CHECK(check(25, 20, {}) == 0);
  CHECK(check(26, 20, {}) == 1);
  CHECK(check(25, 21, {}) == 1);
  CHECK(check(26, 20, {"A"}) == 0);
  CHECK(check(25, 20, {"A"}) == 1);
}

std::size_t dead_links(const std::string& text) {
  return check_links(as_file("docs/README.md", text), STAGECRAFT_SOURCE_DIR).size();
}

TEST_CASE("links: dead ones, those out of the repository and unknown headings are found") {
  CHECK(dead_links("see [a](absent.md)\n") == 1);
  CHECK(dead_links("see [a](../../etc/passwd)\n") == 1);
  CHECK(dead_links("see [a](/docs/README.md)\n") == 1);
  CHECK(dead_links("see [a](../README.md#no-such-heading)\n") == 1);
  CHECK(dead_links("[a](README.md) and [b](absent.md) and ![c](absent.png)\n") == 2);
}

TEST_CASE("links: living ones, other hosts and code pass") {
  CHECK(dead_links("see [a](README.md), [b](../README.md) and [c](explanation/architecture.md#rooms)\n") == 0);
  CHECK(dead_links("see [a](https://simgrid.org/absent.md)\n") == 0);
  CHECK(dead_links("`[a](absent.md)`\n```\n[a](absent.md)\n```\n") == 0);
}

TEST_CASE("links: a heading's anchor is lower case with dashes") {
  CHECK(anchor_of("Results, changed: 2 of `them`") == "results-changed-2-of-them");
}

}  // namespace
}  // namespace stagecraft::lint
