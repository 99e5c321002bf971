// The studies that come with the program, and what the reader of studies refuses as the schema does.
#include "experiments/run/inputs.hpp"
#include "experiments/study/column_warnings.hpp"
#include "experiments/study/manifest.hpp"
#include "experiments/study/study_file.hpp"
#include "sim/base/error.hpp"
#include "sim/io/text_file.hpp"
#include "tests/experiments/study/study_results.hpp"
#include "tests/paths.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace stagecraft {
namespace {

TEST_CASE("studies: every shipped one can be read, and its files are there") {
  std::set<std::string> names;
  for (const ShippedFile& file : shipped_files("experiments/studies")) {
    CAPTURE(file.name);
    const std::string text = read_text_file(file.path);
    const Study study = parse_study(text, file.path);
    CHECK(study.name == file.name);
    const Expansion expansion = expand(study);
    CHECK(expansion.repeated == 0);
    const Manifest manifest = make_manifest(study, expansion, {});
    CHECK(manifest.cells.size() == expansion.cells.size());
    CHECK(expansion.warnings == std::vector<std::string>{});  // of a baseline that fits no cell, say
    names.insert(file.name);
  }
  CHECK(names.contains("quickstart"));
}

TEST_CASE("studies: a shipped one is known by its name, and comes before a file of that name") {
  const std::string path = find_input("quickstart", InputKind::Study, STAGECRAFT_SOURCE_DIR);
  CHECK(path.ends_with("experiments/studies/quickstart.yaml"));
  CHECK(std::filesystem::exists(std::filesystem::path(STAGECRAFT_SOURCE_DIR) / "quickstart"));
  CHECK(find_input("experiments/studies/noise.yaml", InputKind::Study, STAGECRAFT_SOURCE_DIR).ends_with("noise.yaml"));
  CHECK_THROWS_WITH_AS(static_cast<void>(find_input("quickstrat", InputKind::Study)),
                       doctest::Contains("did you mean 'quickstart'?"), InputError);
}

TEST_CASE("studies: a column of details that no plan has is told, once there are details") {
  StudyMaker maker;
  maker.results.manifest.columns = {"details.nope", "details.nodes", "period_s"};
  maker.results.manifest.tables = {TableChoice{.title = {}, .rows = {}, .columns = {}, .value = "details.node"}};
  maker.cell({{"planner", "a"}}).row(CellStatus::Infeasible, {});
  CHECK(column_warnings(maker.results).empty());
  // Known, though it does not apply here.
  maker.cell({{"planner", "b"}}).row(CellStatus::Ok, {{"details", Detail::Record{{"nodes", Detail()}}}});
  const std::vector<std::string> warnings = column_warnings(maker.results);
  REQUIRE(warnings.size() == 2);
  CHECK(warnings[0] == "columns: no plan has the figure 'details.nope' (known: nodes)");
  CHECK(warnings[1] == "tables: no plan has the figure 'details.node' (did you mean 'nodes'? known: nodes)");
}

TEST_CASE("studies: a file with every key can be read") {
  const std::string path = STAGECRAFT_SOURCE_DIR "/tests/vectors/good/study_everything.yaml";
  CHECK(parse_study(read_text_file(path), path).axes.size() == 9);
}

TEST_CASE("studies: what the schema refuses the reader refuses, too") {
  const std::string head = "schema: stagecraft/study/1\nstudy: bad\nbase: {model: vgg16}\n";
  CHECK_NOTHROW(static_cast<void>(parse_study(head, "study.yaml")));
  std::istringstream lines(read_text_file(STAGECRAFT_SOURCE_DIR "/tests/vectors/refused_studies.txt"));
  int refused = 0;
  for (std::string line; std::getline(lines, line); ++refused) {
    CAPTURE(line);
    CHECK_THROWS_AS(static_cast<void>(parse_study(head + line + "\n", "study.yaml")), InputError);
  }
  CHECK(refused > 20);
}

}  // namespace
}  // namespace stagecraft
