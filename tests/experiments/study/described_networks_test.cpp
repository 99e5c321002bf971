// Studies whose model is a network that a file describes: a `config.json` or an architecture file.
#include "experiments/study/results.hpp"
#include "tests/experiments/commands/toy.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace stagecraft {
namespace {

/// The published sizes of meta-llama/Meta-Llama-3-8B.
const char* const kLlama = R"({
  "model_type": "llama",
  "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
  "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
  "max_position_embeddings": 8192, "tie_word_embeddings": false
}
)";

/// The same sizes as an architecture file.
const char* const kLlamaFile = R"(schema: stagecraft/architecture/1
architecture: of-our-own
family: llama
layers: 32
hidden: 4096
heads: 32
key_value_heads: 8
feed_forward: 14336
vocabulary: 128256
sequence: 8192
)";

/// A folder with the three files and a study of these keys.
struct StudyFolder : Folder {
  std::string results = file("results");
  explicit StudyFolder(const std::string& keys) {
    std::filesystem::create_directory(path / "llama");
    write(file("llama/config.json"), kLlama);
    write(file("llama.yaml"), kLlamaFile);
    write(file("study.yaml"), "schema: stagecraft/study/1\nstudy: s\n" + keys);
  }
  [[nodiscard]] Ran ran(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words{"run", file("study.yaml"), "--out", results};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }
  [[nodiscard]] std::vector<CellResult> rows() const { return load_results({results}).rows; }
};

bool tells(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a study's network: what a config.json leaves out is said once for all cells") {
  const StudyFolder folder(R"(base: {planner: uniform, global_batch: 32, microbatch_size: 1, engine: evaluate}
matrix: {platform: [dgx-h100, dgx-a100-80gb], model: [long/config.json, llama3-8b], tensor: [2, 4]}
)");
  std::filesystem::create_directory(folder.path / "long");
  std::string text = kLlama;
  text.replace(text.find("8192"), 4, "16384");
  text.replace(text.find("\"tie_"), 0, "\"colour\": \"red\", ");
  write(folder.file("long/config.json"), text);
  const Ran ran = folder.ran();
  CHECK(ran.code == 0);
  CHECK(ran.err ==
        "stagecraft: note: long/config.json: a sample has 8192 tokens, where the file allows 16384; "
        "--sequence gives another\n"
        "stagecraft: note: long/config.json: keys that are not read: 'colour'\n");
}

TEST_CASE("a study's network: a sample longer than a config.json allows is said for each length") {
  const StudyFolder folder(R"(base: {planner: uniform, platform: dgx-h100, global_batch: 8, engine: evaluate}
matrix: {model: [llama/config.json], sequence: [8192, 8193, 16384], microbatch_size: [1, 2]}
)");
  const Ran ran = folder.ran({"--dry-run"});
  CHECK(ran.code == 0);
  const std::string begin = "stagecraft: note: llama/config.json: a sample has ";
  CHECK(ran.err.starts_with(begin + "8193 tokens, more than the 8192 that the file allows"));
  CHECK(tells(ran.err, "\n" + begin + "16384 tokens, more than the 8192 that the file allows"));
  CHECK(std::ranges::count(ran.err, '\n') == 2);
}

TEST_CASE("a study's network: a config.json and an architecture file have the rows of the same network by name") {
  const StudyFolder folder(R"(base: {planner: uniform, global_batch: 32, microbatch_size: 1, engine: evaluate}
matrix: {platform: [dgx-h100, dgx-a100-80gb], model: [llama3-8b, llama/config.json, llama.yaml]}
zip:
  - tensor: [1, 4, 2, 2]
    context: [1, 1, 4, 1]
    training.zero: [0, 1, 3, 1]
    sequence: [2048, 8192, 4096, 1024]
    precision: [bf16, bf16, bf16, fp16]
)");
  const Ran ran = folder.ran();
  REQUIRE(ran.code == 0);
  CHECK(ran.err.empty());
  const std::vector<CellResult> rows = folder.rows();
  REQUIRE(rows.size() == 24);
  for (const std::size_t platform : {0, 12}) {
    for (std::size_t i = platform; i < platform + 4; ++i) {  // the models vary slower than the groups
      CAPTURE(i);
      CHECK(rows[i].row.status == CellStatus::Ok);
      for (const std::size_t other : {i + 4, i + 8}) {
        CHECK(rows[other].row.status == rows[i].row.status);
        CHECK(rows[other].row.figures == rows[i].row.figures);
      }
    }
  }
  CHECK(rows[0].row.figures != rows[1].row.figures);
  CHECK(rows[0].row.figures != rows[12].row.figures);
}

