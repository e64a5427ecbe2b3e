#include <algorithm>
#include <array>
#include <string>

#include "base/ascii.hpp"
#include "domain/placement/engine/best_fit.hpp"
#include "domain/placement/engine/clustering.hpp"
#include "domain/placement/engine/dot_product.hpp"
#include "domain/placement/engine/expected_fill/expected_fill.hpp"
#include "domain/placement/engine/fgd.hpp"
#include "domain/placement/engine/packing.hpp"
#include "domain/placement/engine/policy.hpp"
#include "domain/placement/engine/random.hpp"
#include "domain/placement/engine/room_left.hpp"

namespace tessera {
namespace {

std::unique_ptr<PlacementPolicy> learning(const PolicyInputs& inputs) {
    return expected_fill_policy(inputs, {}, true);
}

std::unique_ptr<PlacementPolicy> knowing(const PolicyInputs& inputs) {
    return expected_fill_policy(inputs, {}, false);
}

constexpr auto kPolicies = std::to_array<PlacementPolicyRow>({
    {"binpack", "the GPUs with the least free memory that is enough, as gpushare does",
     binpack_placement_policy},
    {"spread", "the GPUs with the most free memory", spread_placement_policy},
    {"best-fit", "the node with the least CPU and GPU left", best_fit_policy},
    {"dot-product", "the node whose free resources are least like the request", dot_product_policy},
    {"packing", "GPUs in use before free GPUs, nodes in use before free nodes", packing_policy},
    {"clustering", "beside tasks of the same number of GPUs", clustering_policy},
    {"fgd", "where the expected fragmentation grows least", fgd_policy, PolicyMix::known},
    {"expected-fill", "where future tasks fit best; learns their mix from arrivals", learning,
     PolicyMix::learnt},
    {"expected-fill-known-mix", "the same, with a known mix of tasks", knowing, PolicyMix::known,
     true},
    {"random", "any node and any GPUs that fit", random_policy},
});

// The FGD artefact calls it DotProd (golden.csv).
constexpr std::string_view kDotProduct = "dot-product";
constexpr std::string_view kDotProductThere = "dotprod";

// "BestFit", "best_fit" and "best-fit" are the same name: papers and earlier versions of
// tessera-sim use the first. A list with ", " leaves blanks at the ends.
std::string plain(std::string_view name) {
    while (name.starts_with(' '))
        name.remove_prefix(1);
    while (name.ends_with(' '))
        name.remove_suffix(1);
    std::string out;
    for (const char c : name) {
        if (c == '-' || c == '_') continue;
        out += to_lower(c);
    }
    return out == kDotProductThere ? plain(kDotProduct) : out;
}

Result<const PlacementPolicyRow*> find(std::string_view name, bool also_simulated, Code code) {
    const std::string wanted = plain(name);
    std::string names;
    for (const PlacementPolicyRow& row : kPolicies) {
        if (row.is_simulated_only && !also_simulated) continue;
        if (plain(row.name) == wanted) return &row;
        names += (names.empty() ? "" : ", ") + std::string(row.name);
    }
    return fail(
        code, "no placement policy \"" + std::string(name.substr(0, 64)) + "\"; there is " + names);
}

}  // namespace

std::span<const PlacementPolicyRow> placement_policies() {
    return kPolicies;
}

Result<const PlacementPolicyRow*> find_placement_policy(std::string_view name) {
    return find(name, true, Code::not_found);
}

Result<const PlacementPolicyRow*> find_policy_option(std::string_view option) {
    return find(option, false, Code::invalid_argument);
}

Result<std::vector<const PlacementPolicyRow*>> find_placement_policies(
    std::span<const std::string> names) {
    std::vector<const PlacementPolicyRow*> rows;
    for (const std::string& name : names) {
        TRY(const PlacementPolicyRow* row, find_placement_policy(name));
        if (std::ranges::find(rows, row) == rows.end()) rows.push_back(row);
    }
    return rows;
}

}  // namespace tessera
