// `simulate --report`. What the page does with its data is tested in a browser (web/test).
#include "tests/experiments/commands/toy.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {
namespace {

using Json = nlohmann::json;

/// The text between two others that each occur once.
std::string between(const std::string& text, std::string_view begin, std::string_view end) {
  const std::size_t at = text.find(begin);
  REQUIRE(at != std::string::npos);
  REQUIRE(text.find(begin, at + 1) == std::string::npos);
  const std::size_t until = text.find(end, at + begin.size());
  REQUIRE(until != std::string::npos);
  return text.substr(at + begin.size(), until - at - begin.size());
}

Json data_of(const std::string& page) {
  return Json::parse(between(page, R"(<script type="application/json" id="data">)", "</script>"));
}

/// Numbers of so many bytes in base64: how many there are.
std::size_t count_of(const Json& column, std::size_t bytes) {
  const std::string text = column;
  const std::size_t padding = text.size() - std::min(text.find('='), text.size());
  return (text.size() / 4 * 3 - padding) / bytes;
}

/// Numbers of four bytes, the least significant one first.
std::vector<std::size_t> numbers_of(const Json& column) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const std::string text = column;
  std::vector<std::size_t> numbers(count_of(column, 4));
  for (std::size_t byte = 0; byte < 4 * numbers.size(); ++byte) {
    const std::size_t digit = byte * 4 / 3;  // the byte begins after 2 * (byte % 3) of its six bits
    const std::size_t bits = kDigits.find(text[digit]) << 6U | kDigits.find(text[digit + 1]);
    numbers[byte / 4] |= (bits >> (4 - 2 * (byte % 3)) & 0xFFU) << (8 * (byte % 4));
  }
  return numbers;
}

std::size_t operations_of(const Json& data) {
  const std::size_t rows = count_of(data["operations"]["start_s"], 8);
  CHECK(count_of(data["operations"]["end_s"], 8) == rows);
  CHECK(count_of(data["operations"]["microbatch"], 4) == rows);
  CHECK(count_of(data["waits"]["begin"], 4) == rows + 1);
  const std::vector<std::size_t> sets = numbers_of(data["operations"]["set"]);
  CHECK(sets.size() == rows);
  std::size_t count = 0;
  for (const std::size_t set : sets) count += data["sets"].at(set).size();
  return count;
}

}  // namespace

TEST_CASE("--report: the page has the report and every operation, and asks nobody for anything") {
  const Toy toy;
  const std::string file = toy.file("run.html");
  const Json told = Json::parse(toy.on("simulate", {"--json", "--timeline", "--no-timings", "--report", file}).out);
  const std::string page = read(file);
  const Json data = data_of(page);
  Json report = told;
  report.erase("timeline");
  CHECK(data["report"] == report);
  CHECK(operations_of(data) == told["timeline"].size());
  CHECK(page.find("Content-Security-Policy\" content=\"default-src 'none'") != std::string::npos);
  for (const char* word : {"src=\"http", "href=\"http", "@import", "@DATA@"})
    CHECK(page.find(word) == std::string::npos);
  CHECK(toy.on("simulate", {"--report", file}).code == 0);  // a page of a run may be replaced
}

TEST_CASE("--report: a window has its operations, and what is held where it begins") {
  const Toy toy;
  const std::string file = toy.file("run.html");
  const Ran ran = toy.on("simulate", {"--json", "--report", file, "--timeline-window", "15 ms..16 ms"});
  const Json data = data_of(read(file));
  CHECK(operations_of(data) == Json::parse(ran.out)["timeline"].size());
  CHECK(!data["memory"].empty());
}

TEST_CASE("--report: names cannot end the element of the data") {
  const Toy toy;
  const std::string name = "</script><!--<img src=x onerror=alert(1)>";
  toy.rename_device(name);
  const std::string file = toy.file("run.html");
  REQUIRE(toy.on("simulate", {"--report", file}).code == 0);
  const std::string page = read(file);
  CHECK(page.find("<img") == std::string::npos);
  CHECK(data_of(page)["places"][0]["name"] == name);
}

TEST_CASE("--report: other files are not replaced") {
  const Toy toy;
  const std::string other = toy.file("mine.html");
  write(other, "<!DOCTYPE html><title>Mine</title>\n");
  CHECK(toy.on("simulate", {"--report", other}).code == 2);
  CHECK(read(other).find("Mine") != std::string::npos);
  CHECK(toy.on("simulate", {"--report", toy.file("run.txt")}).code == 2);
  CHECK(toy.on("simulate", {"--report", toy.file("missing/run.html")}).code == 2);
}

}  // namespace stagecraft
