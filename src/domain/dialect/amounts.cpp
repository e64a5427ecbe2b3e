#include "domain/dialect/amounts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "domain/dialect/dialect.hpp"

namespace tessera {

std::optional<std::int64_t> amount_of(const Amounts& amounts, std::string_view resource) {
    for (const auto& [name, value] : amounts) {
        if (name == resource) return value;
    }
    return std::nullopt;
}

tl::unexpected<Error> refuse_amount(const ContainerSpec& container, std::string_view resource,
                                    std::string_view why) {
    return fail(Code::invalid_argument,
                fmt::format("container {}: {}: {}", container.name, resource, why));
}

Result<Amounts> read_amounts(const ContainerSpec& container,
                             std::span<const std::string_view> resources) {
    Amounts amounts;
    for (const auto& [name, text] : container.limits) {
        if (std::ranges::find(resources, name) == resources.end()) continue;
        auto value = parse_whole_quantity(text);
        if (!value) return refuse_amount(container, name, value.error().text);
        amounts.emplace_back(name, *value);
    }
    return amounts;
}

Result<Percent> read_cores(const ContainerSpec& container, const Amounts& amounts,
                           std::string_view resource) {
    const auto cores = amount_of(amounts, resource);
    if (!cores) return Percent{0};
    if (*cores < 1 || *cores > 100) {
        return refuse_amount(
            container, resource,
            fmt::format("{} is not a percentage of one GPU; write 1 to 100, or leave "
                        "it out for no guarantee",
                        *cores));
    }
    return Percent{static_cast<int>(*cores)};
}

Result<int> read_count(const ContainerSpec& container, std::string_view resource,
                       std::int64_t count) {
    if (count >= 1 && count <= kMaxGpusPerContainer) return static_cast<int>(count);
    return refuse_amount(container, resource,
                         fmt::format("{} GPUs; write 1 to {}", count, kMaxGpusPerContainer));
}

Result<std::int64_t> read_memory(const ContainerSpec& container, std::string_view resource,
                                 std::int64_t amount, std::int64_t most) {
    if (amount <= most) return amount;
    return refuse_amount(container, resource,
                         fmt::format("{} is more than any GPU has; is the unit right?", amount));
}

}  // namespace tessera