TEST_CASE("a study's network: results of a description that was changed are not added to") {
  const StudyFolder folder(R"(base: {planner: uniform, platform: dgx-h100, microbatches: 8, engine: evaluate}
matrix: {model: [llama/config.json], tensor: [1, 2]}
)");
  REQUIRE(folder.ran({"--filter", "tensor=1"}).code == 0);
  std::string changed = kLlama;
  changed.replace(changed.find("14336"), 5, "14337");
  write(folder.file("llama/config.json"), changed);
  const Ran refused = folder.ran({"--resume"});
  CHECK(refused.code == 2);
  CHECK(tells(refused.err, "cell 0 has files with other content"));
  write(folder.file("llama/config.json"), kLlama);
  CHECK(folder.ran({"--resume"}).code == 0);
  CHECK(folder.rows().size() == 2);
}

TEST_CASE("a study's network: an error in its file names the place in the file") {
  const StudyFolder folder(R"(base: {planner: uniform, platform: dgx-h100, microbatches: 8, tensor: 2}
matrix: {model: [llama/config.json]}
)");
  std::string wrong = kLlama;
  wrong.replace(wrong.find("4096"), 4, "few");
  write(folder.file("llama/config.json"), wrong);
  const Ran of_value = folder.ran();
  CHECK(of_value.code == 2);
  CHECK(tells(of_value.err, "llama/config.json:3:18: hidden_size: expected a whole number"));
  write(folder.file("llama/config.json"), "{\"model_type\": \"llama\",\n  \"hidden_size\": [4096\n}\n");
  const Ran of_form = folder.ran();
  CHECK(of_form.code == 2);
  CHECK(tells(of_form.err, "llama/config.json:3:"));
}

TEST_CASE("a study's network: what cannot be chosen of a description is refused at its key") {
  const auto told = [](const std::string& keys) {
    const StudyFolder folder("base: {planner: uniform, platform: dgx-a100, microbatches: 8, " + keys + "}\n");
    const Ran ran = folder.ran();
    CHECK(ran.code == 2);
    return ran.err;
  };
  CHECK(tells(told("model: llama/config.json, precision: fp8"), "model.computed.precision: "));
  CHECK(tells(told("model: llama.yaml, model.computed.granularity: blocks"), "model.computed.granularity: "));
  CHECK(tells(told("model: llama/config.json, model.hidden: 64"),
              "model.hidden: a config.json has no key 'hidden' that is read"));
  CHECK(tells(told("model: llama.yaml, model.hiden: 64"), "model.hiden: unknown key 'hiden'"));
}

TEST_CASE("a study's network: values replace those of its file, cell by cell") {
  const StudyFolder folder(
      R"(base: {model: llama.yaml, planner: uniform, platform: dgx-h100, microbatches: 8, engine: evaluate}
include:
  - {model: llama/config.json, model.num_hidden_layers: 16}
  - {model: llama.yaml, model.layers: 16}
)");
  REQUIRE(folder.ran().code == 0);
  const std::vector<CellResult> rows = folder.rows();
  REQUIRE(rows.size() == 3);
  CHECK(rows[1].row.figures == rows[2].row.figures);
  CHECK(rows[0].row.figures != rows[2].row.figures);
}

}  // namespace stagecraft
