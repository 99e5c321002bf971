// How the program speaks: exit codes, errors for people and for programs, help.
#include "tests/experiments/commands/command.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace stagecraft {
namespace {

using Json = nlohmann::json;

TEST_CASE("command line: a mistyped verb, option or argument is refused with the nearest known one") {
  const Ran verb = run({"shcema"});
  CHECK(verb.code == 2);
  CHECK(verb.out.empty());
  CHECK(verb.err.starts_with("stagecraft: error: unknown command 'shcema' (did you mean 'schema'? known: "));
  const Ran option = run({"schema", "plan", "--jsn=1"});
  CHECK(option.code == 2);
  CHECK(option.err.starts_with("stagecraft: error: unknown option '--jsn' (did you mean '--json'? known: "));
  const Ran of_others = run({"schema", "plan", "--tensor=2"});
  CHECK(of_others.err.starts_with("stagecraft: error: unknown option '--tensor' (an option of plan, compare, "));
  CHECK(of_others.err.ends_with("; see stagecraft schema --help)\n"));
  const Ran argument = run({"schema", "plan", "model"});
  CHECK(argument.code == 2);
  CHECK(argument.err == "stagecraft: error: unexpected argument 'model' (see stagecraft schema --help)\n");
}

TEST_CASE("command line: without a verb, or without what a verb needs, it says what is missing") {
  CHECK(run({}).err.starts_with("stagecraft: error: missing command (known: "));
  CHECK(run({}).code == 2);
  CHECK(run({"schema"}).err == "stagecraft: error: FORMAT is required (see stagecraft schema --help)\n");
}

TEST_CASE("command line: with --json, before or after the verb, an error is one document on standard output") {
  const std::vector<std::vector<std::string>> commands = {{"--json"},
                                                          {"--json", "shcema"},
                                                          {"schema", "--json"},
                                                          {"schema", "plann", "--json"},
                                                          {"schema", "--x", "--json"}};
  for (const std::vector<std::string>& arguments : commands) {
    CAPTURE(arguments.back());
    const Ran ran = run(arguments);
    CHECK(ran.code == 2);
    CHECK(ran.err.empty());
    const Json error = Json::parse(ran.out).at("error");
    CHECK(error.at("code") == 2);
    CHECK_FALSE(error.at("message").get<std::string>().empty());
    for (const char* key : {"file", "line", "column", "hint"}) CHECK(error.contains(key));
  }
}

TEST_CASE("command line: help and version are results") {
  const Ran help = run({"--help"});
  CHECK(help.code == 0);
  CHECK(help.err.empty());
  CHECK(help.out.find("schema") != std::string::npos);
  CHECK(run({"schema", "--help"}).out.find("Usage: stagecraft schema") != std::string::npos);
  CHECK(run({"help"}).out == help.out);
  CHECK(run({"help", "schema"}).out == run({"schema", "--help"}).out);
  CHECK(Json::parse(run({"help", "schema", "--json"}).out).contains("help"));
  const Json options = Json::parse(run({"help", "run", "--json"}).out).at("options");
  const auto filter = std::ranges::find(options, "--filter", [](const Json& option) { return option.at("name"); });
  REQUIRE(filter != options.end());
  CHECK(filter->at("repeated") == true);
  CHECK(filter->at("takes_value") == true);
  CHECK(
      run({"help", "shcema"}).err.starts_with("stagecraft: error: unknown command 'shcema' (did you mean 'schema'? "));
  CHECK(run({"--version"}).out.starts_with("stagecraft "));
  CHECK(run({"-V"}).out == run({"--version"}).out);
  CHECK(run({"version"}).out == run({"--version"}).out);
  CHECK(Json::parse(run({"--json", "--version"}).out).contains("version"));
}

}  // namespace
}  // namespace stagecraft
