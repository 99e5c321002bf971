// `report --timelines`: the runs of two cells on the page of a study.
#include "tests/experiments/commands/toy.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace stagecraft {
namespace {

using Json = nlohmann::json;

/// Results of a study of the toy: two planners, the second of which has a plan only for one microbatch size.
struct Studied : Toy {
  std::string results = file("results");
  Studied() {
    write(file("study.yaml"),
          "schema: stagecraft/study/1\nstudy: toy\nbase: {model: " + model + ", platform: " + platform +
              ", microbatches: 4}\nmatrix:\n  planner: [data-parallel, uniform]\n  microbatch_size: [4, 4000]\n");
    REQUIRE(run({"run", file("study.yaml"), "--out", results}).code != 2);
  }
  [[nodiscard]] Ran page(const std::string& cells) const {
    return run({"report", results, "-o", file("page.html"), "--timelines", cells});
  }
};

}  // namespace

TEST_CASE("report --timelines: the page has both runs, whole, and what tells the cells apart") {
  const Studied studied;
  const Ran ran = studied.page("0,2");
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  const std::string page = read(studied.file("page.html"));
  const std::string mark = R"(<script type="application/json" id="data">)";
  const std::size_t at = page.find(mark) + mark.size();
  const Json data = Json::parse(page.substr(at, page.find("</script>", at) - at));
  REQUIRE(data["timelines"].size() == 2);
  CHECK(data["timelines"][0]["keys"] == Json{{"planner", "data-parallel"}});
  CHECK(data["timelines"][1]["keys"] == Json{{"planner", "uniform"}});
  for (const Json& timeline : data["timelines"]) {
    CHECK(!timeline["operations"]["start_s"].get<std::string>().empty());
    CHECK(timeline["tracks"].size() > 2);
  }
}

TEST_CASE("report --timelines: cells that are not there, or have no plan") {
  const Studied studied;
  CHECK(studied.page("0,4").err.find("the study has no cell 4") != std::string::npos);
  const Ran none = studied.page("0,3");
  CHECK(none.code == 2);
  CHECK(none.err.find("cell 3 has no plan") != std::string::npos);
}

}  // namespace stagecraft
