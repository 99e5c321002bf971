// Studies run by the program: workers, limits, kills, resuming.
#include "sim/io/json.hpp"
#include "tests/experiments/study/study_runs.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace stagecraft {
namespace {

using test::all_results;
using test::kill_and_resume;
using test::rows_text;
using test::shell;
using test::ShellRun;
using test::TemporaryFolder;

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t number = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++number;
  return number;
}

/// Standard error without the lines that a command which takes long writes.
std::string without_progress(const std::string& text) {
  return std::regex_replace(text, std::regex("stagecraft: after [^\n]* still [^\n]*\n"), "");
}

TEST_CASE("run: one and two workers give the same rows, and so does a study killed twice and resumed") {
  const TemporaryFolder whole;
  test::write_noisy_study(whole, 3);
  CHECK(shell("$S run $D/study.yaml --out $D/out --workers 1", whole.path()).code == 0);
  const std::string rows = rows_text(whole / "out");
  const std::string results = all_results(whole / "out");
  CHECK(count(rows, "\n") == 30);
  CHECK(count(rows, "\"status\":\"infeasible\"") == 6);
  for (const bool parent : {true, false}) {
    const TemporaryFolder folder;
    test::write_noisy_study(folder, 3);
    const ShellRun resumed = kill_and_resume(folder, parent, parent ? 300 : 200);
    CHECK(without_progress(resumed.err) == "");
    CHECK(resumed.code == 0);
    CHECK(all_results(folder / "out") == results);
  }
}

TEST_CASE("run: events may name other files, and a study is resumed only if those are as they were") {
  const TemporaryFolder folder;
  test::write(folder / "work.csv", "work\n1\n2\n");
  test::write(folder / "events.yaml", R"(schema: stagecraft/events/1
events: [{at_microbatch: 0, work: work.csv}, {at_microbatch: 8, model: vgg16}]
)");
  test::write(folder / "study.yaml", R"(schema: stagecraft/study/1
study: changes
base: {model: vgg16, platform: p3.8xlarge-x4, microbatches: 4, iterations: 3, schedule: 1f1b, planner: uniform}
matrix: {events: [events.yaml]}
)");
  const ShellRun first = shell("$S run $D/study.yaml --out $D/out", folder.path());
  CHECK(first.err == "");
  CHECK(first.code == 0);
  CHECK(count(rows_text(folder / "out"), "\"status\":\"ok\"") == 1);
  CHECK(shell("$S run $D/study.yaml --out $D/out --resume", folder.path()).code == 0);
  test::write(folder / "work.csv", "work\n1\n3\n");
  CHECK(shell("$S run $D/study.yaml --out $D/out --resume", folder.path()).code == 2);
}

TEST_CASE("run: a program of the user is asked for other plans, and it is a file of the study") {
  const TemporaryFolder folder;
  test::write(folder / "stay.sh",
              "#!/bin/sh\ntouch \"$(dirname \"$0\")/asked\"\necho '{\"infeasible\": {\"reason\": \"stay\"}}'\n");
  test::write(folder / "study.yaml", R"(schema: stagecraft/study/1
study: asks
base: {model: vgg16, platform: p3.8xlarge-x4, schedule: pipedream, run_length: 200, planner: {name: uniform, stages: 4}}
matrix: {replan: [none, {name: "exec:stay.sh", window: 64, depth: 3}]}
)");
  CHECK(shell("chmod +x $D/*.sh; $S run $D/study.yaml --out $D/out", folder.path()).code == 0);
  CHECK(count(rows_text(folder / "out"), "\"status\":\"ok\"") == 2);
  CHECK(std::filesystem::exists(folder / "asked"));
  test::write(folder / "stay.sh", "#!/bin/sh\nexit 1\n");
  CHECK(shell("$S run $D/study.yaml --out $D/out --resume", folder.path()).code == 2);
  std::filesystem::remove(folder / "stay.sh");
  const ShellRun missing = shell("$S run $D/study.yaml --out $D/other", folder.path());
  CHECK(missing.code == 2);
  CHECK(missing.err.find("stay.sh: no such file") != std::string::npos);
}

