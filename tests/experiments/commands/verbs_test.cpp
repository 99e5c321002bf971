// The verbs that list, describe and make things.
#include "planners/registry.hpp"
#include "sim/io/device_file.hpp"
#include "sim/io/model_file.hpp"
#include "sim/io/text_file.hpp"
#include "sim/model/layer_graph.hpp"
#include "tests/experiments/commands/command.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace stagecraft::verbs_test {
namespace {

using Json = nlohmann::json;

const std::string kRoot = STAGECRAFT_SOURCE_DIR;

Json json_of(std::vector<std::string> arguments) {
  arguments.emplace_back("--json");
  const Ran ran = run(arguments);
  CHECK(ran.code == 0);
  return Json::parse(ran.out);
}

/// A folder that is empty at first and gone afterwards.
struct Folder {
  test::TemporaryFolder temporary;
  std::filesystem::path path = temporary.path();
  [[nodiscard]] std::string file(const std::string& name, const std::string& content = "") const {
    const std::string full = (path / name).string();
    if (!content.empty()) std::ofstream(full) << content;
    return full;
  }
};

const char* const kPlan = R"(schema: stagecraft/plan/1
planner: by-hand
model: vgg16
platform: dgx-a100
microbatch_size: 32
microbatches: 2
schedule: {name: gpipe}
stages:
  - {layers: {from: conv1_1, to: pool2}, devices: [gpu0]}
  - {layers: {from: conv3_1, to: fc8}, devices: [gpu1]}
)";

