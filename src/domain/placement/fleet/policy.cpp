#include "domain/placement/fleet/policy.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "domain/placement/fleet/best_fit.hpp"
#include "domain/placement/fleet/clustering.hpp"
#include "domain/placement/fleet/dot_product.hpp"
#include "domain/placement/fleet/expected_fill/expected_fill.hpp"
#include "domain/placement/fleet/fgd.hpp"
#include "domain/placement/fleet/packing.hpp"
#include "domain/placement/fleet/random.hpp"
#include "domain/placement/fleet/room_left.hpp"

namespace tessera {
namespace {

std::unique_ptr<FleetPolicy> learning(const PolicyInputs& inputs) {
    return expected_fill_policy(inputs, {}, true);
}

std::unique_ptr<FleetPolicy> knowing(const PolicyInputs& inputs) {
    return expected_fill_policy(inputs, {}, false);
}

constexpr auto kPolicies = std::to_array<FleetPolicyRow>({
    {"binpack", "the cards with the least room that is enough, as gpushare does",
     binpack_fleet_policy},
    {"spread", "the cards with the most room", spread_fleet_policy},
    {"best-fit", "the node with the least CPU and GPU left", best_fit_policy},
    {"dot-product", "the node whose free resources are least like the request", dot_product_policy},
    {"packing", "cards in use before free cards, nodes in use before free nodes", packing_policy},
    {"clustering", "beside tasks of the same number of cards", clustering_policy},
    {"fgd", "where the expected fragmentation grows least", fgd_policy, PolicyMix::told},
    {"expected-fill", "where what is to come fits best; learns that from what arrives", learning,
     PolicyMix::learnt},
    {"expected-fill-known-mix", "the same, told what is to come", knowing, PolicyMix::told, true},
    {"random", "any node and any cards that fit", random_policy},
});

// DotProd is the artefact's name of it (golden.csv).
constexpr std::string_view kDotProduct = "dot-product";
constexpr std::string_view kDotProductThere = "dotprod";

// "BestFit", "best_fit" and "best-fit" are one name: papers, and earlier versions of tessera-sim,
// have the first. Blanks at the ends are what a list with ", " leaves.
std::string plain(std::string_view name) {
    while (name.starts_with(' '))
        name.remove_prefix(1);
    while (name.ends_with(' '))
        name.remove_suffix(1);
    std::string out;
    for (const char c : name) {
        if (c == '-' || c == '_') continue;
        out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    return out == kDotProductThere ? plain(kDotProduct) : out;
}

Result<const FleetPolicyRow*> find(std::string_view name, bool also_simulated, Code code) {
    const std::string wanted = plain(name);
    std::string names;
    for (const FleetPolicyRow& row : kPolicies) {
        if (row.is_simulated_only && !also_simulated) continue;
        if (plain(row.name) == wanted) return &row;
        names += (names.empty() ? "" : ", ") + std::string(row.name);
    }
    return fail(
        code, "no placement policy \"" + std::string(name.substr(0, 64)) + "\"; there is " + names);
}

}  // namespace

std::span<const FleetPolicyRow> fleet_policies() {
    return kPolicies;
}

Result<const FleetPolicyRow*> find_fleet_policy(std::string_view name) {
    return find(name, true, Code::not_found);
}

Result<const FleetPolicyRow*> find_policy_option(std::string_view option) {
    return find(option, false, Code::invalid_argument);
}

Result<std::vector<const FleetPolicyRow*>> find_fleet_policies(std::span<const std::string> names) {
    std::vector<const FleetPolicyRow*> rows;
    for (const std::string& name : names) {
        TRY(const FleetPolicyRow* row, find_fleet_policy(name));
        if (std::ranges::find(rows, row) == rows.end()) rows.push_back(row);
    }
    return rows;
}

}  // namespace tessera
