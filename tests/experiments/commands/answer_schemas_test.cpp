// The JSON of `simulate`, `plan`, `compare` and `max-batch`, and that of errors, against their schemas.
#include "tests/experiments/commands/answer_schemas.hpp"

#include "sim/io/json_schema.hpp"
#include "tests/experiments/commands/replanned_pipeline.hpp"
#include "tests/experiments/commands/toy.hpp"
#include "tests/paths.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft::answer_schemas_test {
namespace {

using Json = nlohmann::json;

/// A command, and the schema of its answer.
struct Asked {
  const char* schema;
  const char* line;  ///< without --json; words in $ stand for what `Files` makes of them
};

const std::vector<Asked>& asked() {
  static const std::vector<Asked> kAsked = {
      {"simulation", "simulate $t/plan.yaml $toy --iterations 3 --timeline"},
      {"simulation", "simulate $t/plan.yaml $toy --engine evaluate --network analytic --no-timings"},
      {"simulation", "simulate $t/plan.yaml --model $t/timeless.yaml --platform $t/pair.yaml"},
      {"simulation", "simulate $t/plan.yaml --model $t/sending.yaml --platform $t/pair.yaml"},
      {"simulation", "simulate $t/split.yaml $toy --timeline"},
      {"simulation", "simulate $t/endless.yaml $toy"},
      {"simulation", "simulate $t/endless.yaml $toy --run-length 24 --timeline-window 100ms..200ms"},
      {"simulation", "simulate $t/endless.yaml $toy --run-length 2000 --verify-steady"},
      {"simulation", "simulate $t/endless.yaml $toy --run-length 2000 --replan vpipe"},
      {"simulation", "simulate $t/plan.yaml $toy --set platform.device_kinds.A.memory=12MB"},
      {"simulation", "simulate $t/endless.yaml $toy --set platform.device_kinds.A.memory=8MB"},
      {"simulation",
       "simulate @good/plan_vector_m2.yaml --model @good/model_vector_m2.yaml --platform "
       "@good/platform_vector_m2.yaml"},
      {"simulation", "simulate @commands/plan_swapping.yaml $good --transfers"},
      {"simulation", "simulate @commands/plan_divided.yaml $good --timeline"},
      {"simulation", "simulate @commands/plan_of_groups.yaml --transfers"},
      {"simulation", "simulate @good/plan_two_pipelines.yaml $good"},
      {"simulation", "simulate @good/plan_two_stages.yaml $good --events @good/events_all.yaml --noise-seed 7"},
      {"simulation",
       "simulate $p/plan.yaml $four --events $p/slow.yaml --replan vpipe,granularity=layers,window=64 "
       "--timeline"},
      {"simulation", "simulate $p/plan.yaml $four --events $p/slow.yaml --replan uniform,window=64,migrate=stop-copy"},
      {"simulation",
       "simulate $p/plan.yaml $four --events $p/lost.yaml --replan "
       "vpipe,granularity=layers,replicas=1,checkpoint=100,save=1ms,leave=500ms --timeline"},
      {"simulation", "simulate $p/plan.yaml $four --events $p/lost.yaml --replan uniform"},
      {"simulation",
       "simulate $p/plan.yaml $four --events $p/notice.yaml --replan "
       "vpipe,granularity=layers,replicas=1,checkpoint=100,leave=500ms"},
      {"simulation", "simulate $p/plan.yaml $four --events $p/less.yaml --replan vpipe,granularity=layers"},
      {"simulation", "simulate $p/plan.yaml $four --events $p/short.yaml"},
      {"simulation", "simulate $p/plan.yaml $four --events $p/other.yaml --engine evaluate"},
      {"simulation",
       "simulate $p/flushed.yaml $four --events $p/broken.yaml --iterations 10 --replan "
       "uniform,replicas=1,checkpoint=40,leave=0"},
      {"planning", "plan $toy --planner gpipe --microbatches 8 --set platform.device_kinds.A.memory=8MB"},
      {"planning",
       "plan $toy --planner gpipe --microbatches 8 --set platform.device_kinds.A.memory=8MB "
       "--despite-memory"},
      {"planning", "plan $toy --planner pipedream --no-timings"},
      {"planning", "plan $toy --planner director --set evaluations=50,replays=5"},
      {"planning", "plan $toy --planner madpipe"},
      {"planning", "plan --model vgg16 --platform cluster-v100-a100 --planner pipedream"},
      {"planning", "plan $gpt --planner uniform $price -o $t/priced.yaml"},
      {"simulation", "simulate $t/priced.yaml $price"},
      {"planning",
       "plan $gpt --planner uniform --global-batch 32 --search "
       "tensor=1:2,zero=0:1,memory,microbatch_size=1:2 --set "
       "platform.device_kinds.A100-SXM4-40GB.memory=1300MiB"},
      {"planning", "plan $gpt --planner uniform --microbatches 8 --search context=1:2,expert"},
      {"planning", "plan $good --planner exec:@commands/planner.sh --set case=detailed --microbatches 8"},
      {"planning", "plan $good --planner exec:@commands/planner.sh --set case=infeasible --microbatches 8"},
      {"comparison", "compare $toy --model $t/timeless.yaml --planners uniform,pipedream --vary --save $t/plans"},
      {"comparison", "compare $toy --planners uniform,data-parallel,spp --training optimizer_copies=98"},
      {"comparison",
       "compare $toy --planners uniform --set uniform.replicas=1 --microbatches 8 --schedules "
       "1f1b,zb-v,pipedream --sends stream"},
      {"comparison",
       "compare $toy --planners uniform,gpipe --set platform.device_kinds.A.memory=3MB --schedules gpipe "
       "--vary --no-timings"},
      {"comparison",
       "compare $toy --planners uniform,gpipe --microbatches 8 --set platform.device_kinds.A.memory=18MB "
       "--vary"},
      {"largest-size", "max-batch $toy --planner gpipe --set gpipe.replicas=1 --microbatches 8 --memory keep"},
      {"largest-size", "max-batch $toy --planner gpipe --set platform.device_kinds.A.memory=3MB --no-timings"},
      {"largest-size", "max-batch $toy --planner uniform --set uniform.stages=2 --global-batch 36"},
      {"largest-size", "max-batch $gpt --planner uniform $price --tries 2 --simulate"},
      {"size-comparison", "max-batch $toy --planners gpipe,hetpipe --schedule 1f1b --curve --simulate"},
      {"size-comparison", "max-batch $toy --planners gpipe,uniform --set platform.device_kinds.A.memory=3MB --curve"},
      {"size-comparison", "max-batch $toy --planners gpipe --microbatches 8"},
      {"error", "simulate @bad/model_no_layers.yaml $good"},
      {"error", "plan $toy --planner gpip"},
      {"error", "plan --model nosuch --platform dgx-a100 --planner gpipe"},
      {"error", "simulate $t/plan.yaml $toy --iterations none"},
  };
  return kAsked;
}

/// What only an interrupt prints, and why a plan cannot run on varied inputs.
const std::set<std::string> kUnreached = {"comparison.model_comparison.complete", "comparison.ranked_plan.reason",
                                          "unfinished-search.complete", "unfinished-search.search"};

std::string lines_of(const std::set<std::string>& names) {
  std::string lines;
  for (const std::string& name : names) lines += name + "\n";
  return lines;
}

/// Two layers without times.
std::string timeless(const std::string& output) {
  return "schema: stagecraft/model/1\nmodel: timeless\ndevice: A\nmicrobatch_size: 4\nsource: made up\nlayers:\n"
         "  - {name: first, forward: 0 s, backward: 0 s, parameters: 1 MB, output: " +
         output + "}\n  - {name: second, forward: 0 s, backward: 0 s, parameters: 1 MB, output: 0 B}\n";
}

/// The files that the commands read.
class Files {
 public:
  Files() {
    write(toy_.file("timeless.yaml"), timeless("0 B"));
    write(toy_.file("sending.yaml"), timeless("1 MB"));
    write_plan("split", "zb-h1", 8);
    write_plan("endless", "pipedream", 1000);
    write_events("slow", "{at: 0 s, device: b, slowdown: 1.5}");
    write_events("lost", "{at: 2.001 s, device: b, fails_for: 3 s}");
    write_events("notice", "{at: 3 s, device: b, leaves_at: 5 s}");
    write_events("less", "{at: 3 s, device: b, memory: 150 MB}, {at: 4 s, link: [a, b], bandwidth: 1 GBps}");
    write_events("short", "{at: 1 s, device: c, memory: 10 MB}, {at: 2 s, device: c, memory: 1 GB}");
    write_events("other", "{at_microbatch: 100, model: model.yaml}, {at_microbatch: 300, microbatch_size: 1}");
    write_events("broken", "{at: 1.3 s, device: c, fails_for: 1 h}");
  }

