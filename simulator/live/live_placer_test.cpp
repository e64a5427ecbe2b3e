// Rules on GPUs are obeyed under every policy. Other placements: live_replay_test.cpp.
#include "simulator/live/live_placer.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "simulator/live/dump_builders_test.hpp"

namespace tessera {
namespace {

using build::node;
using build::on;
using build::pod;

// A GPU of the cluster, by node and index.
using GpuName = std::pair<std::int32_t, int>;

std::set<GpuName> gpus_of(const Placed& placed) {
    std::set<GpuName> out;
    for (int gpu = 0; gpu < kMaxGpus; ++gpu) {
        if ((placed.gpus & gpu_bit(gpu)) != 0) out.insert({placed.node, gpu});
    }
    return out;
}

// The places of the pending pods, "-" for none: "n:0,1 - m:2".
std::string places(const ClusterDump& dump, const char* policy = "binpack") {
    const auto cluster = live_cluster(dump);
    EXPECT_TRUE(cluster) << cluster.error().text;
    LivePlacer placer(*cluster, cluster->now, **find_placement_policy(policy), {});
    for (const LiveGroup& group : cluster->groups.waiting)
        placer.place(group);
    std::string out;
    for (std::size_t i = 0; i < cluster->pods.size(); ++i) {
        if (cluster->pods[i].node >= 0) continue;
        if (!out.empty()) out += " ";
        const auto at = placer.places().find(i);
        if (at == placer.places().end()) {
            out += "-";
            continue;
        }
        std::string gpus;
        for (const auto& [node, gpu] : gpus_of(at->second.placed))
            gpus += (gpus.empty() ? "" : ",") + std::to_string(gpu);
        out += dump.nodes[static_cast<std::size_t>(at->second.placed.node)].name + ":" + gpus;
    }
    return out;
}

TEST(LivePlacer, Models) {
    const ClusterDump dump{
        .nodes = {node("m", {{"Tesla T4", 15}}), node("n", {{"NVIDIA A100-SXM4-40GB", 40}}),
                  node("x", {{"Tesla T4", 15}, {"NVIDIA A10", 15}})},
        .pods = {pod("a", 4, 1, {.models = "A100"}), pod("b", 4, 1, {.models = "A10"}),
                 pod("c", 4, 1, {.models = "!T4, !A10"}), pod("d", 0, 1, {.models = "H100"}),
                 pod("e", 0, 2, {.models = "T4, A10"})}};
    EXPECT_EQ(places(dump), "n:0 x:1 n:0 - -");
    ClusterDump without_b = dump;
    without_b.pods.erase(without_b.pods.begin() + 1);
    EXPECT_EQ(places(without_b), "n:0 n:0 - x:0,1");
}

TEST(LivePlacer, Uuids) {
    EXPECT_EQ(places({.nodes = {node("m", {{"T4", 15}, {"T4", 15}}), node("n", {{"T4", 15}})},
                      .pods = {pod("a", 4, 1, {.uuids = "m-1, n-7"}),
                               pod("b", 4, 1, {.uuids = "!m-0, !m-1"}),
                               pod("c", 4, 1, {.models = "A100", .uuids = "n-0"})}}),
              "m:1 n:0 -");
}

// Goal: a pod avoids running and newly placed pods, but only those of its own namespace and group;
// a failed attempt to place a gang leaves no trace.
TEST(LivePlacer, Apart) {
    ClusterDump dump{
        .nodes = {node("n", {{"T4", 15}, {"T4", 15}, {"T4", 15}})},
        .pods = {on(pod("a", 4, 1, {.anti_affinity = "g"}), "n", 0),
                 pod("b", 4, 1, {.anti_affinity = "g"}), pod("c", 4, 1, {.anti_affinity = "h"}),
                 pod("d", 4, 1, {.anti_affinity = "g"}), pod("e", 4, 1, {.anti_affinity = "g"})}};
    EXPECT_EQ(places(dump), "n:1 n:0 n:2 -");
    dump.pods[4].name.ns = "other";
    EXPECT_EQ(places(dump), "n:1 n:0 n:2 n:0");
    for (const std::size_t of_gang : {1U, 2U, 3U}) {
        dump.pods[of_gang].gpu_rules.anti_affinity = "g";
        dump.pods[of_gang].gang = GangMembership{"all", 3};
    }
    dump.pods[4].name.ns = "s";
    EXPECT_EQ(places(dump), "- - - n:1");
}

// NVLink connects GPUs 0 and 1 of the node, and GPUs 2 and 3; all are on one NUMA node.
DumpNode pairs(const std::string& name, int gib) {
    DumpNode out = node(name, {{"T4", gib}, {"T4", gib}, {"T4", gib}, {"T4", gib}});
    for (std::size_t gpu = 0; gpu < 4; ++gpu)
        out.gpus[gpu].links = {.numa = 0, .nvlink = std::uint64_t{1} << (gpu ^ 1U)};
    return out;
}

// Goal: a pod that requires a link gets GPUs that are so linked, or none, whatever the policy
// prefers. A pod with a single GPU, or without the requirement, gets any GPUs.
TEST(LivePlacer, Links) {
    const ClusterDump dump{
        .nodes = {node("m", {{"T4", 15}, {"T4", 15}}), pairs("n", 15)},
        .pods = {on(pod("a", 15), "n", 1), pod("b", 0, 2, {.topology = "nvlink"}),
                 pod("c", 0, 2, {.topology = "nvlink"}), pod("d", 0, 2),
                 pod("e", 4, 1, {.topology = "nvlink"})}};
    for (const char* policy : {"binpack", "spread", "fgd"})
        EXPECT_EQ(places(dump, policy), "n:2,3 - m:0,1 n:0") << policy;
    ClusterDump near = dump;
    near.pods = {pod("a", 8, 3, {.topology = "nvlink"}), pod("b", 8, 3, {.topology = "numa"}),
                 pod("c", 8, 2, {.topology = "pcie"})};
    EXPECT_EQ(places(near), "- n:0,1,2 -");
}

// Goal: with random placement every GPU of every node is equally likely, whether or not it is
// linked or checked one by one.
TEST(LivePlacer, RandomTakesAnyGpuOfAnyNode) {
    constexpr int kSeeds = 400;
    for (const bool is_linked : {false, true}) {
        for (const char* models : {"", "!A10"}) {
            DumpNode m = node("m", {{"T4", 15}, {"T4", 15}});
            DumpNode n = node("n", {{"T4", 15}, {"T4", 15}});
            for (DumpNode* of : {&m, &n}) {
                for (std::size_t gpu = 0; is_linked && gpu < 2; ++gpu)
                    of->gpus[gpu].links = {.nvlink = std::uint64_t{1} << (gpu ^ 1U)};
            }
            DumpPod one = pod("a", 4);
            one.gpu_rules.models = models;
            if (*models != 0) one.requests.push_back(one.requests.front());
            const auto cluster = live_cluster({.nodes = {m, n}, .pods = {one}});
            ASSERT_TRUE(cluster);
            std::map<GpuName, int> taken;
            for (int seed = 0; seed < kSeeds; ++seed) {
                LivePlacer placer(*cluster, cluster->now, **find_placement_policy("random"),
                                  {.draws = seed});
                placer.place({.pods = {0}, .size = 1});
                const auto gpus = gpus_of(placer.places().at(0).placed);
                ++taken[*gpus.begin()];
            }
            for (const auto& [gpu, times] : taken)
                EXPECT_GT(times, kSeeds / 8)
                    << gpu.first << ":" << gpu.second << " " << is_linked << models;
            EXPECT_EQ(taken.size(), 4U) << is_linked << models;
        }
    }
}

// Goal: of several pairs with room the tighter one is taken, as in the controller; each container
// of a pod has GPUs with a link of their own.
TEST(LivePlacer, LinksOfTheTighterSet) {
    ClusterDump dump{.nodes = {pairs("n", 16)},
                     .pods = {on(pod("a", 4), "n", 2), pod("b", 8, 2, {.topology = "nvlink"})}};
    EXPECT_EQ(places(dump), "n:2,3");
    dump.pods[1] = pod("b", 0, 2, {.topology = "nvlink"});
    EXPECT_EQ(places(dump), "n:0,1");
    dump.pods[1].requests.push_back(dump.pods[1].requests[0]);
    EXPECT_EQ(places(dump), "-");
    dump.pods.erase(dump.pods.begin());
    EXPECT_EQ(places(dump), "n:0,1,2,3");
}

// Goal: without a required link, GPUs near each other are preferred, and a single GPU is taken
// where it breaks up the least.
TEST(LivePlacer, NearGpusWhereNobodyInsists) {
    ClusterDump dump{.nodes = {pairs("n", 16)},
                     .pods = {on(pod("a", 16), "n", 1), pod("b", 16, 2)}};
    EXPECT_EQ(places(dump), "n:2,3") << "and not 0 and 2";
    dump.pods[1] = pod("b", 8);
    EXPECT_EQ(places(dump), "n:0");
    dump.pods[0] = on(pod("a", 16), "n", 3);
    EXPECT_EQ(places(dump), "n:2") << "its pair is broken up already";
    dump.pods[1] = pod("b", 8, 3);
    EXPECT_EQ(places(dump), "n:0,1,2");
}

TEST(LivePlacer, Together) {
    ClusterDump dump{
        .nodes = {node("m", {{"T4", 15}}), node("n", {{"T4", 15}, {"T4", 15}})},
        .pods = {pod("a", 4, 1, {.affinity = "g"}), on(pod("b", 4), "n", 1),
                 pod("c", 4, 1, {.affinity = "g"}), pod("d", 10, 1, {.affinity = "g"})}};
    EXPECT_EQ(places(dump), "n:1 n:1 -");
    dump.pods[0] = on(dump.pods[0], "m", 0);
    EXPECT_EQ(places(dump), "m:0 -");
}

// Goal: on a node with GPUs of several sizes, a share counts as a part of the GPU that it is on,
// and a share that is too large for a GPU is not put there.
TEST(LivePlacer, SizesWithinANode) {
    const ClusterDump dump{
        .nodes = {node("n", {{"A100", 80}, {"T4", 16}})},
        .pods = {pod("a", 40), pod("b", 40), pod("c", 8), pod("d", 8), pod("e", 8)}};
    EXPECT_EQ(places(dump), "n:0 n:0 n:1 n:1 -");
    const ClusterDump whole{.nodes = dump.nodes, .pods = {pod("a", 0, 2)}};
    EXPECT_EQ(places(whole), "n:0,1");
}

bool admits_by_name(const GpuRules& rules, const DumpGpu& gpu) {
    const auto is_one = [&](const std::vector<std::string>& resize_requests) {
        return std::ranges::any_of(resize_requests, [&](const std::string& requested) {
            return is_of_model(requested, gpu.model);
        });
    };
    const auto has = [&](const std::vector<GpuUuid>& uuids) {
        return std::ranges::find(uuids, gpu.uuid) != uuids.end();
    };
    return (rules.models.empty() || is_one(rules.models)) && !is_one(rules.barred_models) &&
           (rules.uuids.empty() || has(rules.uuids)) && !has(rules.barred_uuids);
}

GpuRuleTexts any_rules(const std::string& uuid) {
    const auto maybe = [](std::vector<std::string> texts) {
        texts.insert(texts.end(), 2, "");
        return *rc::gen::elementOf(texts);
    };
    return {maybe({"A", "B", "!A"}), maybe({uuid, "!" + uuid}), maybe({"g", "h"}),
            maybe({"g", "h"}), maybe({"nvlink", "pcie", "numa"})};
}

// Both ends of a link list it.
void link_some(DumpNode& node) {
    const auto link = [&](std::uint64_t GpuLinks::* peers, std::size_t a, std::size_t b) {
        if (*rc::gen::arbitrary<bool>()) return;
        node.gpus[a].links.*peers |= std::uint64_t{1} << b;
        node.gpus[b].links.*peers |= std::uint64_t{1} << a;
    };
    for (std::size_t a = 0; a < node.gpus.size(); ++a) {
        node.gpus[a].links.numa = *rc::gen::inRange(-1, 2);
        for (std::size_t b = 0; b < a; ++b) {
            link(&GpuLinks::pcie, a, b);
            link(&GpuLinks::nvlink, a, b);
        }
    }
}

ClusterDump any_cluster() {
    ClusterDump dump;
    for (int i = *rc::gen::inRange(1, 4); i > 0; --i) {
        DumpNode any = node("n" + std::to_string(i), {});
        for (int gpu = *rc::gen::inRange(0, 4); gpu > 0; --gpu) {
            any.gpus.push_back({.model = *rc::gen::element("A", "B"),
                                .memory = gibibytes(*rc::gen::element(10, 40)),
                                .uuid = GpuUuid(any.name + "-" + std::to_string(gpu))});
        }
        link_some(any);
        dump.nodes.push_back(std::move(any));
    }
    const DumpNode& first = dump.nodes.front();
    for (int i = *rc::gen::inRange(0, 12); i > 0; --i) {
        DumpPod any = pod("p" + std::to_string(i), *rc::gen::element(0, 2, 5, 12),
                          *rc::gen::element(1, 1, 2), any_rules("n1-1"));
        any.name.ns = *rc::gen::element("s", "t");
        if (*rc::gen::inRange(0, 4) == 0) any.requests.push_back(any.requests[0]);
        if (*rc::gen::inRange(0, 4) == 0) any.gang = GangMembership{"g", *rc::gen::inRange(1, 4)};
        if (!first.gpus.empty() && *rc::gen::inRange(0, 4) == 0)
            any = on(any, first.name, *rc::gen::inRange(0, static_cast<int>(first.gpus.size())));
        dump.pods.push_back(std::move(any));
    }
    return dump;
}

// A pod that is placed so far.
struct There {
    const LivePod* pod;
    std::set<GpuName> gpus;
};

// The rules as docs/placement.md states them.
void check_rules(const ClusterDump& dump, const LivePod& pod, const std::set<GpuName>& at,
                 const std::vector<There>& others) {
    const GpuRules& rules = pod.rules();
    std::set<GpuName> together;
    for (const auto& [node, gpu] : at) {
        RC_ASSERT(admits_by_name(
            rules, dump.nodes[static_cast<std::size_t>(node)].gpus[static_cast<std::size_t>(gpu)]));
    }
    for (const There& other : others) {
        const bool is_apart =
            rules.anti_affinity && other.pod->rules().anti_affinity == rules.anti_affinity;
        for (const GpuName& gpu : other.gpus)
            RC_ASSERT(!is_apart || !at.contains(gpu));
        if (rules.affinity && other.pod->rules().affinity == rules.affinity)
            together.insert(other.gpus.begin(), other.gpus.end());
    }
    if (!together.empty()) RC_ASSERT(std::ranges::includes(together, at));
    if (!rules.link || pod.request.containers.size() > 1) return;
    const auto is_linked = [&](const GpuName& a, const GpuName& b) {
        const auto& gpus = dump.nodes[static_cast<std::size_t>(a.first)].gpus;
        const GpuLinks& links = gpus[static_cast<std::size_t>(a.second)].links;
        if (*rules.link == Link::numa) {
            return links.numa != kNumaUnknown &&
                   links.numa == gpus[static_cast<std::size_t>(b.second)].links.numa;
        }
        const std::uint64_t peers = *rules.link == Link::nvlink ? links.nvlink : links.pcie;
        return ((peers >> static_cast<unsigned>(b.second)) & 1) != 0;
    };
    for (const GpuName& a : at) {
        for (const GpuName& b : at)
            RC_ASSERT(a == b || is_linked(a, b));
    }
}

// Checks that pods of one container use no more bytes of a GPU than it has.
void check_sizes(const ClusterDump& dump, const std::vector<There>& there) {
    std::map<GpuName, Bytes> allocated;
    for (const There& one : there) {
        const DumpPod& pod = dump.pods[one.pod->row];
        if (pod.requests.size() > 1) continue;
        for (const GpuName& at : one.gpus) {
            const Bytes has = dump.nodes[static_cast<std::size_t>(at.first)]
                                  .gpus[static_cast<std::size_t>(at.second)]
                                  .memory;
            allocated[at] += bytes_of(pod.requests.front().memory, MemoryUnit::gib, has);
            RC_ASSERT(allocated[at] <= has);
        }
    }
}

// Goal: no rule is ever broken, under any policy, with running pods in place or with all pods
// placed again; and no GPU is allocated twice. Method: the order of placement, and the rules as
// documented.
RC_GTEST_PROP(LivePlacer, BreaksNoRule, ()) {
    const ClusterDump dump = any_cluster();
    const auto cluster = live_cluster(dump);
    RC_ASSERT(cluster.has_value());
    const auto& policies = placement_policies();
    const PlacementPolicyRow& policy = policies[*rc::gen::inRange<std::size_t>(0, policies.size())];
    const bool from_empty = *rc::gen::arbitrary<bool>();
    LivePlacer placer(*cluster, from_empty ? cluster->empty : cluster->now, policy,
                      {.draws = *rc::gen::inRange(0, 9)});
    std::vector<There> there;
    if (!from_empty) {
        for (const LivePod& pod : cluster->pods) {
            if (pod.node < 0) continue;
            const DumpShare& share = dump.pods[pod.row].allocated.front().shares.front();
            there.push_back({&pod, {{pod.node, share.gpu}}});
        }
    }
    for (const LiveGroup& group : from_empty ? cluster->groups.all : cluster->groups.waiting) {
        if (!placer.place(group)) continue;
        for (const std::size_t one : group.pods) {
            const LivePod& pod = cluster->pods[one];
            const auto gpus = gpus_of(placer.places().at(one).placed);
            check_rules(dump, pod, gpus, there);
            there.push_back({&pod, gpus});
        }
    }
    if (from_empty) check_sizes(dump, there);
}

}  // namespace
}  // namespace tessera
