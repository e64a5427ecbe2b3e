// The policies of the placement engine: which node a task goes to, and which of its cards. One file
// per policy; fleet_policies() is the table of their names.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "domain/placement/fleet/mix.hpp"
#include "domain/placement/fleet/node_load.hpp"

namespace tessera {

// What a policy says of a task on a node.
struct Rating {
    std::int32_t score = 0;  // the node with the highest wins
    CardSet cards = 0;       // that the task would hold there
};

// A part of what a score was made of, as the policy reckons it; its header says in what unit.
struct ScoreTerm {
    std::string_view name;
    double value = 0;

    friend bool operator==(const ScoreTerm&, const ScoreTerm&) = default;
};

// Which of the nodes with the highest score takes the task.
enum class Tie { first_in_order, any };

class Fleet;

// A task has one draw. What chooses the node among equals uses its low digits up; with the same
// ones for the cards a node's first card would go with one node, and its second with another.
inline std::uint64_t draw_of_cards(std::uint64_t draw) {
    return std::rotl(draw, 32);
}

// What a policy is made with.
struct PolicyInputs {
    std::span<const MixClass> mix;  // what is expected to arrive, for the policies that look at it
    std::uint64_t sampling_seed = 0;  // for those that sample it
};

// One thread: a policy may remember what it worked out.
class FleetPolicy {
  public:
    virtual ~FleetPolicy() = default;

    // A task came that was not there before, wherever it goes: for policies that learn from what
    // arrives, or look at the cluster now and then. Whether scores are different from now on.
    virtual bool arrived(const Task& /*task*/, const Fleet& /*fleet*/) { return false; }

    // `load` can take `task`. The score depends on nothing but the task and the load's state_of():
    // FleetIndex remembers it. What the policy holds about the cluster (prices, a learnt mix) may
    // change it, in arrived() only. `draw` is a random number for the choice of the cards
    // where that is left to chance; the score does not depend on it.
    [[nodiscard]] virtual Rating rate(const NodeLoad& load, const Task& task,
                                      std::uint64_t draw) = 0;
    // What rate() looks at there, for people. `load` can take `task`.
    [[nodiscard]] virtual std::vector<ScoreTerm> terms(const NodeLoad& /*load*/,
                                                       const Task& /*task*/) {
        return {};
    }
    // The same as it is now: one may go on learning while the other is asked.
    [[nodiscard]] virtual std::unique_ptr<FleetPolicy> copy() const = 0;
    // Whether scores depend on the kinds of tasks that a node runs.
    [[nodiscard]] virtual bool sees_kinds() const { return false; }
    [[nodiscard]] virtual Tie tie() const { return Tie::first_in_order; }
    // Whether a rating takes so long (many microseconds) that nobody is to wait for thousands.
    [[nodiscard]] virtual bool is_slow() const { return false; }
};

// The policy that the controller has in bytes as well (placement/place.hpp): the one that
// gpushare's users know.
inline constexpr std::string_view kBestFitInBytes = "binpack";

// What a policy knows of the tasks that come.
enum class PolicyMix {
    none,
    told,    // PolicyInputs::mix
    learnt,  // in arrived()
};

struct FleetPolicyRow {
    std::string_view name;  // in every option, annotation and report
    std::string_view summary;
    std::unique_ptr<FleetPolicy> (*make)(const PolicyInputs& inputs);
    PolicyMix mix = PolicyMix::none;
    bool is_simulated_only = false;  // for it is told what nobody can know
};

std::span<const FleetPolicyRow> fleet_policies();
// Upper case counts as lower, and hyphens, underscores and blanks at the ends do not count:
// "BestFit" is "best-fit".
// not_found, naming the policies that exist.
Result<const FleetPolicyRow*> find_fleet_policy(std::string_view name);
// The same of those that the controller and pods may name; invalid_argument.
Result<const FleetPolicyRow*> find_policy_option(std::string_view option);
// The same of several, in their order, each once.
Result<std::vector<const FleetPolicyRow*>> find_fleet_policies(std::span<const std::string> names);

}  // namespace tessera
