#include "domain/placement/policy.hpp"

#include <fmt/format.h>

#include <array>

#include "domain/placement/binpack.hpp"

namespace tessera {
namespace {

constexpr std::array kPolicies = {
    PolicyRow{"binpack", "best fit: the card with the least room that is enough, as gpushare does",
              binpack_policy},
};

}  // namespace

std::span<const PolicyRow> policies() {
    return kPolicies;
}

Result<const Policy*> find_policy(std::string_view name) {
    std::string names;
    for (const PolicyRow& row : kPolicies) {
        if (row.name == name) return &row.get();
        names += names.empty() ? "" : ", ";
        names += row.name;
    }
    return fail(Code::not_found, fmt::format("no policy \"{}\"; there is {}", name, names));
}

}  // namespace tessera
