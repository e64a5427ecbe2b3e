// The policies of the placement engine: which node a task goes to, and which of its GPUs. One file
// per policy; placement_policies() is the table of their names.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "domain/placement/engine/mix.hpp"
#include "domain/placement/engine/node_load.hpp"

namespace tessera {

// A policy's result for a task on a node.
struct PolicyScore {
    std::int32_t score = 0;  // the highest score wins
    GpuSet gpus = 0;         // that the task would take there
};

// One term of a score; the policy's header says in what unit.
struct ScoreTerm {
    std::string_view name;
    double value = 0;

    friend bool operator==(const ScoreTerm&, const ScoreTerm&) = default;
};

// Which of the nodes with the highest score takes the task.
enum class Tie { first_in_order, any };

class PlacementEngine;

// A task has one random number. The choice among equal nodes uses its low digits. The choice of
// GPUs rotates it: with the same digits, the choice of the GPU would depend on the choice of the
// node.
inline std::uint64_t random_for_gpus(std::uint64_t random) {
    return std::rotl(random, 32);
}

// The inputs of a policy.
struct PolicyInputs {
    std::span<const MixClass> mix;    // the expected tasks, for policies that use them
    std::uint64_t sampling_seed = 0;  // for policies that sample the mix
};

// Used by one thread, because a policy may cache its results.
class PlacementPolicy {
  public:
    virtual ~PlacementPolicy() = default;

    // A new task arrived, wherever it is placed. For policies that learn from arrivals, or read the
    // cluster now and then. Returns whether scores have changed.
    virtual bool arrived(const PlacementTask& /*task*/, const PlacementEngine& /*engine*/) {
        return false;
    }

    // `load` must be able to take `task`. The score depends only on the task and the load's
    // state_of(), because EngineIndex caches it. What the policy knows about the cluster (prices, a
    // learnt mix) may change it, but only in arrived(). `random` is a random number for the choice
    // of GPUs by policies that choose at random; the score does not depend on it.
    [[nodiscard]] virtual PolicyScore score(const NodeLoad& load, const PlacementTask& task,
                                            std::uint64_t random) = 0;
    // The terms of score(), for people. `load` must be able to take `task`.
    [[nodiscard]] virtual std::vector<ScoreTerm> terms(const NodeLoad& /*load*/,
                                                       const PlacementTask& /*task*/) {
        return {};
    }
    // A copy in the current state: one can keep learning while the other is used.
    [[nodiscard]] virtual std::unique_ptr<PlacementPolicy> copy() const = 0;
    // Whether scores depend on the kinds of tasks that a node runs.
    [[nodiscard]] virtual bool sees_kinds() const { return false; }
    [[nodiscard]] virtual Tie tie() const { return Tie::first_in_order; }
    // Whether a score takes many microseconds, so that a caller should not wait for
    // thousands.
    [[nodiscard]] virtual bool is_slow() const { return false; }
};

// The policy that the controller also has in bytes (placement/place.hpp): gpushare's policy.
inline constexpr std::string_view kBestFitInBytes = "binpack";

// What a policy knows of the mix of tasks.
enum class PolicyMix {
    none,
    known,   // PolicyInputs::mix
    learnt,  // in arrived()
};

struct PlacementPolicyRow {
    std::string_view name;  // in every option, annotation and report
    std::string_view summary;
    std::unique_ptr<PlacementPolicy> (*make)(const PolicyInputs& inputs);
    PolicyMix mix = PolicyMix::none;
    bool is_simulated_only = false;  // it needs inputs that only a simulation has
};

std::span<const PlacementPolicyRow> placement_policies();
// Compares without case, and without hyphens, underscores and blanks at the ends: "BestFit" is
// "best-fit". Errors: not_found, with the names of the existing policies.
Result<const PlacementPolicyRow*> find_placement_policy(std::string_view name);
// As above, for the policies that the controller's options and pods may name. Errors:
// invalid_argument.
Result<const PlacementPolicyRow*> find_policy_option(std::string_view option);
// As above, for several names: in their order, without duplicates.
Result<std::vector<const PlacementPolicyRow*>> find_placement_policies(
    std::span<const std::string> names);

}  // namespace tessera
