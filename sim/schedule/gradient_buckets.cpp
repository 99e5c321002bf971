#include "sim/schedule/gradient_buckets.hpp"

#include "sim/schedule/stage_program.hpp"

#include <algorithm>

namespace stagecraft {

std::vector<GradientBucket> gradient_buckets(const std::vector<Bytes>& exchanged, const std::vector<LayerId>& layers,
                                             Bytes size, const std::vector<Bytes>& experts) {
  std::vector<GradientBucket> buckets;
  for (std::size_t i = layers.size(); i-- > 0;) {
    const Bytes bytes = exchanged[i];
    if (bytes == Bytes(0)) continue;
    const bool fits = !buckets.empty() && (size == Bytes(0) || buckets.back().bytes + bytes <= size);
    if (!fits) buckets.emplace_back();
    buckets.back().bytes += bytes;
    buckets.back().completed_by = layers[i];
    if (!experts.empty()) buckets.back().experts += experts[i];
  }
  if (size == Bytes(0) && !buckets.empty()) buckets.back().completed_by = layers.front();
  return buckets;
}

std::vector<Bytes> ring_bytes(const std::vector<Bytes>& buckets, std::int64_t replicas) {
  std::vector<Bytes> bytes;
  Bytes before;
  for (const Bytes bucket : buckets) {
    bytes.push_back(ring_bytes(before + bucket, replicas) - ring_bytes(before, replicas));
    before += bucket;
  }
  return bytes;
}

Seconds exposed_all_reduce(const std::vector<BackwardStep>& steps, const std::vector<Seconds>& all_reduces) {
  std::size_t next = 0;  // bucket to be completed
  Seconds left;          // of the all-reduces so far, when a step ends; negative: they have ended before
  for (const BackwardStep& step : steps) {
    left = left - (step.recompute + step.backward);
    for (std::size_t i = 0; i < step.completes; ++i) left = std::max(left, Seconds(0)) + all_reduces[next++];
  }
  return std::max(left, Seconds(0));
}

}  // namespace stagecraft