  /// The words of a line, with the paths of files.
  [[nodiscard]] std::vector<std::string> words_of(const std::string& line) const {
    std::vector<std::string> words;
    std::istringstream stream(line);
    for (std::string word; stream >> word;) {
      const auto known = inputs_.find(word);
      if (known != inputs_.end()) {
        words.insert(words.end(), known->second.begin(), known->second.end());
      } else {
        words.push_back(with_path(word));
      }
    }
    return words;
  }

 private:
  Toy toy_;
  testing::Pipeline pipeline_;
  std::string vectors_ = std::string(STAGECRAFT_SOURCE_DIR) + "/tests/vectors";
  std::map<std::string, std::vector<std::string>> inputs_ = {
      {"$toy", {"--model", toy_.model, "--platform", toy_.platform}},
      {"$four", {"--model", pipeline_.path("model.yaml"), "--platform", pipeline_.path("four.yaml")}},
      {"$good",
       {"--model", vectors_ + "/good/model_toy.yaml", "--platform", vectors_ + "/good/platform_two_nodes.yaml"}},
      {"$gpt", {"--model", "gpt2-small", "--granularity", "block", "--platform", "dgx-a100"}},
      {"$price", {"--set", "platform.device_kinds.A100-SXM4-40GB.price=2"}}};