/// A study of which the last cell's planner is the script `once`; before it there are cells of our own.
void write_study_with(const TemporaryFolder& folder, const std::string& once) {
  test::write(folder / "once.sh", "#!/bin/sh\n" + once);
  std::filesystem::permissions(folder / "once.sh", std::filesystem::perms::owner_all);
  test::write(folder / "study.yaml", R"(schema: stagecraft/study/1
study: one of its own kind
base: {model: vgg16, platform: p3.8xlarge-x4, microbatches: 4, schedule: 1f1b}
matrix: {microbatch_size: [1, 2, 4, 8], planner: [uniform]}
include: [{planner: "exec:once.sh"}]
)");
}

TEST_CASE("run: a cell whose process is killed is run again, alone") {
  const TemporaryFolder folder;
  write_study_with(folder,
                   "mkdir \"$(dirname \"$0\")/killed\" && kill -9 $PPID\n"
                   "echo '{\"infeasible\": {\"reason\": \"the second time\"}}'\n");
  CHECK(shell("$S run $D/study.yaml --out $D/out --workers 1", folder.path()).code == 0);
  CHECK(std::filesystem::exists(folder / "killed"));
  const Results results = load_results({folder / "out"});
  REQUIRE(results.is_complete());
  REQUIRE(results.rows.size() == 5);
  for (const CellResult& result : results.rows) CHECK(!is_failure(result.row.status));
  CHECK(results.rows[4].row.message == "the second time");
}

TEST_CASE("run: a cell that kills its worker costs one row, however many workers there are") {
  for (const char* choices : {"--workers 1", "--workers 3", "--workers 3 --set limits.retries=0"}) {
    CAPTURE(choices);
    const TemporaryFolder folder;
    write_study_with(folder, "kill -9 $(ps -o ppid= -p $PPID)\n");
    const ShellRun run = shell(std::string("$S run $D/study.yaml --out $D/out ") + choices, folder.path());
    CHECK(run.out.find("5 of 5 cells") != std::string::npos);
    const Results results = load_results({folder / "out"});
    REQUIRE(results.is_complete());
    REQUIRE(results.rows.size() == 5);
    for (std::size_t i = 0; i < 4; ++i) CHECK(!is_failure(results.rows[i].row.status));
    CHECK(results.rows[4].row.status == CellStatus::Crashed);
    CHECK(results.rows[4].row.message == "the worker that ran it was killed");
  }
}

TEST_CASE("run: cells share a process until transfers meet in one, and none is blamed for what another left") {
  const TemporaryFolder folder;
  test::write(folder / "who.sh", "#!/bin/sh\necho \"{\\\"infeasible\\\": {\\\"reason\\\": \\\"process $PPID\\\"}}\"\n");
  test::write(folder / "once.sh",
              "#!/bin/sh\nmkdir \"$(dirname \"$0\")/killed\" && kill -9 $PPID\n"
              "echo '{\"infeasible\": {\"reason\": \"the second time\"}}'\n");
  test::write(folder / "study.yaml", R"(schema: stagecraft/study/1
study: shared
base: {model: vgg16, platform: p3.8xlarge-x4, schedule: 1f1b}
matrix: {microbatches: [4, 8, 16], planner: ["exec:who.sh"]}
include:
  - {planner: {name: uniform, stages: 4, replicas: 1}, microbatches: 4}
  - {planner: "exec:who.sh", microbatches: 32}
  - {platform: spp-clusters, planner: {name: uniform, replicas: 1}, microbatches: 4}
  - {planner: "exec:who.sh", microbatches: 64}
  - {planner: "exec:once.sh", microbatches: 4}
limits: {retries: 0}
)");
  CHECK(shell("chmod +x $D/*.sh; $S run $D/study.yaml --out $D/out --workers 1", folder.path()).code == 0);
  const Results results = load_results({folder / "out"});
  REQUIRE(results.is_complete());
  const auto message = [&](std::size_t i) { return results.rows.at(i).row.message; };
  CHECK(message(0).starts_with("process "));
  CHECK(message(1) == message(2));
  CHECK(results.rows.at(3).row.status == CellStatus::Ok);
  CHECK(message(4) == message(2));
  CHECK(results.rows.at(5).row.status == CellStatus::Ok);
  CHECK(message(6).starts_with("process "));
  CHECK(message(6) != message(2));
  CHECK(std::filesystem::exists(folder / "killed"));
  CHECK(message(7) == "the second time");
}

