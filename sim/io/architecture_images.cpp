#include "sim/io/architecture_images.hpp"

#include "sim/base/error.hpp"
#include "sim/io/yaml_values.hpp"
#include "sim/workload/alexnet.hpp"
#include "sim/workload/amoebanet.hpp"
#include "sim/workload/densenet.hpp"
#include "sim/workload/image_draft.hpp"
#include "sim/workload/inception.hpp"
#include "sim/workload/resnet.hpp"
#include "sim/workload/vgg.hpp"
#include "sim/workload/vit.hpp"

#include <functional>
#include <iterator>
#include <vector>

namespace stagecraft {
namespace {

/// The value of a key, or `otherwise` if the key is missing.
void read_size(const YamlNode& root, std::string_view key, std::int64_t& size, std::int64_t most,
               std::int64_t least = 1) {
  if (const auto node = root.find(key)) size = read_count(*node, least, most);
}

void read_image_and_classes(const YamlNode& root, std::int64_t& image, std::int64_t& classes) {
  read_size(root, "image", image, ImageLimits::kPixels);
  read_size(root, "classes", classes, ImageLimits::kOutputs);
}

std::vector<std::int64_t> read_counts(const YamlNode& node, std::int64_t most_items, std::int64_t most) {
  std::vector<std::int64_t> counts;
  for (const YamlNode& item : node.items()) counts.push_back(read_count(item, 1, most));
  if (counts.empty()) node.fail("expected at least one count, found none");
  if (std::ssize(counts) > most_items) {
    node.fail("expected at most " + std::to_string(most_items) + " counts, found " + std::to_string(counts.size()));
  }
  return counts;
}

/// A count that is a multiple of `multiple`.
void read_multiple(const YamlNode& root, std::string_view key, std::int64_t& size, std::int64_t most,
                   std::int64_t multiple) {
  const auto node = root.find(key);
  if (!node) return;
  size = read_count(*node, 1, most);
  if (size % multiple != 0) node->fail_expected("a multiple of " + std::to_string(multiple));
}

/// Builds the network. All sizes are within their bounds, so if the network refuses something, it is the image. The
/// message then names the place of the image; if it is not given, the first key of `shrinking`, which makes the network
/// need more pixels.
Architecture made(const YamlNode& root, std::string_view shrinking, const std::function<Architecture()>& make) {
  try {
    return make();
  } catch (const InputError& error) {
    if (const auto image = root.find("image")) image->fail(error.message());
    root.at(shrinking).fail(error.message());
  }
}

std::vector<std::int64_t> read_vgg_block(const YamlNode& node) {
  std::vector<std::int64_t> channels;
  for (const YamlNode& item : node.items()) channels.push_back(read_count(item, 1, VggLimits::kChannels));
  if (channels.empty()) node.fail("expected at least one convolution, found none");
  if (std::ssize(channels) > VggLimits::kConvolutions) node.fail("expected at most 1000 convolutions, found more");
  return channels;
}

}  // namespace

Architecture read_alexnet(const YamlNode& root, const std::string& name) {
  root.allow_keys({"schema", "architecture", "family", "source", "image", "hidden", "classes"});
  AlexnetSize size;
  read_image_and_classes(root, size.image, size.classes);
  read_size(root, "hidden", size.hidden, ImageLimits::kOutputs);
  return made(root, "family", [&] { return alexnet(name, size); });
}

Architecture read_amoebanet(const YamlNode& root, const std::string& name) {
  root.allow_keys({"schema", "architecture", "family", "source", "cells", "filters", "image", "classes"});
  AmoebanetSize size;
  read_multiple(root, "cells", size.cells, AmoebanetLimits::kCells, AmoebanetLimits::kCellMultiple);
  read_multiple(root, "filters", size.filters, AmoebanetLimits::kFilters, AmoebanetLimits::kFilterMultiple);
  read_image_and_classes(root, size.image, size.classes);
  return amoebanet(name, size);  // its paddings leave something of any image
}

Architecture read_densenet(const YamlNode& root, const std::string& name) {
  root.allow_keys(
      {"schema", "architecture", "family", "source", "blocks", "growth", "width", "bottleneck", "image", "classes"});
  DensenetSize size;
  size.blocks = read_counts(root.at("blocks"), DensenetLimits::kBlocks, DensenetLimits::kLayers);
  read_size(root, "growth", size.growth, DensenetLimits::kGrowth);
  size.width = 2 * size.growth;
  read_size(root, "width", size.width, DensenetLimits::kWidth, 2);
  read_size(root, "bottleneck", size.bottleneck, DensenetLimits::kBottleneck);
  read_image_and_classes(root, size.image, size.classes);
  return made(root, "blocks", [&] { return densenet(name, size); });
}

Architecture read_inception(const YamlNode& root, const std::string& name) {
  root.allow_keys({"schema", "architecture", "family", "source", "image", "classes", "auxiliary"});
  InceptionSize size;
  read_image_and_classes(root, size.image, size.classes);
  if (const auto auxiliary = root.find("auxiliary")) size.auxiliary = read_bool(*auxiliary);
  return made(root, "family", [&] { return inception_v3(name, size); });
}

Architecture read_resnet(const YamlNode& root, const std::string& name) {
  root.allow_keys({"schema", "architecture", "family", "source", "blocks", "block", "width", "image", "classes"});
  ResnetSize size;
  size.blocks = read_counts(root.at("blocks"), ResnetLimits::kGroups, ResnetLimits::kBlocks);
  if (const auto block = root.find("block")) {
    size.block =
        read_choice<ResnetBlock>(*block, {{"basic", ResnetBlock::Basic}, {"bottleneck", ResnetBlock::Bottleneck}});
  }
  read_size(root, "width", size.width, ResnetLimits::kWidth);
  read_image_and_classes(root, size.image, size.classes);
  return resnet(name, size);  // its paddings leave something of any image
}

Architecture read_vgg(const YamlNode& root, const std::string& name) {
  root.allow_keys({"schema", "architecture", "family", "source", "blocks", "image", "hidden", "classes"});
  VggSize size;
  const YamlNode blocks = root.at("blocks");
  for (const YamlNode& block : blocks.items()) size.blocks.push_back(read_vgg_block(block));
  if (size.blocks.empty()) blocks.fail("expected at least one block, found none");
  read_image_and_classes(root, size.image, size.classes);
  read_size(root, "hidden", size.hidden, ImageLimits::kOutputs);
  return made(root, "blocks", [&] { return vgg(name, size); });
}

Architecture read_vit(const YamlNode& root, const std::string& name) {
  root.allow_keys({"schema", "architecture", "family", "source", "layers", "hidden", "heads", "feed_forward", "patch",
                   "image", "channels", "classes"});
  constexpr VitSize kMost = largest_vit();
  VitSize size;
  size.layers = read_count(root.at("layers"), 1, kMost.layers);
  const YamlNode hidden = root.at("hidden");
  size.hidden = read_count(hidden, 1, kMost.hidden);
  size.heads = read_count(root.at("heads"), 1, kMost.heads);
  if (size.hidden % size.heads != 0) hidden.fail_expected("a multiple of 'heads', " + std::to_string(size.heads));
  read_size(root, "feed_forward", size.feed_forward, kMost.feed_forward);
  read_size(root, "patch", size.patch, kMost.patch);
  read_size(root, "image", size.image, kMost.image);
  read_size(root, "channels", size.channels, kMost.channels);
  read_size(root, "classes", size.classes, kMost.classes);
  return made(root, "patch", [&] { return vit(name, size); });
}

}  // namespace stagecraft
