#include "experiments/view/text_width.hpp"

#include <doctest/doctest.h>

namespace stagecraft {
namespace {

TEST_CASE("text width: a text is broken at blanks, and a word only if it alone is too long") {
  CHECK(wrapped("one two three", 7) == "one two\nthree\n");
  CHECK(wrapped("one two three", 6) == "one\ntwo\nthree\n");
  CHECK(wrapped("one two three", 4) == "one\ntwo\nthre\ne\n");
  CHECK(wrapped("", 4) == "\n");
  CHECK(wrapped("ab", 1) == "a\nb\n");
  CHECK(wrapped(" a", 1) == " \na\n");
}

TEST_CASE("text width: a number keeps its unit where the line has another blank") {
  CHECK(wrapped("it takes 20 ms", 11) == "it takes\n20 ms\n");
  CHECK(wrapped("20 seconds", 7) == "20\nseconds\n");
  CHECK(wrapped("1 2 3 4", 3) == "1 2\n3 4\n");
}

TEST_CASE("text width: a character of several bytes is one column") {
  CHECK(width_of("gpu…€") == 5);
  CHECK(wrapped("€€€ €€", 3) == "€€€\n€€\n");
  CHECK(wrapped("€€€", 2) == "€€\n€\n");
  CHECK(shortened("€uro1", 3) == "…o1");
  CHECK(shortened("a€€€", 3) == "…€€");
}

TEST_CASE("text width: Chinese characters take two columns, accents of their own none") {
  CHECK(width_of("模型1") == 5);
  CHECK(width_of("e\u0301") == 1);
  CHECK(wrapped("模型模型", 5) == "模型\n模型\n");
  CHECK(wrapped("模型", 1) == "模\n型\n");  // narrower than a character
  CHECK(shortened("模型1", 5) == "模型1");
  CHECK(shortened("模型12", 5) == "…型12");
  CHECK(shortened("模型模型", 4) == "…型");
  CHECK(shortened("cafe\u0301-22", 4) == "…-22");  // the accent goes with its letter
}

TEST_CASE("text width: of a name that is too long the end is kept") {
  CHECK(shortened("node12/gpu3", 11) == "node12/gpu3");
  CHECK(shortened("node12/gpu3", 5) == "…gpu3");
  CHECK(shortened("node12/gpu3", 1) == "…");
  CHECK(shortened("node12/gpu3", 0).empty());
}

}  // namespace
}  // namespace stagecraft