TEST_CASE("run: a cell that takes too long, too much memory, or makes no sense costs one row") {
  const TemporaryFolder folder;
  test::write(folder / "study.yaml", R"(schema: stagecraft/study/1
study: trouble
base: {model: vgg16, platform: p3.8xlarge-x4, planner: uniform, uniform.stages: 2, schedule: 1f1b, iterations: 2}
matrix: {microbatches: [4, 8, 100000000]}
include:
  - {microbatches: 16, platform.nodes.count: 0}
  - {microbatches: 16, platform.nodes.cuont: 2}
  - {microbatches: 16, uniform.stages: 1000}
limits: {time: 2 s, retries: 1}
)");
  const ShellRun run = shell("$S run $D/study.yaml --out $D/out", folder.path());
  CHECK(run.code == 4);
  const Results results = load_results({folder / "out"});
  REQUIRE(results.is_complete());
  const auto row = [&](std::size_t i) { return results.rows.at(i).row; };
  CHECK(row(0).status == CellStatus::Ok);
  CHECK(row(1).status == CellStatus::Ok);
  CHECK(row(2).status == CellStatus::Timeout);
  CHECK(row(2).message == "did not finish within 2 s");
  CHECK(row(3).status == CellStatus::Invalid);
  CHECK(row(4).status == CellStatus::Invalid);
  CHECK(row(4).message.find("did you mean 'count'") != std::string::npos);
  CHECK(row(5).status == CellStatus::Invalid);
}

TEST_CASE("run: planners that are programs have rows like any other, whatever they do") {
  const TemporaryFolder folder;
  test::write(folder / "hang.sh", "#!/bin/sh\nsleep 100\n");
  test::write(folder / "crash.sh", "#!/bin/sh\necho 'oh dear' >&2\nexit 3\n");
  test::write(folder / "babble.sh", "#!/bin/sh\necho hello\n");
  test::write(folder / "no plan.sh", "#!/bin/sh\necho '{\"infeasible\": {\"reason\": \"too small\"}}'\n");
  test::write(folder / "study.yaml", R"(schema: stagecraft/study/1
study: programs
base: {model: vgg16, platform: p3.8xlarge-x4, microbatches: 4, schedule: 1f1b}
matrix: {planner: [uniform, "exec:hang.sh", "exec:crash.sh", "exec:babble.sh", "exec:no plan.sh"]}
limits: {time: 3 s, retries: 0}
)");
  CHECK(shell("chmod +x $D/*.sh; $S run $D/study.yaml --out $D/out", folder.path()).code == 4);
  const Results results = load_results({folder / "out"});
  REQUIRE(results.is_complete());
  const std::vector<CellStatus> expected{CellStatus::Ok, CellStatus::Timeout, CellStatus::Crashed, CellStatus::Invalid,
                                         CellStatus::Infeasible};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(results.rows[i].row.message);
    CHECK(results.rows[i].row.status == expected[i]);
  }
  CHECK(results.rows[2].row.message.find("oh dear") != std::string::npos);
  CHECK(results.rows[4].row.message == "too small");
}

TEST_CASE("run: a cell that needs more memory than it may is a row") {
  const TemporaryFolder folder;
  test::write(folder / "study.yaml", R"(schema: stagecraft/study/1
study: hungry
base: {model: vgg16, platform: dgx-1-v100, planner: {name: uniform, stages: 8}, schedule: gpipe, microbatches: 4}
matrix: {platform.nodes.count: [1, 8300]}
limits: {memory: 64 MiB, retries: 0}
)");
  CHECK(shell("$S run $D/study.yaml --out $D/out", folder.path()).code == 4);
  const Results results = load_results({folder / "out"});
  REQUIRE(results.is_complete());
  CHECK(results.rows[0].row.status == CellStatus::Ok);
  CHECK(results.rows[1].row.status == CellStatus::Crashed);
  CHECK(results.rows[1].row.message == "needs more than the 64 MiB of memory that limits.memory gives a cell");
}