std::vector<std::string> simulate(const std::string& plan, const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {"simulate", plan,      "--model",          "vgg16",    "--platform",
                                        "dgx-a100", "--speed", "V100-SXM2-16GB=1", "--engine", "evaluate"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

std::size_t longest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t longest = 0;
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
  return longest;
}

TEST_CASE("list: every planner with its options, and every other list") {
  const Json planners = json_of({"list", "planners"}).at("planners");
  CHECK(planners.size() == all_planners().size());
  for (std::size_t i = 0; i < planners.size(); ++i) {
    CHECK(planners[i].at("name") == all_planners()[i]->name);
    CHECK(planners[i].at("options").size() == all_planners()[i]->options.size());
  }
  const std::string text = run({"list", "planners", "uniform"}).out;
  CHECK(text.find("stages (count; default 0; at least 0): ") != std::string::npos);
  CHECK(text.find("recompute (none|layer|stage; default none): ") != std::string::npos);
  for (const char* kind : {"schedules", "platforms", "models", "devices", "architectures"}) {
    CAPTURE(kind);
    const Json list = json_of({"list", kind}).at(kind);
    CHECK_FALSE(list.empty());
    const std::string shown = run({"list", kind}).out;
    for (const Json& entry : list) CHECK(shown.find(entry.at("name")) != std::string::npos);
    CHECK(longest_line(shown) <= 100);
  }
  const Json model = json_of({"list", "models", "vgg16"}).at("models").front();
  CHECK(model.at("network") == "vgg16");
  CHECK(model.at("device") == "V100-SXM2-16GB");
  CHECK(run({"list", "models"}).out.find(model.at("source").get<std::string>()) == std::string::npos);
  CHECK(run({"list", "models", "vgg16"}).out.find(model.at("source").get<std::string>()) != std::string::npos);
  CHECK(run({"list", "planers"}).err.find("did you mean 'planners'?") != std::string::npos);
  CHECK(run({"list", "planners", "unifrom"}).err.find("did you mean 'uniform'?") != std::string::npos);
}

TEST_CASE("describe: a platform's devices, links, levels and routes") {
  const Json platform = json_of({"describe", "p3.8xlarge-x4"});
  CHECK(platform.at("kind") == "platform");
  CHECK(platform.at("devices").size() == 16);
  CHECK(platform.at("levels") == Json::parse(R"([{"count": 4, "bandwidth_bytes_per_s": 25e9},
                                                 {"count": 4, "bandwidth_bytes_per_s": 1.25e9}])"));
  CHECK(platform.at("smallest_pair_bandwidth_bytes_per_s") == 1.25e9);
  const Json& across = platform.at("routes").at(1);
  CHECK(across.at("to") == "gpu4");
  CHECK(across.at("to_last") == "gpu15");
  CHECK(across.at("links") == Json::parse(R"(["node0.nic.up", "node1.nic.down"])"));
  CHECK(run({"describe", "p3.8xlarge-x4"}).out.starts_with("platform p3.8xlarge-x4: 16 devices on 4 nodes"));
}

TEST_CASE("describe: a model's totals, order and cuts") {
  const Json model = json_of({"describe", kRoot + "/tests/vectors/good/model_branches.yaml"});
  CHECK(model.at("kind") == "model");
  CHECK(model.at("is_chain") == false);
  CHECK(model.at("layers").back().at("cut_after_bytes").is_null());
  double forward = 0.0;
  for (const Json& layer : model.at("layers")) forward += layer.at("forward_s").get<double>();
  CHECK(model.at("totals").at("forward_s").get<double>() == doctest::Approx(forward).epsilon(1e-12));
  const Json vgg = json_of({"describe", "vgg16"});
  CHECK(vgg.at("most_parameters").at(0).at("layer") == "fc6");
  CHECK(vgg.at("most_parameters").at(0).at("share").get<double>() == doctest::Approx(102.76 / 138.36).epsilon(1e-3));
  double before = 0.0;
  for (const Json& cut : vgg.at("smallest_cuts")) {
    CHECK(cut.at("bytes").get<double>() >= before);
    before = cut.at("bytes").get<double>();
  }
  for (const Json& layer : vgg.at("layers")) {
    if (layer.at("cut_after_bytes").is_null()) continue;
    CHECK(layer.at("cut_after_bytes").get<double>() >= vgg.at("smallest_cuts").at(0).at("bytes").get<double>());
  }
  CHECK(run({"describe", "vgg16"}).out.starts_with("model vgg16: a chain of 36 layers and 35 edges"));
}

TEST_CASE("describe: a model names the parameters that layers have in common, and shares are of what counts once") {
  const Json model = json_of({"describe", kRoot + "/tests/vectors/good/model_tied.yaml"});
  REQUIRE(model.at("tied").size() == 2);
  CHECK(model.at("tied").at(0).at("layers") == Json({"embedding", "head"}));
  CHECK(model.at("tied").at(0).at("bytes") == 6000);
  CHECK(model.at("totals").at("parameters_bytes") == 8000 + 2000 + 7000 - 6000 - 1000);
  CHECK(model.at("most_parameters").at(0).at("share").get<double>() == doctest::Approx(0.8));
}

TEST_CASE("describe: a plan with the model and the platform that it names") {
  const Folder folder;
  const std::string plan = folder.file("plan.yaml", kPlan);
  const Json described = json_of({"describe", plan, "--speed", "V100-SXM2-16GB=1"});
  CHECK(described.at("stages").size() == 2);
  // 32 samples of pool2: 128 channels of 56 x 56, 4 bytes each.
  CHECK(described.at("boundaries").at(0).at("bytes") == 32 * 128 * 56 * 56 * 4);
  CHECK(described.at("boundaries").at(0).at("bandwidth_bytes_per_s") == 300e9);
  CHECK(described.at("evaluated").at("iteration_time_s").get<double>() > 0.0);
  for (const Json& device : described.at("memory_bytes")) {
    std::int64_t sum = 0;
    for (const char* what : {"weights", "gradients", "optimizer", "stash", "buffers", "workspace"})
      sum += device.at(what).get<std::int64_t>();
    CHECK(sum == device.at("peak"));
  }
  const Json& traffic = described.at("traffic");  // two microbatches, there and back
  CHECK(traffic.size() == 2);
  CHECK(traffic.at(0).at("what") == "activations 0 -> 1");
  CHECK(traffic.at(0).at("bytes") == 2.0 * 32 * 128 * 56 * 56 * 4);
  const std::string unnamed = folder.file("unnamed.yaml", std::string(kPlan).replace(54, 13, ""));
  CHECK(run({"describe", unnamed}).code == 2);
  CHECK(run({"describe", "no-such-thing"}).err.find("is called 'no-such-thing'") != std::string::npos);
  CHECK(run({"describe", kRoot + "/tests/vectors/good/schedule_orders.yaml"}).code == 2);
}

TEST_CASE("describe: an architecture and a device, and a refusal that names what can be described") {
  const Json network = json_of({"describe", kRoot + "/tests/vectors/good/architecture_vgg.yaml"});
  CHECK(network.at("kind") == "architecture");
  CHECK(network.at("parameters").get<std::int64_t>() > 0);
  CHECK(network.at("layers") <= network.at("operators"));
  const Json device = json_of({"describe", kRoot + "/tests/vectors/good/device_full.yaml"});
  CHECK(device.at("kind") == "device");
  CHECK(device.at("memory_bytes").get<std::int64_t>() > 0);
  const Json known = json_of({"describe", "A100-SXM4-80GB"});
  CHECK(known.at("kind") == "device");
  CHECK(known.at("memory_bytes") == std::int64_t{80} << 30);
  CHECK(json_of({"describe", "t5-11b"}).at("kind") == "architecture");
  const std::string gpt = kRoot + "/tests/vectors/good/architecture_gpt.yaml";
  CHECK(json_of({"describe", gpt, "--sequence", "64"}).at("name") == json_of({"describe", gpt}).at("name"));
  CHECK(json_of({"describe", gpt, "--sequence", "64"}).at("forward_flops_per_sample") >
        json_of({"describe", gpt}).at("forward_flops_per_sample"));
  CHECK(run({"describe", "A100-SXM4-80"}).err.find("did you mean 'A100-SXM4-80GB'?") != std::string::npos);
  const Ran refused = run({"describe", kRoot + "/tests/vectors/good/schedule_orders.yaml"});
  CHECK(refused.code == 2);
  CHECK(refused.err.find("only models, platforms, plans, architectures and devices are described") !=
        std::string::npos);
}

TEST_CASE("describe: a device by name or of a file is shown in a precision, by default that of networks") {
  CHECK(json_of({"describe", "H100-SXM5-80GB"})["precision"] == "bf16");
  CHECK(json_of({"describe", "V100-SXM2-16GB"})["precision"] == "fp16");
  CHECK(json_of({"describe", "GTX-1080-Ti"})["precision"] == "fp32");
  const Json fitted = json_of({"describe", "A100-SXM4-80GB", "--precision", "fp16"});
  CHECK(fitted["host"]["launch_s"] > 0);
  CHECK_FALSE(fitted["fit"].get<std::string>().empty());
  CHECK(json_of({"describe", "A100-SXM4-80GB", "--precision", "tf32"})["fit"] == "");
  const std::string narrow = run({"describe", "H100-SXM5-80GB", "--precision", "fp8"}).out;
  CHECK(narrow.find("66.0 % in linear layers") != std::string::npos);
  const std::string file = kRoot + "/tests/vectors/good/device_full.yaml";
  CHECK(json_of({"describe", file, "--precision", "fp32"})["precision"] == "fp32");
  CHECK(run({"describe", file, "--granularity", "block"}).code == 2);
}

TEST_CASE("list: networks are the architectures") {
  CHECK(run({"list", "networks"}).code == 0);
  CHECK(run({"list", "networks"}).out == run({"list", "architectures"}).out);
}

TEST_CASE("plan: a configuration file is a network like one known by name") {
  const Folder folder;
  const std::string config = kRoot + "/tests/vectors/good/config_llama2_7b.json";
  const auto planned = [&](const std::string& model, const std::string& file) {
    const Ran ran = run({"plan", "--model", model, "--platform", "dgx-a100", "--planner", "uniform", "--tensor", "4",
                         "--sequence", "2048", "--microbatches", "8", "--no-timings", "-o", folder.file(file)});
    CHECK(ran.code == 0);
    return ran;
  };
  const Ran of_file = planned(config, "config.yaml");
  const Ran known = planned("llama2-7b", "known.yaml");
  CHECK(of_file.out.substr(of_file.out.find('\n')) == known.out.substr(known.out.find('\n')));  // but for the name
  const Ran simulated = run({"simulate", folder.file("config.yaml"), "--model", config, "--no-timings"});
  CHECK(simulated.code == 0);
  CHECK(simulated.out == run({"simulate", folder.file("known.yaml"), "--no-timings"}).out);
}

TEST_CASE("plan: a speed of the only kind, whose times the model has, changes nothing and a note says so") {
  const auto plan_on = [](const std::string& platform) {
    return run({"plan", "--model", "gpt2-small", "--platform", platform, "--planner", "uniform", "--no-timings",
                "--speed", "A100-SXM4-40GB=2"});
  };
  CHECK(plan_on("dgx-a100").err.find("--speed A100-SXM4-40GB=2 changes nothing") != std::string::npos);
  CHECK(plan_on("mixed-v100-a100").err.find("changes nothing") == std::string::npos);
}

TEST_CASE("plan: uniform plans within a node where nodes are not connected") {
  const std::string good = kRoot + "/tests/vectors/good/";
  const Ran ran = run({"plan", "--model", good + "model_toy.yaml", "--platform", good + "platform_islands.yaml",
                       "--planner", "uniform", "--no-timings"});
  CHECK(ran.code == 0);
  CHECK(ran.err.find("2 of 4 devices stand idle") != std::string::npos);
}

TEST_CASE("plan: a refusal says when weights, gradients and optimizer alone are too much") {
  const auto stages = [](const std::string& recipe, const std::string& model) {
    return run({"plan", "--model", model, "--platform", "dgx-a100", "--planner", "uniform", "--set", "stages=1",
                "--training", "recipe=" + recipe})
        .out;
  };
  // 18 bytes of each of 8,030,261,248 parameters.
  CHECK(stages("mixed", "llama3-8b")
            .find("weights, gradients and optimizer alone take 135 GiB, which more stages, --zero 1 or another "
                  "--training recipe=NAME make less") != std::string::npos);
  CHECK(stages("mixed", "gpt2-small").find("alone take") == std::string::npos);
}

TEST_CASE("model: the shipped profiles come out of the program byte by byte") {
  const Ran ran =
      run({"model", "vgg16", "--device", "V100-SXM2-16GB", "--precision", "fp32", "--microbatch-size", "32"});
  CHECK(ran.out == read_text_file(kRoot + "/traces/vgg16.yaml"));
  CHECK(run({"model", "vgg1", "--device", "A", "--microbatch-size", "1"}).err.find("did you mean 'vgg16'?") !=
        std::string::npos);
  CHECK(run({"model", "vgg16", "--device", "V100", "--microbatch-size", "1"}).err.find("--device: no file") !=
        std::string::npos);
  CHECK(run({"model", "vgg16", "--device", "V100-SXM2-16GB", "--microbatch-size", "0"}).code == 2);
}

TEST_CASE("model: computes in the precision that plan takes for a network by name") {
  const auto precision_on = [](const std::vector<std::string>& more) {
    std::vector<std::string> words{"model", "--microbatch-size", "1"};
    words.insert(words.end(), more.begin(), more.end());
    return parse_model(run(words).out, "model").profiles.at(0).precision;
  };
  const std::string config = kRoot + "/tests/vectors/good/config_llama2_7b.json";
  CHECK(precision_on({"gpt2-small", "--device", "A100-SXM4-40GB"}) == "bf16");
  CHECK(precision_on({"--config", config, "--device", "A100-SXM4-40GB"}) == "bf16");
  CHECK(precision_on({"gpt2-small", "--device", "V100-SXM2-16GB"}) == "fp16");  // no bf16
  CHECK(precision_on({"gpt2-small", "--device", "GTX-1080-Ti"}) == "fp32");     // neither
  CHECK(precision_on({"gpt2-small", "--device", "A100-SXM4-40GB", "--precision", "tf32"}) == "tf32");
  const std::string device = kRoot + "/tests/vectors/good/device_full.yaml";
  CHECK(precision_on({"gpt2-small", "--device", device}) ==
        to_string(parse_device(read_text_file(device), device).precision));
}

TEST_CASE("model: several sizes make a profile of each, as by themselves") {
  const Folder folder;
  const std::string net = folder.file("net.yaml",
                                      "schema: stagecraft/architecture/1\narchitecture: tiny\nfamily: gpt\nlayers: 2\n"
                                      "hidden: 64\nheads: 4\nsequence: 32\nvocabulary: 100\n");
  const auto made = [&](const std::string& sizes) {
    return run({"model", net, "--device", "V100-SXM2-16GB", "--microbatch-size", sizes});
  };
  const Model all = parse_model(made("4,1,2").out, "model");
  REQUIRE(all.profiles.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(all.profiles[i] == parse_model(made(std::to_string(1 << i)).out, "model").profiles.at(0));
  }
  CHECK(made("1,2,1").err.find("the size 1 comes twice") != std::string::npos);
  CHECK(made("1,,2").code == 2);
  const Ran known = run({"model", "vgg16", "--device", "V100-SXM2-16GB", "--microbatch-size", "1,2"});
  CHECK(known.err.find("knows all sizes from one") != std::string::npos);
}

TEST_CASE("model: the granularity decides what a layer is") {
  const auto layers = [](const std::string& granularity) {
    const Ran ran =
        run({"model", "bert-base", "--device", "RTX-2080-Ti", "--microbatch-size", "1", "--granularity", granularity});
    CHECK(ran.code == 0);
    return parse_model(ran.out, "model").profiles.at(0).layers.size();
  };
  CHECK(layers("block") == 1 + 12 + 1);
  CHECK(layers("layer") == 1 + 12 * 2 + 1);
  CHECK(layers("residual") == 12 * 2 + 1);             // the embedding belongs to the first half
  CHECK(layers("operator") == 6 + 12 * (12 + 6) + 2);  // three tables; 12 operators of attention, 6 of the MLP
  CHECK(run({"model", "bert-base", "--device", "RTX-2080-Ti", "--microbatch-size", "1", "--granularity", "atom"})
            .err.find("operator") != std::string::npos);
}

TEST_CASE("model, import: a file is written as YAML or as JSON, and both read back alike") {
  const Folder folder;
  for (const char* name : {"m.yaml", "m.json"}) {
    const Json answer = json_of({"model", "vgg16", "--device", "V100-SXM2-16GB", "--microbatch-size", "32",
                                 "--granularity", "block", "-o", folder.file(name)});
    CHECK(answer.at("model") == "vgg16");
  }
  CHECK(read_model_file(folder.file("m.yaml")) == read_model_file(folder.file("m.json")));
  const std::string profile =
      folder.file("toy.txt",
                  "node1 -- Linear -- forward_compute_time=1.5, backward_compute_time=3.0, activation_size=8.0, "
                  "parameter_size=100.0\n");
  const std::string model = folder.file("toy.yaml");
  const Ran ran = run({"import", "pipedream", profile, "--microbatch-size", "4", "--device", "A", "-o", model});
  CHECK(ran.code == 0);
  CHECK(read_model_file(model).profiles.at(0).layers.items().at(0).forward.value() == doctest::Approx(1.5e-3));
  CHECK(run({"import", "torch", profile, "--microbatch-size", "4", "--device", "A"}).code == 2);
}

TEST_CASE("simulate: a timeline is drawn, and listed as JSON") {
  const Folder folder;
  const std::string plan = folder.file("plan.yaml", kPlan);
  const Ran drawn = run(simulate(plan, {"--transfers"}));
  CHECK(drawn.code == 0);
  CHECK(drawn.out.find("\ngpu0       F0") != std::string::npos);
  CHECK(drawn.out.find("\ngpu0->gpu1 ") != std::string::npos);
  const Json timeline = json_of(simulate(plan, {"--timeline"})).at("timeline");
  CHECK(timeline.size() == 16);  // setup, 4 forwards, 4 backwards, 2 activations, 2 gradients, 2 updates, barrier
  CHECK(json_of(simulate(plan, {})).contains("timeline") == false);
}

TEST_CASE("simulate: the orders of a schedule file, and their refusal") {
  const Folder folder;
  const std::string plan = folder.file("plan.yaml", kPlan);
  const auto with = [&](const std::string& devices) {
    const std::string file = folder.file("orders.yaml", "schema: stagecraft/schedule/1\ndevices: " + devices + "\n");
    return run(simulate(plan, {"--schedule-file", file, "--json", "--no-timings"}));
  };
  const Json gpipe = Json::parse(run(simulate(plan, {"--json"})).out);
  const Json same = Json::parse(with("{gpu0: [F0.0..1, B0.0..1], gpu1: [F1.0..1, B1.0..1]}").out);
  CHECK(same.at("schedule") == "literal");
  CHECK(same.at("iteration_time_s") == gpipe.at("iteration_time_s"));
  const Ran lacking = with("{gpu0: [F0.0..1, B0.0], gpu1: [F1.0..1, B1.0..1]}");
  CHECK(lacking.code == 2);
  CHECK(Json::parse(lacking.out).at("error").at("message") ==
        "the orders do not fit the plan: gpu0 lacks the backward of microbatch 1 of stage 0");
  const Ran circle = with("{gpu0: [F0.0, B0.0, F0.1, B0.1], gpu1: [F1.0..1, B1.0..1]}");
  CHECK(circle.code == 2);
  CHECK(Json::parse(circle.out).at("error").at("message") ==
        "the orders do not fit the plan: the schedule deadlocks: gpu0 at the backward of microbatch 0 of stage 0 waits "
        "for "
        "the backward of microbatch 0 of stage 1 on gpu1; gpu1 at the forward of microbatch 1 of stage 1 waits for the "
        "forward of microbatch 1 of stage 0 on gpu0");
}

}  // namespace
}  // namespace stagecraft::verbs_test
