// What a refreshed page has in its blocks and marks, and which marks are refused.
#include "tests/docs/refresh.hpp"

#include "sim/base/error.hpp"
#include "tests/docs/all_reduce_figures.hpp"
#include "tests/docs/marks.hpp"
#include "tests/docs/study_figures.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace stagecraft {
namespace {

using test::refreshed;

/// Two clusters and two planners; `period_s` is null on one line.
test::StudyResults some_results() {
  const auto line = [](const char* cluster, const char* name, Detail speed_up, Detail period) {
    return Detail::Record{{"model", "m"},
                          {"tag.cluster", cluster},
                          {"name", name},
                          {"speed_up", std::move(speed_up)},
                          {"period_s", std::move(period)},
                          {"bubble_ratio", 0.125},
                          {"peak_memory_bytes", std::int64_t{3} << 29},
                          {"configuration", "15-1"}};
  };
  return {"nowhere",
          {{"s",
            {line("A 4x4", "paper", 3.8405, 0.01862), line("A 4x4", "program", 3.0, Detail()),
             line("B 2x8", "paper", 1.7485, 0.5)}}}};
}

std::string refreshed_page(const std::string& text) {
  test::StudyResults results = some_results();
  return refreshed("a.md", text, [&](const test::Mark& mark) { return filled(mark, results); });
}

/// The content of a figure's mark; `what` follows the study.
std::string shown_figure(const std::string& what) {
  test::StudyResults results = some_results();
  return test::figure_text("study=s; " + what, results);
}

/// The message for a page that cannot be refreshed.
std::string refusal(const std::string& text) {
  try {
    static_cast<void>(refreshed_page(text));
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_CASE("refreshed: a console block gets the output of its commands, which see the files of the page") {
  const std::string good =
      "```\n# file: a.txt\nx\n```\n```console\n$ cat a.txt\n# file: a.txt\nx\n\n$ echo 1; echo 2\n1\n2\n$ "
      "true\n```\nend\n";
  CHECK(refreshed_page(good) == good);
  CHECK(refreshed_page(
            "```\n# file: a.txt\nx\n```\n```console\n$ cat a.txt\nold\n\n$ echo 1; echo 2\n$ true\nold\n```\nend\n") ==
        good);
  CHECK(refreshed_page("```sh\n$ echo 1\n```\n") == "```sh\n$ echo 1\n```\n");
}

TEST_CASE("refreshed: the desk has the program where a clone has it, and the studies") {
  const std::string shown = refreshed_page(
      "```console\n$ build/release/stagecraft --version\n$ ls experiments/studies/quickstart.yaml\n```\n");
  CHECK(has(shown, "--version\nstagecraft "));
  CHECK(has(shown, "quickstart.yaml\nexperiments/studies/quickstart.yaml\n"));
}

TEST_CASE("refreshed: marks are filled in text and left alone in blocks") {
  const auto fill = [](const test::Mark& mark) { return mark.kind + " of " + mark.argument; };
  CHECK(refreshed("a.md", "a <!-- x: y z -->old\nold<!-- / --> b <!-- x: 2 --><!-- / -->\n", fill) ==
        "a <!-- x: y z -->x of y z<!-- / --> b <!-- x: 2 -->x of 2<!-- / -->\n");
  const std::string block = "```\n<!-- x: y -->\n```\n<!-- a remark -->\n";
  CHECK(refreshed("a.md", block, fill) == block);
}

TEST_CASE("refreshed: the table of a schedule's options") {
  const std::string made = refreshed_page("<!-- table: options of schedule looped-bfs --><!-- / -->\n");
  CHECK(made ==
        "<!-- table: options of schedule looped-bfs -->\n"
        "| option | values | default | meaning |\n|---|---|---|---|\n"
        "| `chunks` | count of at least 2 and at most 1024 | 2 | number of stages on each device |\n<!-- / -->\n");
  CHECK(refreshed_page(made) == made);
}

TEST_CASE("option_table: values are words, and what would be markup is escaped") {
  const std::vector<OptionInfo> options = {{"cut", std::string("best"), "1F1B* | a < b", {"best", "worst"}}};
  CHECK(test::option_table(options) ==
        "\n| option | values | default | meaning |\n|---|---|---|---|\n"
        "| `cut` | best, worst | best | 1F1B\\* \\| a \\< b |\n");
}

TEST_CASE("refreshed: a list of names, by name, with links if wanted") {
  CHECK(has(refreshed_page("<!-- list: schedules --><!-- / -->\n"),
            "-->`1f1b`, `1f1b-star`, `1f1b-v`, `chimera`, `dualpipe`, "));
  CHECK(has(refreshed_page("<!-- list: planners; link=p/NAME.md --><!-- / -->\n"),
            "-->[contiguous](p/contiguous.md), [dapple](p/"));
}

TEST_CASE("figure: in the form of its kind, with digits, in a unit or as a ratio") {
  const std::string paper = "tag.cluster=A 4x4; name=paper; ";
  CHECK(shown_figure(paper + "show=speed_up") == "3.84");
  CHECK(shown_figure(paper + "show=period_s") == "18.6 ms");
  CHECK(shown_figure(paper + "show=bubble_ratio") == "12.5 %");
  CHECK(shown_figure(paper + "show=peak_memory_bytes") == "1.5 GiB");
  CHECK(shown_figure(paper + "show=configuration") == "15-1");
  CHECK(shown_figure(paper + "show=speed_up; digits=1") == "3.8");
  CHECK(shown_figure(paper + "show=period_s; digits=0; unit=us") == "18620 us");
  CHECK(shown_figure(paper + "show=speed_up; over=2; digits=3") == "1.920");
  CHECK(shown_figure(paper + "over:name=program; show=speed_up; digits=3") == "1.280");
  CHECK(shown_figure(paper + "over:tag.cluster=B 2x8; show=speed_up") == "2.2");
  CHECK(has(refreshed_page("<!-- figure: study=s; tag.cluster=B 2x8; show=speed_up; digits=2 -->1.00<!-- / -->\n"),
            "-->1.75<!--"));
}

TEST_CASE("figure: a choice of no line, of several or of no figure names what there is") {
  const auto refused = [](const std::string& what) { return refusal("\n<!-- figure: study=s; " + what + " -->\n"); };
  CHECK(has(refused("tag.cluster=A 4x4; show=speed_up"), "a.md:2: the keys choose 2 lines"));
  CHECK(has(refused("tag.cluster=A 4x4; show=speed_up"), "they differ in name=paper, program"));
  CHECK(has(refused("tag.cluster=C; show=speed_up"), "no line has tag.cluster=C"));
  CHECK(has(refused("tag.cluster=C; show=speed_up"), "A 4x4, B 2x8"));
  CHECK(has(refused("cluster=C; show=speed_up"), "no key 'cluster'"));
  CHECK(has(refused("name=program; show=period_s"), "no figure 'period_s'"));
  CHECK(has(refused("name=program; show=speed_up; digits=2; unit=kg"), "unknown unit 'kg'"));
  CHECK(has(refused("name=program"), "needs study=… and show=…"));
  CHECK(has(refusal("<!-- figure: study=absent; show=speed_up -->\n"), "no study 'absent'"));
  const std::string not_run = "<!-- figure: study=llm-scale; show=speed_up -->12 %<!-- / -->\n";
  CHECK(refreshed_page(not_run) == not_run);  // the page of a study that has not been run stays as it is
}

TEST_CASE("figure: the bus bandwidth of an all-reduce is that of the narrowest links, less what latencies take") {
  const auto shown = [](const std::string& what) { return test::all_reduce_text("all-reduce=" + what); };
  // 8 GPUs with 300 GB/s to a switch, 0.82 of 450 for an H100: 7/8 of 8 GiB take 25.05 or 20.4 ms, and 14 steps 0.06.
  CHECK(shown("dgx-a100") == "299 GBps");
  CHECK(shown("dgx-h100") == "368 GBps");
  // 299.3 / 200
  CHECK(shown("dgx-a100; over=200") == "+49.7 %");
  // Eight rings over eight NICs of 25 GB/s, 40.27 ms and 30 steps of 10 us; four rings over four, 80.53 ms and 0.3 ms.
  CHECK(shown("dgx-a100; nodes=2") == "199 GBps");
  CHECK(shown("dgx-a100; nodes=2; nics=4; algorithm=ring") == "99.6 GBps");
  // Hierarchical: each GPU passes 7/8 on twice in its node at 300 GB/s, each NIC carries 1/4 at 25 GB/s. Of V bytes it
  // takes V (2 (7/8) / 300 + 1/100) s, 68 ms for 4 GiB, and bus bandwidth is 15/8 V over that: 118 GB/s.
  CHECK(shown("dgx-a100; nodes=2; nics=4") == "118 GBps");
  CHECK_THROWS_WITH_AS(shown("dgx-a100; nics=3"), "a node of 8 devices cannot have 3 NICs", InputError);
  CHECK_THROWS_WITH_AS(shown("mixed-v100-a100; nodes=2"), "the platform 'mixed-v100-a100' is not of nodes", InputError);
  CHECK_THROWS_WITH_AS(shown("dgx-a100; colour=red"), "an all-reduce has no colour=red", InputError);
}

TEST_CASE("refreshed: wrong marks and blocks are refused with page and line") {
  CHECK(has(refusal("\n\n<!-- list: planners -->\n"), "a.md:3: this mark has no end"));
  CHECK(has(refusal("<!-- list: planners -->\n<!-- list: schedules --><!-- / -->\n"), "a.md:1: this mark has no end"));
  CHECK(has(refusal("\n<!-- / -->\n"), "a.md:2: no mark begins"));
  CHECK(has(refusal("<!-- lists: planners --><!-- / -->\n"), "a.md:1: unknown kind of mark 'lists'"));
  CHECK(has(refusal("<!-- list: planets --><!-- / -->\n"), "a.md:1: unknown list 'planets'"));
  CHECK(has(refusal("<!-- table: planner spp --><!-- / -->\n"), "a.md:1: unknown table 'planner spp'"));
  CHECK(has(refusal("<!-- table: options of planner gpip --><!-- / -->\n"), "a.md:1: there is no planner 'gpip'"));
  CHECK(has(refusal("<!-- table: options of schedule gpipe --><!-- / -->\n"), "a.md:1: a table of no options"));
  CHECK(has(refusal("```console\nstagecraft\n```\n"), "a.md:2: a console block begins with a command"));
  CHECK(has(refusal("a\n```sh\nb\n"), "a.md:2: this block has no end"));
}

}  // namespace
}  // namespace stagecraft