TEST_CASE("run: an interrupt stops it in good order and tells how to go on") {
  const TemporaryFolder folder;
  write_study_with(folder,
                   "mkdir \"$(dirname \"$0\")/started\" && exec sleep 100\n"
                   "echo '{\"infeasible\": {\"reason\": \"the second time\"}}'\n");
  const ShellRun run = shell(
      "env --default-signal=INT $S run $D/study.yaml --set iterations=2 --out \"$D/o ut\" --workers 1 & P=$!; "
      "for i in $(seq 3000); do [ -e $D/started ] && break; sleep 0.01; done; kill -INT $P; wait $P",
      folder.path());
  CHECK(run.code == 130);
  CHECK(run.err.empty());
  CHECK(load_results({folder / "o ut"}).rows.size() == 4);
  const std::string told = "continue with: stagecraft ";
  const std::size_t at = run.out.find(told);
  REQUIRE(at != std::string::npos);
  CHECK(shell("$S " + run.out.substr(at + told.size()), folder.path()).code == 0);
  CHECK(load_results({folder / "o ut"}).is_complete());
}

TEST_CASE("run: each seed has its own noise") {
  const TemporaryFolder folder;
  test::write_noisy_study(folder, 12);
  CHECK(shell("$S run $D/study.yaml --out $D/out --filter microbatch_size=4 --set planner=uniform --set seeds.count=3",
              folder.path())
            .code == 0);
  std::set<std::string> times;
  for (const CellResult& result : load_results({folder / "out"}).rows) {
    times.insert(to_json(*find_key(result.row.figures, "iteration_time_s")));
  }
  CHECK(times.size() == 3);
}

TEST_CASE("run: shards are parts of the same study, and filters take parts of it") {
  const TemporaryFolder folder;
  test::write_noisy_study(folder, 3);
  CHECK(
      shell("$S run $D/study.yaml --out $D/a --shard 1/2 && $S run $D/study.yaml --out $D/b --shard 2/2", folder.path())
          .code == 0);
  CHECK(load_results({folder / "a"}).rows.size() == 15);
  CHECK(load_results({folder / "a", folder / "b"}).is_complete());
  CHECK(shell("$S run $D/study.yaml --out $D/c --filter planner=uniform --filter microbatch_size=4", folder.path())
            .code == 0);
  CHECK(load_results({folder / "c"}).rows.size() == 3);
  CHECK(shell("$S run $D/study.yaml --out $D/c --resume", folder.path()).code == 0);
  CHECK(load_results({folder / "c"}).is_complete());
}

TEST_CASE("run: nothing that is there is lost") {
  const TemporaryFolder folder;
  test::write_noisy_study(folder, 3);
  const std::string start = "$S run $D/study.yaml --filter microbatch_size=1000 --out ";
  CHECK(shell(start + "$D/out", folder.path()).code == 0);
  const std::string rows = rows_text(folder / "out");
  const ShellRun again = shell(start + "$D/out", folder.path());
  CHECK(again.code == 2);
  CHECK(again.err.find("--resume") != std::string::npos);
  const ShellRun other = shell(start + "$D/out --resume --set microbatches=4", folder.path());
  CHECK(other.code == 2);
  CHECK(other.err.find("another study") != std::string::npos);
  CHECK(rows_text(folder / "out") == rows);
  CHECK(shell(start + "$D", folder.path()).err.find("other files") != std::string::npos);
  CHECK(!std::filesystem::exists(folder / "manifest.jsonl"));
}

TEST_CASE("run: hostile names reach neither a shell nor a path outside") {
  const TemporaryFolder folder;
  test::write(folder / "study.yaml", R"yaml(schema: stagecraft/study/1
study: "../../x'y\"z $(touch pwned) ; rm -rf *"
base: {model: vgg16, platform: p3.8xlarge-x4, microbatches: 16}
matrix:
  planner: [{name: uniform, label: "$(touch pwned)"
}, {name: data-parallel, label: "../../a,b\"c"}]
)yaml");
  ;
  const ShellRun run = shell("cd $D && mkdir in && cd in && $S run ../study.yaml", folder.path());
  CHECK(run.code == 0);
  int entries = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
    CHECK(entry.path().filename() != "pwned");
    if (entry.path().filename() == "manifest.jsonl") {
      CHECK(entry.path().parent_path().parent_path() == folder / "in/stagecraft-results");
      ++entries;
    }
  }
  CHECK(entries == 1);
}

}  // namespace
}  // namespace stagecraft
