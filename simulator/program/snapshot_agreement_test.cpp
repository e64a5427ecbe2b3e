// Goal: a replay of a live cluster puts each pending pod where the controller would: on the same
// node, and on the same GPUs, by topology or by least loss. Method: random nodes with links. Pods
// come one after the other, once through LivePlacer, once through best_node and
// ClusterState::reserve.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <memory>
#include <string>

#include "app/scheduler/filter/node_choice.hpp"
#include "app/scheduler/scoring/policy_set.hpp"
#include "app/scheduler/scoring/score_cache.hpp"
#include "domain/scheduling/state.hpp"
#include "simulator/live/dump_builders_test.hpp"
#include "simulator/live/live_placer.hpp"
#include "simulator/live/live_terms.hpp"

namespace tessera {
namespace {

// A thousandth of this is a whole number of bytes.
constexpr int kGpuGib = 40;

// Links as on real nodes: NVLink between pairs or all GPUs, a PCIe switch per pair, half of the
// GPUs on each NUMA node.
DumpNode any_node(const std::string& name) {
    const int gpus = *rc::gen::element(1, 2, 4, 6, 8);
    DumpNode out = build::node(name, std::vector<std::pair<const char*, int>>(
                                         static_cast<std::size_t>(gpus), {"A100", kGpuGib}));
    const auto links = *rc::gen::element<std::string>("none", "numa", "pairs", "pairs", "all");
    if (links == "none") return out;
    for (int gpu = 0; gpu < gpus; ++gpu) {
        GpuLinks& of = out.gpus[static_cast<std::size_t>(gpu)].links;
        of.numa = gpu < gpus / 2 ? 0 : 1;
        if (links == "numa" || gpus == 1) continue;
        const auto self = std::uint64_t{1} << static_cast<unsigned>(gpu);
        const auto pair = std::uint64_t{1} << (static_cast<unsigned>(gpu) ^ 1U);
        const auto all = (std::uint64_t{1} << static_cast<unsigned>(gpus)) - 1;
        of.pcie = pair;
        of.nvlink = links == "pairs" ? pair : all & ~self;
    }
    return out;
}

ClusterDump any_dump() {
    ClusterDump out;
    const int nodes = *rc::gen::inRange(1, 5);
    for (int i = 0; i < nodes; ++i)
        out.nodes.push_back(any_node("n" + std::to_string(i)));
    const int pods = *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(4, 24));
    for (int i = 0; i < pods; ++i) {
        const std::string number = std::to_string(100 + i);  // numbers in the order of creation
        DumpPod pod = build::pod("p" + number, *rc::gen::element(0, 0, 4, 10, 20),
                                 *rc::gen::element(1, 1, 2, 2, 3, 4));
        if (*rc::gen::inRange(0, 4) == 0)
            pod.gpu_rules.topology = *rc::gen::element<std::string>("nvlink", "pcie", "numa");
        if (*rc::gen::inRange(0, 6) == 0) pod.requests.push_back(pod.requests.front());
        out.pods.push_back(std::move(pod));
    }
    return out;
}

GpuSet gpus_of(const Allocation& allocation) {
    GpuSet out = 0;
    for (const ContainerAllocation& container : allocation.containers) {
        for (const GpuShare& share : container.gpus)
            out = static_cast<GpuSet>(out | gpu_bit(share.index));
    }
    return out;
}

// The controller's policy, which learns about each pod before it scores nodes for it.
class Policy {
  public:
    Policy(const PlacementPolicyRow& row, const LiveCluster& cluster) : placements_(row.name) {
        if (row.mix != PolicyMix::learnt)
            known_mix_ = std::make_shared<ScoreCache>(row.make({.mix = cluster.mix}));
    }

    std::shared_ptr<const NodeScorer> of(const PodRequest& pod, ClusterState& state) {
        if (known_mix_ != nullptr) {
            RC_ASSERT(known_mix_->catch_up(*state.snapshot(), 1'000));
            return known_mix_;
        }
        Arrivals arrivals = state.take_arrivals();
        arrivals.pods = {{.created = {}, .pod = pod}};
        placements_.learn(std::move(arrivals), *state.snapshot());
        return placements_.scorer_of(pod);
    }

  private:
    std::shared_ptr<ScoreCache> known_mix_;  // the mix, known in advance as in a replay
    PolicySet placements_;
};

// Nothing if the pod fits nowhere.
std::optional<Allocation> place(ClusterState& state, const PodRequest& pod, Policy& policy) {
    std::vector<std::uint32_t> positions;
    const auto snapshot = state.snapshot();
    for (const auto& node : snapshot->nodes())
        positions.push_back(snapshot->position(node->inventory.name.str()));
    // A slow policy scores a limited number of nodes at once; there are fewer here.
    const auto scorer = policy.of(pod, state);
    const auto best = best_node(*snapshot, positions, pod, scorer.get());
    if (!best) return std::nullopt;
    const auto made = state.reserve(pod, snapshot->row(*best).node->inventory.name, scorer.get());
    RC_ASSERT(made.has_value());
    return made->allocation;
}

RC_GTEST_PROP(SnapshotAgreement, ReplayPlacesAsTheControllerDoes, ()) {
    const ClusterDump dump = any_dump();
    const auto cluster = live_cluster(dump);
    RC_ASSERT(cluster.has_value());
    for (const PlacementPolicyRow& row : placement_policies()) {
        // Skips random choice, and policies that need information that no controller has.
        if (row.name == "random" || row.is_simulated_only) continue;
        LivePlacer placer(*cluster, cluster->now, row, {});
        Policy policy(row, *cluster);
        ClusterState state;
        for (const DumpNode& node : dump.nodes)
            state.set_node(node_info_of(node, 0, {}).inventory);
        for (std::size_t i = 0; i < cluster->pods.size(); ++i) {
            const bool found = placer.place({.pods = {i}, .size = 1});
            const auto given = place(state, cluster->pods[i].request, policy);
            RC_LOG() << row.name << ", " << dump.pods[cluster->pods[i].row].name.str() << "\n";
            RC_ASSERT(found == given.has_value());
            if (!found) continue;
            const Placed& placed = placer.places().at(i).placed;
            RC_ASSERT(cluster->node_names[static_cast<std::size_t>(placed.node)] ==
                      given->node.str());
            RC_ASSERT(placed.gpus == gpus_of(*given));
        }
    }
}

}  // namespace
}  // namespace tessera
