// Parts of reading a request that several dialects share. Errors are invalid_argument; they name
// the container and the resource, and say what to write instead.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/quantity.hpp"
#include "base/result.hpp"
#include "domain/request/container_spec.hpp"

namespace tessera {

// The amounts of one container by resource; a missing amount differs from zero.
using Amounts = std::vector<std::pair<std::string_view, std::int64_t>>;

std::optional<std::int64_t> amount_of(const Amounts& amounts, std::string_view resource);

tl::unexpected<Error> refuse_amount(const ContainerSpec& container, std::string_view resource,
                                    std::string_view why);

// The container's limits of these resources. Refuses malformed, negative and fractional quantities.
Result<Amounts> read_amounts(const ContainerSpec& container,
                             std::span<const std::string_view> resources);

// 0 if the container has no such limit.
Result<Percent> read_cores(const ContainerSpec& container, const Amounts& amounts,
                           std::string_view resource);

Result<int> read_count(const ContainerSpec& container, std::string_view resource,
                       std::int64_t count);

// More than any GPU has. The limit keeps all later multiplications within int64.
inline constexpr std::int64_t kMaxMemory = std::int64_t{1} << 50;

// Refuses amounts above `most`.
Result<std::int64_t> read_memory(const ContainerSpec& container, std::string_view resource,
                                 std::int64_t amount, std::int64_t most);

}  // namespace tessera
