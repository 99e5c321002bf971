// What `stagecraft serve` reads and writes, line by line. tests/python/package_test.py runs it.
#include "experiments/commands/served_request.hpp"
#include "sim/base/error.hpp"
#include "sim/io/json.hpp"
#include "sim/io/text_file.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <variant>
#include <vector>

namespace stagecraft::serve_test {
namespace {

std::string request_refusal(const std::string& line, Detail& id) {
  try {
    static_cast<void>(parse_served_request(line, id));
  } catch (const InputError& error) {
    return error.what();
  }
  return "no refusal";
}

std::string request_refusal(const std::string& line) {
  Detail id;
  return request_refusal(line, id);
}

}  // namespace

TEST_CASE("serve: a request is a command, inputs to hold, or plans to evaluate") {
  Detail id;
  const ServedRequest command =
      parse_served_request(R"({"id": [1], "command": ["a", "b c"], "files": {"f": "text", "g": {"k": 0.1}}})", id);
  CHECK(to_json(id, -1) == "[1]");
  CHECK(std::get<ServedCommand>(command.what).words == std::vector<std::string>{"a", "b c"});
  CHECK(command.files.at("f") == "text");
  CHECK(*from_json(command.files.at("g")) == *from_json(R"({"k": 0.1})"));
  const ServedRequest hold =
      parse_served_request(R"({"hold": {"model": "m", "platform": "p", "set": ["a=1"], "speed": ["K=2"]}})", id);
  CHECK(std::get<ServedHold>(hold.what).inputs.model == "m");
  CHECK(std::get<ServedHold>(hold.what).inputs.platform.speeds == std::vector<std::string>{"K=2"});
  const ServedRequest evaluation = parse_served_request(R"({"evaluate": ["{}"]})", id);
  CHECK(std::get<ServedEvaluation>(evaluation.what).plans.size() == 1);
}

TEST_CASE("serve: what is no request is refused, with the id that it gives") {
  Detail id;
  CHECK(request_refusal(R"({"id": 7, "comand": []})", id).find("did you mean 'command'?") != std::string::npos);
  CHECK(to_json(id, -1) == "7");
  for (const char* line :
       {"", "[]", "{", "{\"command\": \"list\"}", "{\"command\": [1]}", "{}", "{\"files\": {}}",
        "{\"command\": [], \"hold\": {\"model\": \"m\", \"platform\": \"p\"}}", "{\"hold\": {\"model\": \"m\"}}",
        "{\"hold\": 1}", "{\"evaluate\": {}}", "{\"files\": [], \"command\": []}"}) {
    CAPTURE(line);
    CHECK(request_refusal(line).starts_with("request: "));
    CHECK(request_refusal(line).find("expected") != std::string::npos);
  }
  CHECK(request_refusal(R"({"hold": {"model": "m", "platfrom": "p"}})").find("'platform'") != std::string::npos);
  CHECK(request_refusal(R"({"command": ["a\u0000b"]})").find("NUL") != std::string::npos);
}

TEST_CASE("serve: an answer is one line of JSON that says what the document says") {
  const std::string document = "{\n  \"text\": \"a\\n  b\",\n  \"list\": [\n    1,\n    2.5\n  ]\n}";
  const Answer answer{.text = "one\ntwo\n", .json = document, .code = ExitCode::No};
  const std::string line = answer_line(Detail("x"), answer, {"note: \"n\""});
  CHECK(line.find('\n') == line.size() - 1);
  const auto read = from_json(line);
  REQUIRE(read);
  CHECK(*read == Detail(Detail::Record{{"id", "x"},
                                       {"code", 3},
                                       {"answer", *from_json(document)},
                                       {"text", "one\ntwo\n"},
                                       {"remarks", Detail::List{"note: \"n\""}}}));
}

TEST_CASE("serve: texts stand for files while they are given") {
  {
    const GivenFiles files(std::map<std::string, std::string>{{"<plan>", "a text"}});
    CHECK(read_text_file("<plan>") == "a text");
    CHECK_THROWS_AS(static_cast<void>(read_text_file("<model>")), InputError);
  }
  CHECK_THROWS_AS(static_cast<void>(read_text_file("<plan>")), InputError);
}

}  // namespace stagecraft::serve_test
