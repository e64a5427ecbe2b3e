#include "domain/placement/fleet/policy.hpp"

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
    {"Binpack", "the cards with the least room that is enough, as gpushare does",
     binpack_fleet_policy, "binpack", false},
    {"Spread", "the cards with the most room", spread_fleet_policy, "spread", false},
    {"BestFit", "the node with the least CPU and GPU left", best_fit_policy, "best-fit", false},
    {"DotProd", "the node whose free resources are least like the request", dot_product_policy,
     "dot-product", false},
    {"Packing", "cards in use before free cards, nodes in use before free nodes", packing_policy,
     "packing", false},
    {"Clustering", "beside tasks of the same number of cards", clustering_policy, "clustering",
     false},
    {"FGD", "where the expected fragmentation grows least", fgd_policy, "fgd", true},
    {"ExpectedFill", "where what is to come fits best; learns that from what arrives", learning,
     "expected-fill", false},
    {"ExpectedFillKnownMix", "the same, told what is to come", knowing, "", true},
    {"Random", "any node and any cards that fit", random_policy, "random", false},
});

}  // namespace

std::span<const FleetPolicyRow> fleet_policies() {
    return kPolicies;
}

Result<const FleetPolicyRow*> find_fleet_policy(std::string_view name) {
    std::string names;
    for (const FleetPolicyRow& row : kPolicies) {
        if (row.name == name) return &row;
        names += (names.empty() ? "" : ", ") + std::string(row.name);
    }
    return fail(Code::not_found,
                "no placement policy \"" + std::string(name) + "\"; there is " + names);
}

Result<const FleetPolicyRow*> find_policy_option(std::string_view option) {
    std::string options;
    for (const FleetPolicyRow& row : kPolicies) {
        if (row.option.empty()) continue;
        if (row.option == option) return &row;
        options += (options.empty() ? "" : ", ") + std::string(row.option);
    }
    return fail(
        Code::invalid_argument,
        "no placement policy \"" + std::string(option.substr(0, 64)) + "\"; there is " + options);
}

Result<std::vector<const FleetPolicyRow*>> find_fleet_policies(std::span<const std::string> names) {
    std::vector<const FleetPolicyRow*> rows;
    for (const std::string& name : names) {
        TRY(const FleetPolicyRow* row, find_fleet_policy(name));
        rows.push_back(row);
    }
    return rows;
}

}  // namespace tessera
