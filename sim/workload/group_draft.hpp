#pragma once

#include "sim/workload/draft.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace stagecraft {

/// Drafts of what one member of a group has (`Draft::degrees`). In a group of one device each function appends
/// what its namesake in draft.hpp does.
///
/// Each half of a block begins with products that read the vectors of all tokens and ends with products whose outputs
/// the members add up. Between halves each member has all vectors, or with sequence parallelism those of its tokens.

/// Adds an exchange to an operator that has been added.
void add_exchange_of(Draft& draft, OperatorId id, const OperatorExchange& exchange);

/// The vectors that a member of a tensor group keeps of these between halves.
[[nodiscard]] Rows own_rows(const Draft& draft, Rows whole);

/// A product that begins a half: it reads `from`, the vectors of all tokens, and makes rows of `to` values. The first
/// of a layer that reads a tensor gathers it, and adds up its gradient.
OperatorId add_entry_product(Draft& draft, const std::string& name, OperatorId input, Rows from, std::int64_t to,
                             Bias bias);

/// Likewise, for a product that has been added.
void make_entry(Draft& draft, OperatorId product, Rows from);

/// An operator that reads some of these vectors, all members the same: each of them gathers all, and takes its part of
/// the gradient.
void gather(Draft& draft, OperatorId reader, Rows whole);

enum class Sum { Here, WithAnother };

/// A product that ends a half: the sum of what the members make is its output. It is not exchanged for this product if
/// another one's is added to it before.
OperatorId add_exit_product(Draft& draft, const std::string& name, OperatorId input, Rows from, std::int64_t to,
                            Bias bias, Sum sum = Sum::Here);

/// The members add up what the operator makes, the vectors of all tokens, `whole`; its output is what each keeps.
void make_exit(Draft& draft, OperatorId made, Rows whole);

/// The members add up `whole`, the output or what it is a part of.
void exchange_sum(Draft& draft, OperatorId made, Rows whole);

/// `log_softmax` and `loss` over the vocabulary, of which each member has `vocabulary` rows.
OperatorId add_group_loss(Draft& draft, OperatorId logits, std::int64_t tokens, std::int64_t vocabulary);

/// The rows of a table of words that a member has, padded to a multiple.
[[nodiscard]] std::int64_t vocabulary_rows(std::int64_t vocabulary, const Degrees& degrees);

/// A number of a network that the members of a tensor group divide among themselves.
struct DividedCount {
  std::string what;
  std::int64_t count = 0;
  bool is_copied = false;  ///< where there are fewer than members, each is on several
};

/// **Throws** InputError if the members of a tensor group cannot divide one of them, or with sequence parallelism their
/// vectors of a sample, `sequence`. The hint has the degrees that would do.
void require_divisible(const std::string& network, const std::vector<DividedCount>& counts, std::int64_t sequence,
                       const Degrees& degrees);

}  // namespace stagecraft
