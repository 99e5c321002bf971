#include "sim/io/architecture_file.hpp"

#include "sim/base/error.hpp"
#include "sim/workload/catalogue.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace stagecraft;

namespace {

const std::string kSchema = "schema: stagecraft/architecture/1\n";
const std::string kBert = kSchema + "architecture: bert-large\nfamily: bert\nlayers: 24\nhidden: 1024\nheads: 16\n";

std::string refusal(const std::string& text) {
  try {
    static_cast<void>(parse_architecture(text, "a.yaml"));
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

/// Without the source, and with a word table of the head's own.
Architecture plain(Architecture net) {
  net.source.clear();
  for (Operator& op : net.operators) {
    if (op.name == "head.decoder") op.tied.owner = OperatorId::none();
  }
  return net;
}

/// `net`, whose source names where its sizes come from, as a file without a source describes it. Heads of files share
/// the embedding's table; those of vPipe's networks do not.
bool is_described(const std::string& text, const std::string& net) {
  return plain(parse_architecture(text, "a.yaml")) == plain(find_architecture(net).value());
}

}  // namespace

TEST_CASE("architecture file: the networks of the catalogue, written by hand") {
  CHECK(parse_architecture(kBert + "sequence: 512\n", "a.yaml") == find_architecture("bert-large"));
  Architecture pretraining = parse_architecture(kBert + "sequence: 512\nhead: pretraining\n", "a.yaml");
  pretraining.name = "bert-large-pretraining";
  CHECK(pretraining == find_architecture("bert-large-pretraining"));
  CHECK(parse_architecture(kSchema + "architecture: gpt2-xl\nfamily: gpt\nlayers: 48\nhidden: 1600\nheads: 25\n"
                                     "sequence: 1024\nvocabulary: 50257\npositions: 1024\nfeed_forward: 6400\n",
                           "a.yaml") == find_architecture("gpt2-xl"));
  CHECK(parse_architecture(kSchema +
                               "architecture: vgg16\nfamily: vgg\nblocks: [[64, 64], [128, 128], [256, 256, 256], "
                               "[512, 512, 512], [512, 512, 512]]\n",
                           "a.yaml") == find_architecture("vgg16"));
}

TEST_CASE("architecture file: the networks of two sides, written by hand") {
  CHECK(is_described(kSchema + "architecture: gnmt-16\nfamily: gnmt\nlayers: 8\nhidden: 1024\nsequence: 50\n"
                               "shared_embedding: false\n",
                     "gnmt-16"));
  CHECK(parse_architecture(kSchema + "architecture: transformer-big\nfamily: transformer\nlayers: 6\nhidden: 1024\n"
                                     "heads: 16\nsequence: 128\n",
                           "a.yaml") == find_architecture("transformer-big"));
  CHECK(parse_architecture(kSchema + "architecture: t5-11b\nfamily: t5\nlayers: 24\nhidden: 1024\nheads: 128\n"
                                     "head_size: 128\nfeed_forward: 65536\nsequence: 512\ntarget_sequence: 114\n",
                           "a.yaml") == find_architecture("t5-11b"));
  CHECK(parse_architecture(kSchema + "architecture: xlnet-large\nfamily: xlnet\nlayers: 24\nhidden: 1024\nheads: 16\n"
                                     "sequence: 512\n",
                           "a.yaml") == find_architecture("xlnet-large"));
}

TEST_CASE("architecture file: the networks of vPipe and GPipe, written by hand") {
  CHECK(is_described(kSchema + "architecture: bert-48\nfamily: bert\nlayers: 48\nhidden: 1024\nheads: 16\n"
                               "sequence: 128\nvocabulary: 30528\nhead: masked-language\n",
                     "bert-48"));
  CHECK(is_described(kSchema + "architecture: transformer-6-6\nfamily: transformer\nlayers: 6\nhidden: 1024\n"
                               "heads: 16\nsequence: 128\nvocabulary: 33712\nnormalize: before\n",
                     "transformer-6-6"));
  CHECK(is_described(kSchema + "architecture: transformer-big\nfamily: transformer\nlayers: 6\nhidden: 1024\n"
                               "heads: 16\nsequence: 128\nnormalize: after\n",
                     "transformer-big"));
  CHECK(is_described(kSchema + "architecture: cpm-large\nfamily: gpt\nlayers: 32\nhidden: 2560\nheads: 32\n"
                               "sequence: 696\nvocabulary: 30000\n",
                     "cpm-large"));
  CHECK(is_described(kSchema + "architecture: amoebanet-d-18-256\nfamily: amoebanet\n", "amoebanet-d-18-256"));
  CHECK(is_described(kSchema + "architecture: amoebanet-d-18-208\nfamily: amoebanet\ncells: 18\nfilters: 208\n"
                               "image: 224\nclasses: 1000\n",
                     "amoebanet-d-18-208"));
}

TEST_CASE("architecture file: the Vision Transformers of the catalogue, written by hand") {
  const std::string head = "family: vit\nheads: 16\n";
  CHECK(parse_architecture(kSchema + "architecture: vit-l-16\nlayers: 24\nhidden: 1024\n" + head, "a.yaml") ==
        find_architecture("vit-l-16"));
  CHECK(parse_architecture(kSchema +
                               "architecture: vit-h-14\nlayers: 32\nhidden: 1280\nfeed_forward: 5120\n"
                               "patch: 14\nimage: 224\nchannels: 3\nclasses: 1000\n" +
                               head,
                           "a.yaml") == find_architecture("vit-h-14"));
}

// The names in the order of the families; each has what its family leaves out by default.
TEST_CASE("architecture file: the decoders of the catalogue, written by hand") {
  const auto is_same = [](const std::string& name, const std::string& family, const std::string& sizes) {
    const Architecture net =
        parse_architecture(kSchema + "architecture: " + name + "\nfamily: " + family + "\n" + sizes, "a.yaml");
    return net.operators == find_architecture(name)->operators && !net.source.empty();
  };
  CHECK(is_same("llama3.2-1b", "llama",
                "layers: 16\nhidden: 2048\nheads: 32\nkey_value_heads: 8\nfeed_forward: 8192\nsequence: 8192\n"
                "vocabulary: 128256\ntied: true\n"));
  CHECK(is_same("llama-7b", "llama", "layers: 32\nhidden: 4096\nheads: 32\nfeed_forward: 11008\nsequence: 2048\n"));
  CHECK(is_same("mistral-7b", "mistral",
                "layers: 32\nhidden: 4096\nheads: 32\nkey_value_heads: 8\nfeed_forward: 14336\nsequence: 8192\n"
                "window: 4096\n"));
  CHECK(is_same("qwen2-0.5b", "qwen2",
                "layers: 24\nhidden: 896\nheads: 14\nkey_value_heads: 2\nfeed_forward: 4864\nsequence: 4096\n"
                "tied: true\n"));
  CHECK(is_same("qwen3-8b", "qwen3",
                "layers: 36\nhidden: 4096\nheads: 32\nkey_value_heads: 8\nfeed_forward: 12288\nsequence: 4096\n"));
  CHECK(is_same("qwen3-30b-a3b", "qwen3",
                "layers: 48\nhidden: 2048\nheads: 32\nkey_value_heads: 4\nsequence: 4096\nexperts: 128\n"
                "active_experts: 8\nexpert_feed_forward: 768\n"));
  CHECK(is_same("mixtral-8x7b", "mixtral",
                "layers: 32\nhidden: 4096\nheads: 32\nkey_value_heads: 8\nfeed_forward: 14336\nsequence: 4096\n"));
  CHECK(is_same("deepseek-v3", "deepseek",
                "layers: 61\nhidden: 7168\nheads: 128\nfeed_forward: 18432\nsequence: 4096\nvocabulary: 129280\n"
                "experts: 256\nactive_experts: 8\nexpert_feed_forward: 2048\nshared_feed_forward: 2048\n"
                "dense_layers: 3\nrouter_bias: true\nquery_rank: 1536\n"));
  CHECK(is_same("gpt-neox-20b", "neox", "layers: 44\nhidden: 6144\nheads: 64\nsequence: 2048\n"));
  CHECK(is_same("falcon-7b", "falcon", "layers: 32\nhidden: 4544\nheads: 71\nsequence: 2048\n"));
  CHECK(is_same("falcon-40b", "falcon", "layers: 60\nhidden: 8192\nheads: 128\nkey_value_heads: 8\nsequence: 2048\n"));
  CHECK(is_same("opt-350m", "opt",
                "layers: 24\nhidden: 1024\nheads: 16\nsequence: 2048\nembedding_size: 512\nnormalize: after\n"));
  CHECK(is_same("bloom-176b", "bloom", "layers: 70\nhidden: 14336\nheads: 112\nsequence: 2048\n"));
}

TEST_CASE("architecture file: a sequence longer than usual makes the position table longer") {
  const Architecture net = parse_architecture(kBert + "sequence: 2048\n", "a.yaml");
  CHECK(parameter_count(net) == 335'141'888 + (2048 - 512) * 1024);
}

TEST_CASE("architecture file: OPT's positions follow a longer sequence, two rows ahead") {
  const std::string sizes = "architecture: o\nfamily: opt\nlayers: 1\nhidden: 64\nheads: 4\nsequence: ";
  const auto parameters = [&](const std::string& sequence) {
    return parameter_count(parse_architecture(kSchema + sizes + sequence + "\n", "a.yaml"));
  };
  CHECK(parameters("4096") == parameters("2048") + std::int64_t{2048} * 64);
}

TEST_CASE("architecture file: the source may be given") {
  CHECK(parse_architecture(kBert + "sequence: 512\nsource: mine\n", "a.yaml").source == "mine");
}

TEST_CASE("architecture file: defects are refused where they are") {
  CHECK(refusal(kSchema + "architecture: a\nfamily: bart\n").starts_with("a.yaml:3:9: family: unknown value 'bart'"));
  CHECK(refusal(kBert + "sequence: 512\nhead: both\n").starts_with("a.yaml:8:7: head: unknown value 'both'"));
  CHECK(refusal(kBert + "sequence: 0\n") == "a.yaml:7:11: sequence: expected a whole number of at least 1, found '0'");
  CHECK(refusal(kBert).find("sequence") != std::string::npos);
  CHECK(refusal(kBert + "sequence: 512\nclasses: 10\n").starts_with("a.yaml:8:1: unknown key 'classes'"));
  CHECK(refusal(kBert + "sequence: 512\npositions: 128\n") ==
        "a.yaml:8:12: positions: expected at least 'sequence', 512, found '128'");
  CHECK(refusal(kSchema + "architecture: a\nfamily: amoebanet\ncells: 20\n") ==
        "a.yaml:4:8: cells: expected a multiple of 3, found '20'");
  CHECK(refusal(kSchema + "architecture: a\nfamily: amoebanet\nfilters: 100\n") ==
        "a.yaml:4:10: filters: expected a multiple of 8, found '100'");
  CHECK(refusal(kSchema + "architecture: v\nfamily: vgg\nblocks: []\n") ==
        "a.yaml:4:9: blocks: expected at least one block, found none");
}
