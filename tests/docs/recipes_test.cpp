// The recipes for sharing a study out, typed in as they stand: where ssh or a scheduler is meant, a stand-in does on
// this machine what they would do on others.
#include "tests/docs/pages.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace stagecraft {
namespace {

using test::Block;
using test::Desk;
using test::read_page;

namespace fs = std::filesystem;

/// The recipe on the page that calls a program.
std::string recipe(const std::string& program) {
  const fs::path page = fs::path(STAGECRAFT_SOURCE_DIR) / "docs/how-to/run-on-slurm.md";
  std::vector<std::string> found;
  for (const Block& block : test::blocks_of(page)) {
    std::string text;
    for (const std::string& line : block.lines) text += line + "\n";
    if (block.fence == "sh" && text.find(program) != std::string::npos) found.push_back(text);
  }
  REQUIRE(found.size() == 1);
  return found.front();
}

/// A desk with a study of 64 quick cells.
struct StudyDesk : Desk {
  StudyDesk() {
    std::ofstream(folder / "study.yaml") << "schema: stagecraft/study/1\nstudy: shared out\n"
                                            "base: {model: vgg16, platform: dgx-1-v100, planner: uniform}\n"
                                            "matrix: {microbatches: [1, 2, 3, 4, 5, 6, 7, 8]}\n"
                                            "seeds: {count: 8}\n";
  }
  void stand_in(const std::string& name, const std::string& script) const {
    std::ofstream(folder / "bin" / name) << "#!/bin/sh\n" << script << "\n";
    fs::permissions(folder / "bin" / name, fs::perms::owner_all);
  }
  [[nodiscard]] std::string table() const { return read_page(folder / "results/results.csv"); }
};

std::string table_of_one_run() {
  const StudyDesk desk;
  const std::string output = desk.output_of("stagecraft run study.yaml --out results");
  CAPTURE(output);
  const std::string table = desk.table();
  CHECK(std::ranges::count(table, '\n') == 65);
  return table;
}

TEST_CASE("docs: the recipes for sharing a study out give the results of one run") {
  const std::string table = table_of_one_run();
  const StudyDesk desk;
  std::string output;
  SUBCASE("xargs") { output = desk.output_of(recipe("xargs")); }
  SUBCASE("GNU parallel") {
    if (desk.output_of("parallel --version").find("GNU parallel") == std::string::npos) {
      MESSAGE("skipped: no GNU parallel here");
      return;
    }
    output = desk.output_of(recipe("parallel"));
  }
  SUBCASE("ssh") {
    desk.stand_in("ssh", "shift; exec sh -c \"$*\"");
    output = desk.output_of(recipe("ssh"));
  }
  SUBCASE("an array of PBS") {
    std::ofstream(desk.folder / "job.sh") << recipe("PBS");
    output =
        desk.output_of("for i in $(seq 64); do (cd / && PBS_ARRAY_INDEX=$i PBS_O_WORKDIR='" + desk.folder.string() +
                       "' sh '" + (desk.folder / "job.sh").string() + "'); done; stagecraft collect -o results out/*");
  }
  CAPTURE(output);
  CHECK(desk.table() == table);
}

}  // namespace
}  // namespace stagecraft
