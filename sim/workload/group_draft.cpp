#include "sim/workload/group_draft.hpp"

#include "sim/base/error.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace stagecraft {
namespace {

constexpr std::int64_t kLossBytes = 4;  ///< of a maximum, a sum or a logit of a token, fp32

bool is_group(const Draft& draft) { return draft.degrees.tensor > 1; }

bool divides_tokens(const Draft& draft) { return is_group(draft) && draft.degrees.sequence; }

void hold_gathered(Draft& draft, OperatorId reader, Rows whole) {
  GroupPart& part = draft.net.operators[reader].kernel.group;
  part.gathered_values = whole.values();
  part.gathered_part = own_rows(draft, whole).values();
}

void reduce_in_loss(Draft& draft, OperatorId id, std::int64_t tokens) {
  if (is_group(draft)) add_exchange_of(draft, id, {.bytes = kLossBytes * tokens});
}

bool is_divisible(const DividedCount& each, std::int64_t members) {
  return each.count % members == 0 || (each.is_copied && members % each.count == 0);
}

/// The degrees that divide all of them.
std::string possible_degrees(const std::vector<DividedCount>& counts) {
  std::string list = "1";
  for (std::int64_t members = 2; members <= counts.front().count; ++members) {
    const bool fits =
        std::ranges::all_of(counts, [&](const DividedCount& each) { return is_divisible(each, members); });
    if (fits) list += ", " + std::to_string(members);
  }
  return list;
}

}  // namespace

void add_exchange_of(Draft& draft, OperatorId id, const OperatorExchange& exchange) {
  draft.net.operators[id].kernel.group.exchanges.push_back(exchange);
}

Rows own_rows(const Draft& draft, Rows whole) {
  return {divides_tokens(draft) ? whole.count / draft.degrees.tensor : whole.count, whole.width};
}

OperatorId add_entry_product(Draft& draft, const std::string& name, OperatorId input, Rows from, std::int64_t to,
                             Bias bias) {
  const OperatorId product = add_linear(draft, name, input, from, to, bias);
  make_entry(draft, product, from);
  return product;
}

void make_entry(Draft& draft, OperatorId product, Rows from) {
  if (!is_group(draft)) return;
  GroupPart& part = draft.net.operators[product].kernel.group;
  if (divides_tokens(draft)) hold_gathered(draft, product, from);
  const TensorReader reader{draft.net.operators[product].inputs.front(), draft.label.layer};
  if (reader == draft.gathered) return;
  draft.gathered = reader;
  if (!divides_tokens(draft)) {
    part.exchanges.push_back({.kind = Exchange::Kind::AllReduce, .backward = true, .values = from.values()});
    return;
  }
  // The gradient of the weights needs the whole input again.
  part.exchanges.push_back({.kind = Exchange::Kind::AllGather, .values = from.values()});
  part.exchanges.push_back(
      {.kind = Exchange::Kind::AllGather, .backward = true, .hidden = true, .values = from.values()});
  part.exchanges.push_back({.kind = Exchange::Kind::ReduceScatter, .backward = true, .values = from.values()});
}

void gather(Draft& draft, OperatorId reader, Rows whole) {
  if (!divides_tokens(draft)) return;
  hold_gathered(draft, reader, whole);
  add_exchange_of(draft, reader, {.kind = Exchange::Kind::AllGather, .values = whole.values()});
}

// NOLINTNEXTLINE(readability-function-size): the parameters of `add_linear`, and what becomes of the sum
OperatorId add_exit_product(Draft& draft, const std::string& name, OperatorId input, Rows from, std::int64_t to,
                            Bias bias, Sum sum) {
  const OperatorId product = add_linear(draft, name, input, from, to, bias);
  const Rows whole{from.count, to};
  make_exit(draft, product, whole);
  if (sum == Sum::WithAnother) draft.net.operators[product].kernel.group.exchanges.clear();
  return product;
}

void make_exit(Draft& draft, OperatorId made, Rows whole) {
  Operator& op = draft.net.operators[made];
  if (divides_tokens(draft)) {
    op.kernel.group.made_values = whole.values();
    op.output_values = own_rows(draft, whole).values();
  }
  exchange_sum(draft, made, whole);
}

void exchange_sum(Draft& draft, OperatorId made, Rows whole) {
  if (!is_group(draft)) return;
  if (!divides_tokens(draft)) {
    add_exchange_of(draft, made, {.kind = Exchange::Kind::AllReduce, .values = whole.values()});
    return;
  }
  add_exchange_of(draft, made, {.kind = Exchange::Kind::ReduceScatter, .values = whole.values()});
  add_exchange_of(draft, made, {.kind = Exchange::Kind::AllGather, .backward = true, .values = whole.values()});
}

OperatorId add_group_loss(Draft& draft, OperatorId logits, std::int64_t tokens, std::int64_t vocabulary) {
  const OperatorId loss = add_loss(draft, logits, tokens, vocabulary);
  const OperatorId softmax = draft.net.operators[loss].inputs.front();
  reduce_in_loss(draft, softmax, tokens);  // the largest logit
  reduce_in_loss(draft, softmax, tokens);  // the sum of exponentials
  reduce_in_loss(draft, loss, tokens);     // the logit of the right word
  return loss;
}

std::int64_t vocabulary_rows(std::int64_t vocabulary, const Degrees& degrees) {
  const std::int64_t step = degrees.vocabulary_multiple * degrees.tensor;
  return (vocabulary + step - 1) / step * degrees.vocabulary_multiple;
}

void require_divisible(const std::string& network, const std::vector<DividedCount>& counts, std::int64_t sequence,
                       const Degrees& degrees) {
  std::vector<DividedCount> all = counts;
  const char* tokens = degrees.context > 1 ? "tokens of a sample on each context rank" : "tokens of a sample";
  if (degrees.sequence) all.push_back({tokens, sequence});
  for (const DividedCount& each : all) {
    if (is_divisible(each, degrees.tensor)) continue;
    const bool is_few = each.is_copied && each.count < degrees.tensor;
    const std::string possible = possible_degrees(all);
    const std::string without = possible_degrees(counts);
    std::string hint = "degrees that divide it: " + possible;
    if (without != possible) hint += "; without sequence parallelism (--sequence-parallel false): " + without;
    throw InputError(fmt::format("{} cannot be divided into a tensor group of {} devices: its number of {}, {}, {} {}",
                                 network, degrees.tensor, each.what, each.count,
                                 is_few ? "does not divide" : "is not a multiple of", degrees.tensor),
                     {}, hint);
  }
}

}  // namespace stagecraft
