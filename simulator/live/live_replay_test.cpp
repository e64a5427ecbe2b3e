#include "simulator/live/live_replay.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

#include "domain/placement/engine_terms.hpp"
#include "simulator/live/live_report.hpp"

namespace tessera {
namespace {

DumpNode node(const std::string& name, int gpus, Bytes memory, const std::string& model) {
    DumpNode out{.name = name, .host = {64'000, gibibytes(256)}};
    for (int gpu = 0; gpu < gpus; ++gpu)
        out.gpus.push_back({.model = model, .memory = memory});
    return out;
}

DumpPod pod(const std::string& name, Bytes memory, int gpus = 1) {
    DumpPod out{.name = {"s", name}, .created = name, .requests = {{.gpus = gpus}}};
    if (memory != Bytes{}) out.requests[0].memory = {MemoryRequest::Kind::bytes, memory.count};
    return out;
}

DumpPod on(DumpPod pod, const std::string& node, int gpu) {
    pod.node = node;
    const Bytes memory{pod.requests[0].memory.amount};
    const bool whole = pod.requests[0].memory.kind == MemoryRequest::Kind::whole_gpu;
    pod.allocated = {{ContainerKind::app, {{gpu, memory, pod.requests[0].cores, whole}}}};
    return pod;
}

// Two GPUs of 10 GiB, a share of 4 GiB on each.
ClusterDump split() {
    return {.taken = "now",
            .nodes = {node("n", 2, gibibytes(10), "T4")},
            .pods = {on(pod("a", gibibytes(4)), "n", 0), on(pod("b", gibibytes(4)), "n", 1),
                     pod("c", {})}};
}

LiveReport replayed(const ClusterDump& dump, std::vector<std::string> policies, int threads = 1) {
    auto report = replay_live(dump, {.policies = std::move(policies), .threads = threads},
                              [](std::size_t, std::size_t) {});
    EXPECT_TRUE(report) << report.error().text;
    return *std::move(report);
}

TEST(LiveReplay, NeedsAGpu) {
    for (const std::vector<DumpNode>& nodes :
         {std::vector<DumpNode>{}, {node("n", 0, gibibytes(10), "T4")}}) {
        const auto report = replay_live({.taken = "now", .nodes = nodes}, {.policies = {"fgd"}},
                                        [](std::size_t, std::size_t) {});
        ASSERT_FALSE(report);
        EXPECT_EQ(report.error(),
                  (Error{Code::invalid_argument,
                         "no node of the snapshot has a GPU; `tessera doctor` says what a node "
                         "lacks"}));
    }
}

// Goal: the results checked by hand: a pod that waits for a whole GPU gets none with running pods
// in place, and one if all are placed again.
TEST(LiveReplay, ByHand) {
    const LiveReport report = replayed(split(), {"binpack", "spread"});
    EXPECT_DOUBLE_EQ(report.as_is.allocated, 40);
    EXPECT_EQ(report.as_is.free_gpus, 0);
    EXPECT_EQ(report.as_is.placed, 2);
    EXPECT_EQ(report.as_is.without_room, 1);
    EXPECT_EQ(report.waiting, (std::vector<std::string>{"s/c"}));
    ASSERT_EQ(report.runs.size(), 2U);
    const LiveRun& binpack = report.runs[0];
    EXPECT_EQ(binpack.places[0].node, -1);
    EXPECT_DOUBLE_EQ(binpack.waiting_placed.allocated, 40);
    EXPECT_EQ(binpack.all_placed.placed, 3);
    EXPECT_DOUBLE_EQ(binpack.all_placed.allocated, 90);
    EXPECT_EQ(report.runs[1].all_placed.placed, 2) << "Spread takes both GPUs";
    EXPECT_NE(live_table(report).find("all placed      binpack                90.00"),
              std::string::npos)
        << live_table(report);
    EXPECT_NE(live_csv(report).find("all placed,spread,40.0000,"), std::string::npos);
    EXPECT_NE(live_json(report).find(R"("pod": "s/c")"), std::string::npos);
}

// Goal: a pending pod gets a node and GPU by name, but never on a closed node or on an unhealthy
// GPU.
TEST(LiveReplay, WaitingPods) {
    ClusterDump dump = split();
    dump.pods[2] = pod("c", gibibytes(5));
    dump.nodes[0].gpus[0].healthy = false;
    const LiveReport report = replayed(dump, {"binpack"});
    EXPECT_EQ(report.runs[0].places[0].node, 0);
    EXPECT_EQ(report.runs[0].places[0].gpus, 2);
    EXPECT_NE(live_table(report).find("s/c          n:1"), std::string::npos) << live_table(report);
    dump.nodes[0].closed = true;
    const LiveReport closed = replayed(dump, {"binpack"});
    EXPECT_EQ(closed.runs[0].places[0].node, -1);
    EXPECT_DOUBLE_EQ(closed.runs[0].waiting_placed.fragmentation, closed.as_is.fragmentation);
}

// Goal: thousandths are computed as in the controller: a share counts as milli_of() says for the
// GPU that it is on.
TEST(LiveReplay, GpusOfSeveralSizes) {
    ClusterDump dump{
        .taken = "now",
        .nodes = {node("big", 1, gibibytes(80), "H100"), node("small", 1, gibibytes(15), "T4")},
        .pods = {pod("a", gibibytes(16)), pod("b", gibibytes(10)), pod("c", gibibytes(10))}};
    dump.pods[1].requests[0].cores = {30};
    const LiveReport report = replayed(dump, {"binpack"});
    const LiveRun& run = report.runs[0];
    EXPECT_EQ(run.places[0].node, 0) << "no other GPU is large enough";
    EXPECT_EQ(run.waiting_placed.placed, 3);
    double milli = 0;
    for (std::size_t i = 0; i < 3; ++i) {
        const DumpRequest& request = dump.pods[i].requests[0];
        const auto on_node = static_cast<std::size_t>(run.places[i].node);
        milli += milli_of(Bytes{request.memory.amount}, request.cores,
                          dump.nodes[on_node].gpus[0].memory);
    }
    EXPECT_DOUBLE_EQ(run.waiting_placed.allocated, milli / 20);
}

// Goal: pods that the snapshot leaves out are counted in the report, because they may need room
// too.
TEST(LiveReplay, TellsWhoIsLeftOut) {
    ClusterDump dump{.taken = "now", .nodes = {node("n", 1, gibibytes(10), "T4")}, .pods = {}};
    EXPECT_EQ(live_table(replayed(dump, {"binpack"})).find("left out"), std::string::npos);
    EXPECT_NE(live_table(replayed(dump, {"binpack"})).find("now: 1 node, 1 GPU\n"),
              std::string::npos);
    dump.left_out = {.gated = 2};
    const LiveReport report = replayed(dump, {"binpack"});
    EXPECT_NE(live_table(report).find("\nOf the snapshot 2 pods with GPUs are left out: 2 with "
                                      "scheduling gates\n"),
              std::string::npos)
        << live_table(report);
    EXPECT_NE(live_json(report).find("\"podsLeftOut\": 2"), std::string::npos);
}

// Goal: a gang gets room for all of its pods or for none, also if some of its pods are missing or
// run already.
TEST(LiveReplay, Gangs) {
    ClusterDump dump{.taken = "now", .nodes = {node("n", 3, gibibytes(10), "T4")}, .pods = {}};
    for (const char* name : {"a", "b"}) {
        dump.pods.push_back(pod(name, {}, 2));
        dump.pods.back().gang = GangMembership{"g", 2};
    }
    dump.pods.push_back(pod("c", {}, 2));
    LiveReport report = replayed(dump, {"binpack"});
    EXPECT_EQ(report.runs[0].places[0].node, -1);
    EXPECT_EQ(report.runs[0].places[1].node, -1);
    EXPECT_EQ(report.runs[0].places[2].node, 0) << "what was tried is free again";
    dump.pods[1].requests[0].gpus = dump.pods[0].requests[0].gpus = 1;
    report = replayed(dump, {"binpack"});
    EXPECT_EQ(report.runs[0].waiting_placed.placed, 2);
    dump.pods.erase(dump.pods.begin());
    EXPECT_EQ(replayed(dump, {"binpack"}).runs[0].places[0].node, -1) << "one of two";
    dump.pods.push_back(on(pod("a", {}), "n", 0));
    dump.pods.back().gang = GangMembership{"g", 2};
    EXPECT_EQ(replayed(dump, {"binpack"}).runs[0].places[0].node, 0) << "the other one runs";
}

// Goal: a pod's containers go to one node; a pod that the engine cannot model stays in place.
TEST(LiveReplay, SeveralContainers) {
    ClusterDump dump{
        .taken = "now",
        .nodes = {node("m", 1, gibibytes(10), "T4"), node("n", 2, gibibytes(10), "T4")},
        .pods = {pod("a", {}), on(pod("b", gibibytes(5)), "m", 0)}};
    dump.pods[0].requests.push_back({.gpus = 1});
    dump.pods[1].requests[0].kind = ContainerKind::init;
    const LiveReport report = replayed(dump, {"best-fit"});
    EXPECT_EQ(report.pinned, 1);
    EXPECT_EQ(report.runs[0].places[0].node, 1);
    EXPECT_DOUBLE_EQ(report.runs[0].all_placed.allocated, 100 * 2.5 / 3);
    EXPECT_EQ(report.runs[0].all_placed.placed, 2);
}

// Goal: for any snapshot, every policy gives each pod a place or none, and a gang all places or
// none. Snapshots may have over-committed nodes, nodes without GPUs or with more than the engine
// supports, shares larger than any GPU, and parts of gangs.
RC_GTEST_PROP(LiveReplay, AnyDump, ()) {
    ClusterDump dump{.taken = "now"};
    for (int i = *rc::gen::inRange(1, 5); i > 0; --i) {
        const int least = dump.nodes.empty() ? 1 : 0;
        DumpNode any = node("n" + std::to_string(i), *rc::gen::inRange(least, 19),
                            gibibytes(*rc::gen::element(10, 40)), *rc::gen::element("A", "B"));
        any.host.cpu_milli = *rc::gen::inRange(0, 9) * 8'000;
        any.others.cpu_milli = *rc::gen::inRange(0, 3) * 9'000;
        any.closed = *rc::gen::inRange(0, 4) == 0;
        any.unit = *rc::gen::element(MemoryUnit::gib, MemoryUnit::mib);
        for (DumpGpu& gpu : any.gpus) {
            gpu.healthy = *rc::gen::inRange(0, 5) > 0;
            gpu.over_limit = gibibytes(*rc::gen::inRange(0, 2));
        }
        dump.nodes.push_back(std::move(any));
    }
    const DumpNode& first = dump.nodes.front();
    for (int i = *rc::gen::inRange(0, 30); i > 0; --i) {
        DumpPod any = pod("p" + std::to_string(i), gibibytes(*rc::gen::inRange(0, 50)),
                          *rc::gen::element(1, 1, 2, 17));
        any.requests[0].kind = *rc::gen::element(ContainerKind::app, ContainerKind::app,
                                                 ContainerKind::init, ContainerKind::sidecar);
        any.requests[0].cores = {*rc::gen::inRange(0, 101)};
        any.host.cpu_milli = *rc::gen::inRange(0, 4) * 5'000;
        if (*rc::gen::inRange(0, 3) == 0) any.requests.push_back(any.requests[0]);
        if (*rc::gen::inRange(0, 3) == 0)
            any.gang = GangMembership{*rc::gen::element("g", "h"), *rc::gen::inRange(1, 4)};
        const bool runs = *rc::gen::arbitrary<bool>();
        if (runs)
            any = on(any, first.name, *rc::gen::inRange(0, static_cast<int>(first.gpus.size())));
        dump.pods.push_back(std::move(any));
    }
    std::vector<std::string> policies;
    for (const PlacementPolicyRow& row : placement_policies())
        policies.emplace_back(row.name);
    const LiveReport report = replayed(dump, policies);
    const auto pods = static_cast<int>(dump.pods.size());
    for (const LiveRun& run : report.runs) {
        RC_ASSERT(run.waiting_placed.placed + run.waiting_placed.without_room == pods);
        RC_ASSERT(run.all_placed.placed + run.all_placed.without_room == pods);
        RC_ASSERT(run.waiting_placed.placed >= report.as_is.placed);
        std::map<std::string, std::set<bool>> has_room;  // by gang
        for (std::size_t i = 0; i < report.waiting.size(); ++i) {
            const auto of = std::ranges::find_if(
                dump.pods, [&](const DumpPod& one) { return one.name.str() == report.waiting[i]; });
            if (of->gang) has_room[of->gang->gang].insert(run.places[i].node >= 0);
        }
        for (const auto& [gang, rooms] : has_room)
            RC_ASSERT(rooms.size() == 1U);
    }
}

// Goal: the result does not depend on the number of threads.
TEST(LiveReplay, Threads) {
    ClusterDump dump{
        .taken = "now",
        .nodes = {node("m", 4, gibibytes(10), "T4"), node("n", 8, gibibytes(40), "A100")}};
    for (int i = 0; i < 60; ++i)
        dump.pods.push_back(pod("p" + std::to_string(i), gibibytes(1 + i * 7 % 12)));
    const std::vector<std::string> policies{"fgd", "random", "expected-fill", "binpack"};
    EXPECT_EQ(live_json(replayed(dump, policies, 1)), live_json(replayed(dump, policies, 3)));
}

}  // namespace
}  // namespace tessera
