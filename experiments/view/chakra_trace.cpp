#include "experiments/view/chakra_trace.hpp"

#include "experiments/view/protobuf_writer.hpp"
#include "sim/io/json.hpp"

#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>
#include <variant>

namespace stagecraft {
namespace {

constexpr const char* kSchemaVersion = "0.0.4";
constexpr std::uint64_t kAllReduceType = 0;  ///< `CollectiveCommType`

// The numbers of the fields, by message.
struct MetadataField {
  static constexpr std::uint32_t kVersion = 1, kAttribute = 2;
};
struct NodeField {
  static constexpr std::uint32_t kId = 1, kName = 2, kType = 3, kCtrlDeps = 4, kDataDeps = 5, kStart = 6, kDuration = 7,
                                 kAttribute = 10;
};
struct AttributeField {
  static constexpr std::uint32_t kName = 1, kInt32 = 7, kInt64 = 9, kUint64 = 13, kBool = 27, kString = 29;
};

/// An attribute of a node, with its value in the field of one of the integer types.
void add_attribute(ProtobufWriter& node, std::string_view name, std::uint32_t type, std::uint64_t value) {
  ProtobufWriter attribute;
  attribute.text(AttributeField::kName, name);
  attribute.number(type, value);
  node.message(NodeField::kAttribute, attribute);
}

void add_text(ProtobufWriter& to, std::uint32_t field, std::string_view name, std::string_view value) {
  ProtobufWriter attribute;
  attribute.text(AttributeField::kName, name);
  attribute.text(AttributeField::kString, value);
  to.message(field, attribute);
}

std::uint64_t microseconds(Seconds time) { return static_cast<std::uint64_t>(std::llround(time.value() * 1e6)); }

std::string group_name(std::uint32_t group) { return std::to_string(group + 1); }

/// What only some kinds of nodes have. Readers expect each attribute in the field of its type.
void add_movement(ProtobufWriter& message, const ChakraNode& node, DeviceId device) {
  const auto bytes = static_cast<std::uint64_t>(node.bytes.value());
  switch (node.kind) {
    case ChakraKind::Send:
    case ChakraKind::Receive: {
      const bool is_send = node.kind == ChakraKind::Send;
      add_attribute(message, "comm_size", AttributeField::kInt64, bytes);
      add_attribute(message, "comm_src", AttributeField::kInt32, (is_send ? device : node.peer).value());
      add_attribute(message, "comm_dst", AttributeField::kInt32, (is_send ? node.peer : device).value());
      add_attribute(message, "comm_tag", AttributeField::kInt32, node.tag);
      return;
    }
    case ChakraKind::Collective:
      add_attribute(message, "comm_type", AttributeField::kInt64, kAllReduceType);
      add_attribute(message, "comm_size", AttributeField::kInt64, bytes);
      add_text(message, NodeField::kAttribute, "pg_name", group_name(node.group));
      return;
    case ChakraKind::MemoryLoad:
    case ChakraKind::MemoryStore: add_attribute(message, "tensor_size", AttributeField::kUint64, bytes); return;
    case ChakraKind::Metadata:
    case ChakraKind::Compute: return;
  }
}

ProtobufWriter node_message(std::uint64_t id, const ChakraNode& node, DeviceId device) {
  ProtobufWriter message;
  message.number(NodeField::kId, id);
  message.text(NodeField::kName, node.name);
  message.number(NodeField::kType, static_cast<std::uint64_t>(node.kind));
  for (const std::uint32_t on : node.ctrl_deps) message.number(NodeField::kCtrlDeps, on);
  for (const std::uint32_t on : node.data_deps) message.number(NodeField::kDataDeps, on);
  message.number(NodeField::kStart, microseconds(node.start));
  message.number(NodeField::kDuration, microseconds(node.end) - microseconds(node.start));
  add_attribute(message, "is_cpu_op", AttributeField::kBool, 0);
  add_attribute(message, "microbatch", AttributeField::kInt64, node.microbatch);
  if (!node.stage.is_none()) add_attribute(message, "stage", AttributeField::kInt64, node.stage.value());
  add_movement(message, node, device);
  return message;
}

/// Stands in the file of a device without operations.
ProtobufWriter idle_message() {
  ProtobufWriter message;
  message.number(NodeField::kId, 0);
  message.text(NodeField::kName, "no operations");
  message.number(NodeField::kType, static_cast<std::uint64_t>(ChakraKind::Metadata));
  return message;
}

}  // namespace

std::string chakra_trace(DeviceId device, const ChakraRun& run, const Detail::Record& about) {
  ProtobufWriter metadata;
  metadata.text(MetadataField::kVersion, kSchemaVersion);
  for (const auto& [key, value] : about) {
    if (const auto* text = std::get_if<std::string>(&value.value)) {
      add_text(metadata, MetadataField::kAttribute, key, *text);
    }
  }
  ProtobufWriter file;
  file.delimited(metadata);
  const std::vector<ChakraNode>& nodes = run.devices[device];
  for (std::size_t i = 0; i < nodes.size(); ++i) file.delimited(node_message(i, nodes[i], device));
  if (nodes.empty()) file.delimited(idle_message());
  return file.bytes();
}

std::string chakra_groups(const ChakraRun& run) {
  Detail::Record groups;
  for (std::uint32_t group = 0; group < run.groups.size(); ++group) {
    Detail::List members;
    for (const DeviceId device : run.groups[group]) members.emplace_back(std::int64_t{device.value()});
    groups.emplace_back(group_name(group), std::move(members));
  }
  return to_json(Detail(std::move(groups)), -1);
}

}  // namespace stagecraft