  void write_plan(const std::string& name, const std::string& schedule, int microbatches) const {
    write(toy_.file(name + ".yaml"), "schema: stagecraft/plan/1\nmicrobatch_size: 4\nmicrobatches: " +
                                         std::to_string(microbatches) + "\nschedule: {name: " + schedule +
                                         "}\nstages: [{layers: [first], devices: [a]}, "
                                         "{layers: [second], devices: [b]}]\n");
  }
  void write_events(const std::string& name, const std::string& events) const {
    pipeline_.write(name + ".yaml", "schema: stagecraft/events/1\nevents: [" + events + "]\n");
  }
  /// `$t/FILE` lies beside the toy, `$p/FILE` beside the pipeline, `@FILE` among the test vectors.
  [[nodiscard]] std::string with_path(const std::string& word) const {
    const std::size_t mark = word.find_first_of("$@");
    if (mark == std::string::npos) return word;
    const std::string before = word.substr(0, mark);
    if (word[mark] == '@') return before + vectors_ + "/" + word.substr(mark + 1);
    const std::string file = word.substr(mark + 3);
    return before + (word[mark + 1] == 't' ? toy_.file(file) : pipeline_.path(file));
  }
};

/// Calls `visit` with each record of a schema and its name.
template <typename Visit>
void each_record(const Json& schema, const Visit& visit) {
  visit("the answer", schema);
  const Json named = schema.value("definitions", Json::object());
  for (const auto& [name, record] : named.items()) {
    if (record.contains("properties")) visit(name, record);
  }
}

}  // namespace

TEST_CASE("answer schemas: every answer passes its schema, and together they have every property") {
  const Files files;
  test::AnswerSchemas schemas;
  for (const auto& [schema, line] : asked()) {
    std::vector<std::string> words = files.words_of(line);
    words.emplace_back("--json");
    const std::string answer = run(words).out;
    CAPTURE(std::string(line));
    CHECK(schemas.refusal(schema, answer) == "");
  }
  CHECK(lines_of(schemas.missing()) == lines_of(kUnreached));
}

TEST_CASE("answer schemas: what an interrupted search prints are the rows of one that is not") {
  const Ran ran =
      Toy().on("plan", {"--planner", "uniform", "--microbatches", "8", "--search", "zero,memory", "--json"});
  const Json whole = Json::parse(ran.out);
  test::AnswerSchemas schemas;
  const auto refusal = [&](bool complete) {
    return schemas.refusal("unfinished-search", Json{{"complete", complete}, {"search", whole["search"]}}.dump());
  };
  CHECK(refusal(false) == "");
  CHECK_FALSE(refusal(true).empty());
}

TEST_CASE("answer schemas: an answer with a field too few or too many, or with those of another outcome, is refused") {
  const Toy toy;
  test::AnswerSchemas schemas;
  const auto refusal = [&](const Json& answer) { return schemas.refusal("planning", answer.dump()); };
  const auto planned = [&](const std::string& memory) {
    return Json::parse(
        toy.on("plan", {"--planner", "uniform", "--set", "platform.device_kinds.A.memory=" + memory, "--json"}).out);
  };
  const Json fits = planned("100 MB");
  const Json none = planned("1 MB");
  REQUIRE(refusal(fits) == "");
  REQUIRE(refusal(none) == "");
  Json more = fits;
  more["stages"][0]["mood"] = "good";
  CHECK_FALSE(refusal(more).empty());
  Json fewer = fits;
  fewer["predicted"].erase("period_s");
  CHECK_FALSE(refusal(fewer).empty());
  Json other = fits;
  other["outcome"] = "infeasible";
  CHECK_FALSE(refusal(other).empty());
  Json both = none;
  both["plan"] = fits["plan"];
  CHECK_FALSE(refusal(both).empty());
}

// A program that makes classes of the schemas relies on this.
TEST_CASE("answer schemas: every record is closed, has a name of its own and requires fields that it has") {
  std::map<std::string, std::string> known;
  for (const std::string& name : test::AnswerSchemas().names()) {
    CAPTURE(name);
    const Json schema = Json::parse(json_schema(name));
    CHECK(schema["title"] == "stagecraft/answer/" + name);
    each_record(schema, [&](const std::string& record, const Json& of) {
      CAPTURE(record);
      CHECK(of["additionalProperties"] == false);
      CHECK(of.contains("description"));
      for (const Json& field : of["required"]) CHECK(of["properties"].contains(field.get<std::string>()));
      if (&of != &schema) CHECK_MESSAGE(known.try_emplace(record, name).second, "also in ", known[record]);
    });
  }
}

}  // namespace stagecraft::answer_schemas_test
