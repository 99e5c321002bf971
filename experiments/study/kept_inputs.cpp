#include "experiments/study/kept_inputs.hpp"

#include <utility>

namespace stagecraft {
namespace {

/// The limit on the loading time of all kept inputs together. The loading time is a rough measure of their memory.
constexpr std::chrono::seconds kMostLoad(4);

/// The input that is kept under a key; null if there is none.
template <class Inputs>
auto find_kept(const Inputs& inputs, const std::string& key) {
  const auto found = inputs.find(key);
  return found == inputs.end() || !found->second ? nullptr : &*found->second;
}

}  // namespace

Inputs KeptInputs::inputs_of(const CellSpec& cell) const {
  const auto* kept_model = find_kept(models_, model_key(manifest_, cell));
  const auto* kept_platform = find_kept(platforms_, platform_key(cell));
  HashedInput<Model> model = kept_model == nullptr ? load_model(manifest_, cell) : *kept_model;
  HashedInput<Platform> platform = kept_platform == nullptr ? load_platform(manifest_, cell) : *kept_platform;
  return joined(std::move(model), std::move(platform));
}

bool KeptInputs::has(const CellSpec& cell) const {
  return find_kept(models_, model_key(manifest_, cell)) != nullptr &&
         find_kept(platforms_, platform_key(cell)) != nullptr;
}

void KeptInputs::mark_light(const CellSpec& cell) {
  models_.try_emplace(model_key(manifest_, cell));
  platforms_.try_emplace(platform_key(cell));
}

bool KeptInputs::keep(const CellSpec& cell) {
  const auto model = models_.find(model_key(manifest_, cell));
  const auto platform = platforms_.find(platform_key(cell));
  const bool lacks_model = model != models_.end() && !model->second;
  const bool lacks_platform = platform != platforms_.end() && !platform->second;
  if (!lacks_model && !lacks_platform) return false;
  if (load_time_ > kMostLoad) {  // drop everything that is loaded; the keys of light inputs stay known
    for (auto& [key, kept] : models_) kept.reset();
    for (auto& [key, kept] : platforms_) kept.reset();
    load_time_ = {};
  }
  const std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  if (lacks_model) model->second = load_model(manifest_, cell);
  if (lacks_platform) platform->second = load_platform(manifest_, cell);
  load_time_ += std::chrono::steady_clock::now() - start;
  return true;
}

}  // namespace stagecraft
