#include "sim/io/import_pipedream.hpp"

#include "sim/base/index.hpp"
#include "sim/io/model_file.hpp"
#include "sim/io/text_file.hpp"

#include <cstddef>
#include <utility>
#include <vector>

namespace stagecraft {

Model import_pipedream(const PipedreamGraph& file, std::int64_t microbatch_size, const std::string& device_kind) {
  LayerGraph graph;
  graph.source = "imported from the PipeDream graph " + file_stem(file.file_name);
  std::vector<LayerId> ids(file.nodes.size());
  for (std::size_t i = 0; i < file.nodes.size(); ++i) {
    if (!file.nodes[i].dropped) ids[i] = graph.layers.push_back(file.nodes[i].layer);
  }
  for (const PipedreamEdge& edge : file.edges) {
    if (file.nodes[edge.from].dropped || file.nodes[edge.to].dropped) continue;
    graph.edges.push_back({ids[edge.from], ids[edge.to], file.nodes[edge.from].layer.output});
  }
  return measured_model(std::move(graph), file.file_name, microbatch_size, device_kind);
}

Model import_pipedream(std::string_view text, const std::string& file_name, std::int64_t microbatch_size,
                       const std::string& device_kind) {
  return import_pipedream(parse_pipedream_graph(text, file_name), microbatch_size, device_kind);
}

}  // namespace stagecraft
