#include "sim/workload/image_catalogue.hpp"

#include "sim/workload/alexnet.hpp"
#include "sim/workload/amoebanet.hpp"
#include "sim/workload/densenet.hpp"
#include "sim/workload/inception.hpp"
#include "sim/workload/resnet.hpp"
#include "sim/workload/vgg.hpp"
#include "sim/workload/vit.hpp"

#include <array>

namespace stagecraft {
namespace {

Architecture vgg_at(const std::string& name, VggSize size, std::int64_t image) {
  size.image = image;
  return vgg(name, size);
}

constexpr auto kNetworks = std::to_array<ImageNetwork>({
    {"alexnet", 224, [](const std::string& name, std::int64_t image) { return alexnet(name, {.image = image}); }},
    {"vgg16", 224, [](const std::string& name, std::int64_t image) { return vgg_at(name, vgg16_size(), image); }},
    {"vgg19", 224, [](const std::string& name, std::int64_t image) { return vgg_at(name, vgg19_size(), image); }},
    {"resnet50", 224,
     [](const std::string& name, std::int64_t image) {
       return resnet(name, {.blocks = {3, 4, 6, 3}, .image = image});
     }},
    {"resnet101", 224,
     [](const std::string& name, std::int64_t image) {
       return resnet(name, {.blocks = {3, 4, 23, 3}, .image = image});
     }},
    {"resnet152", 224,
     [](const std::string& name, std::int64_t image) {
       return resnet(name, {.blocks = {3, 8, 36, 3}, .image = image});
     }},
    {"inception-v3", 299,
     [](const std::string& name, std::int64_t image) { return inception_v3(name, {.image = image}); }},
    {"densenet121", 224,
     [](const std::string& name, std::int64_t image) {
       return densenet(name, {.blocks = {6, 12, 24, 16}, .image = image});
     }},
    {"amoebanet-d-18-208", 224,
     [](const std::string& name, std::int64_t image) { return amoebanet(name, {.filters = 208, .image = image}); }},
    {"amoebanet-d-18-256", 224,
     [](const std::string& name, std::int64_t image) { return amoebanet(name, {.filters = 256, .image = image}); }},
    // Table 1 of arXiv:2010.11929.
    {"vit-b-16", 224, [](const std::string& name, std::int64_t image) { return vit(name, {.image = image}); }},
    {"vit-l-16", 224,
     [](const std::string& name, std::int64_t image) {
       return vit(name, {.layers = 24, .hidden = 1024, .heads = 16, .image = image});
     }},
    {"vit-h-14", 224,
     [](const std::string& name,
        std::int64_t
            image) { return vit(name, {.layers = 32, .hidden = 1280, .heads = 16, .patch = 14, .image = image}); }},
});

}  // namespace

std::span<const ImageNetwork> image_networks() { return kNetworks; }

}  // namespace stagecraft
