// The scripts that make a shell complete commands, and the manual page.
#include "tests/experiments/commands/toy.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

namespace stagecraft {
namespace {

TEST_CASE("completion, man: every verb and every long option is in them") {
  const std::string man = run({"man"}).out;
  const std::string help = run({"--help"}).out;
  for (const char* shell : {"bash", "zsh", "fish"}) {
    CAPTURE(shell);
    const std::string script = run({"completion", shell}).out;
    for (const char* word : {"simulate", "describe", "microbatch-size", "schedule-file", "no-timings", "uniform"}) {
      CAPTURE(word);
      CHECK(script.find(word) != std::string::npos);
    }
  }
  for (const char* verb : {"plan", "check", "simulate", "compare", "model", "import", "list", "describe", "schema"}) {
    CHECK(man.find(".SS " + std::string(verb) + "\n") != std::string::npos);
    CHECK(help.find(verb) != std::string::npos);
  }
  CHECK(man.find("\\-\\-schedule\\-file") != std::string::npos);
  CHECK(run({"completion", "csh"}).code == 2);
}

TEST_CASE("completion: bash completes verbs, options and the values of options") {
  const Folder folder;
  const std::string script = folder.file("stagecraft.bash");
  write(script, run({"completion", "bash"}).out);
  const auto completes = [&](const std::string& line, const std::string& expected) {
    const std::string command = "bash -c 'source " + script + "; COMP_WORDBREAKS==; COMP_WORDS=(" + line +
                                "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _stagecraft; [[ \"${COMPREPLY[*]}\" == \"" +
                                expected + "\" ]]'";
    CAPTURE(line);
    CHECK(std::system(command.c_str()) == 0);  // NOLINT(cert-env33-c,concurrency-mt-unsafe): that shell is meant
  };
  completes("stagecraft sim", "simulate");
  completes("stagecraft plan --plat", "--platform");
  completes("stagecraft plan --planner unif", "uniform");
  completes("stagecraft --json list sched", "schedules");
  completes("stagecraft simulate p.yaml --engine ev", "evaluate");
  completes("stagecraft compare --planners spp,da", "spp,data-parallel spp,dapple spp,dawnpiper");
  completes("stagecraft compare --planners spp,gpipe,unif", "spp,gpipe,uniform");
  completes("stagecraft plan --memory chea", "cheapest");
  completes("stagecraft simulate p.yaml --replan no", "none");
  completes("stagecraft make-events --of nod", "nodes");
  completes("stagecraft help simu", "simulate");
  completes("stagecraft plan --training opt", "optimizer_copies=");
  completes("stagecraft plan --zero 3", "3");
  completes("stagecraft compare --training zero = 1,rec", "1,recipe=");
  completes("stagecraft plan --schedule 1f1b-star,rel", "1f1b-star,release=timed 1f1b-star,release=asap");
  completes("stagecraft plan --schedule looped-bfs,", "looped-bfs,chunks=");
  completes("stagecraft plan --schedule zb-auto,mem", "zb-auto,memory=true zb-auto,memory=false");
  completes("stagecraft plan --schedule hanayo,", "hanayo,waves=");
  completes("stagecraft plan --schedule nobody,", "");
  completes("stagecraft compare --schedules zb-", "zb-auto zb-h1 zb-h2 zb-v");
  completes("stagecraft compare --schedules 1f1b,looped-bfs,chu", "1f1b,looped-bfs,chunks=");
  completes("stagecraft compare --schedules looped-bfs,chunks = 2,zb-v,chu", "");
  completes("stagecraft compare --schedules looped-bfs,chunks = 2,zb-", "2,zb-auto 2,zb-h1 2,zb-h2 2,zb-v");
  completes("stagecraft compare --schedules looped-bfs,nobody,", "");
  completes("stagecraft simulate p.yaml --replan vpipe,imb", "vpipe,imbalance=");
  completes("stagecraft simulate p.yaml --replan spp,pe", "spp,pe_exec=strict spp,pe_exec=list");
  // Bash gives a word with `=` as several words, and replaces the last one.
  completes("stagecraft plan --model = vgg19", "vgg19");
  completes("stagecraft compare --planners = spp,da", "spp,data-parallel spp,dapple spp,dawnpiper");
  completes("stagecraft compare --planners = unif", "uniform");
  completes("stagecraft plan --schedule 1f1b-star,channels = fr", "free");
  completes("stagecraft plan --schedule = 1f1b-star,channels = free,per", "free,period=least");
  completes("stagecraft plan --training gradient_copies = 1,opt", "1,optimizer_copies=");
  completes("stagecraft plan --training optimizer_copies =", "");
}

}  // namespace
}  // namespace stagecraft
