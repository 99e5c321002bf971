#include "sim/io/architecture_file.hpp"

#include "sim/io/architecture_decoders.hpp"
#include "sim/io/architecture_images.hpp"
#include "sim/io/architecture_sequences.hpp"
#include "sim/io/yaml_values.hpp"

namespace stagecraft {
namespace {

using ReadFamily = Architecture (*)(const YamlNode& root, const std::string& name);

}  // namespace

Architecture parse_architecture(std::string_view text, const std::string& file_name) {
  const YamlNode root = parse_yaml(text, file_name);
  check_schema(root, "stagecraft/architecture/1");
  const std::string name = read_name(root.at("architecture"));
  const auto read_family = read_choice<ReadFamily>(root.at("family"), {{"alexnet", read_alexnet},
                                                                       {"vgg", read_vgg},
                                                                       {"resnet", read_resnet},
                                                                       {"inception-v3", read_inception},
                                                                       {"densenet", read_densenet},
                                                                       {"amoebanet", read_amoebanet},
                                                                       {"vit", read_vit},
                                                                       {"bert", read_bert},
                                                                       {"gpt", read_gpt},
                                                                       {"gnmt", read_gnmt},
                                                                       {"transformer", read_transformer},
                                                                       {"t5", read_t5},
                                                                       {"xlnet", read_xlnet},
                                                                       {"llama", read_llama},
                                                                       {"mistral", read_mistral},
                                                                       {"qwen2", read_qwen2},
                                                                       {"qwen3", read_qwen3},
                                                                       {"mixtral", read_mixtral},
                                                                       {"deepseek", read_deepseek},
                                                                       {"neox", read_neox},
                                                                       {"falcon", read_falcon},
                                                                       {"opt", read_opt},
                                                                       {"bloom", read_bloom}});
  Architecture net = read_family(root, name);
  if (const auto source = root.find("source")) net.source = read_text(*source);
  return net;
}

}  // namespace stagecraft
