#include "sim/io/hf_vit.hpp"

#include "sim/io/hf_families.hpp"
#include "sim/io/yaml_values.hpp"

#include <fmt/core.h>

namespace stagecraft {
namespace {

constexpr VitSize kMostOfVit = largest_vit();
constexpr std::int64_t kUsualLabels = 2;  ///< of the library's configurations

std::int64_t count_labels(const YamlNode& labels) {
  const auto count = static_cast<std::int64_t>(labels.entries().size());
  if (count < 1 || count > kMostOfVit.classes) {
    labels.fail(fmt::format("expected from 1 to {} labels, found {}", kMostOfVit.classes, count));
  }
  return count;
}

/// The labels of the file, or their number.
std::int64_t classes_of(HfKeys& keys, std::vector<std::string>& notes) {
  const auto labels = keys.find({"id2label"});
  const auto number = keys.find({"num_labels"});
  if (!labels && !number) {
    notes.push_back(
        fmt::format("the head has {} classes, because the file has neither 'id2label' nor 'num_labels'", kUsualLabels));
    return kUsualLabels;
  }
  const std::int64_t given = number ? read_count(*number, 1, kMostOfVit.classes) : 0;
  if (!labels) return given;
  const std::int64_t count = count_labels(*labels);
  if (number && given != count) number->fail_expected(fmt::format("the number of labels in 'id2label', {}", count));
  return count;
}

/// The original network has none.
void note_hidden_dropout(HfKeys& keys, std::vector<std::string>& notes) {
  const auto rate = keys.find({"hidden_dropout_prob"});
  if (!rate || read_number(*rate) == 0) return;
  notes.emplace_back("'hidden_dropout_prob' is left out: a Vision Transformer has no dropouts here");
}

}  // namespace

VitSize read_hf_vit(HfKeys& keys, std::vector<std::string>& notes) {
  VitSize size;
  size.layers = keys.require("layers", {"num_hidden_layers"}, kMostOfVit.layers);
  size.hidden = keys.require("hidden", {"hidden_size"}, kMostOfVit.hidden);
  size.heads = keys.require("heads", {"num_attention_heads"}, kMostOfVit.heads);
  size.feed_forward = keys.require("feed_forward", {"intermediate_size"}, kMostOfVit.feed_forward);
  size.image = keys.require("image", {"image_size"}, kMostOfVit.image);
  size.patch = keys.require("patch", {"patch_size"}, kMostOfVit.patch);
  keys.take("channels", {"num_channels"}, kMostOfVit.channels, size.channels);
  size.qkv_bias = keys.flag("qkv_bias", true);
  require_hf_gelu(keys);
  size.classes = classes_of(keys, notes);
  note_hidden_dropout(keys, notes);
  keys.ignore({"encoder_stride", "pooler_act", "pooler_output_size", "problem_type"});
  if (size.hidden % size.heads != 0) keys.refuse({"hidden", fmt::format("a multiple of 'heads', {}", size.heads)});
  if (size.patch > size.image) keys.refuse({"patch", fmt::format("at most 'image', {}", size.image)});
  return size;
}

}  // namespace stagecraft
