#include "app/sim/live_replay.hpp"

#include <gtest/gtest.h>

#include "app/sim/live_report.hpp"
#include "domain/placement/engine_terms.hpp"

namespace tessera {
namespace {

SnapshotNode node(const std::string& name, int cards, Bytes memory, const std::string& model) {
    SnapshotNode out{.name = name, .host = {64'000, gibibytes(256)}};
    for (int card = 0; card < cards; ++card)
        out.cards.push_back({.model = model, .memory = memory});
    return out;
}

SnapshotPod pod(const std::string& name, Bytes memory, int gpus = 1) {
    SnapshotPod out{.name = {"s", name}, .created = name, .asks = {{.gpus = gpus}}};
    if (memory != Bytes{}) out.asks[0].memory = {MemoryAsk::Kind::bytes, memory.count};
    return out;
}

SnapshotPod on(SnapshotPod pod, const std::string& node, int card) {
    pod.node = node;
    const Bytes memory{pod.asks[0].memory.amount};
    const bool whole = pod.asks[0].memory.kind == MemoryAsk::Kind::whole_card;
    pod.holds = {{ContainerKind::app, {{card, memory, pod.asks[0].cores, whole}}}};
    return pod;
}

// Two cards of 10 GiB, a share of 4 GiB on each.
ClusterSnapshot split() {
    return {.taken = "now",
            .nodes = {node("n", 2, gibibytes(10), "T4")},
            .pods = {on(pod("a", gibibytes(4)), "n", 0), on(pod("b", gibibytes(4)), "n", 1),
                     pod("c", {})}};
}

LiveReport replayed(const ClusterSnapshot& snapshot, std::vector<std::string> policies,
                    int threads = 1) {
    auto report = replay_live(snapshot, {.policies = std::move(policies), .threads = threads},
                              [](std::size_t, std::size_t) {});
    EXPECT_TRUE(report) << report.error().text;
    return *std::move(report);
}

// Goal: what there is, by hand; a pod that waits for a whole card gets none beside what runs, and
// one where all are placed anew.
TEST(LiveReplay, ByHand) {
    const LiveReport report = replayed(split(), {"Binpack", "Spread"});
    EXPECT_DOUBLE_EQ(report.as_is.held, 40);
    EXPECT_EQ(report.as_is.free_cards, 0);
    EXPECT_EQ(report.as_is.placed, 2);
    EXPECT_EQ(report.as_is.without_room, 1);
    EXPECT_EQ(report.waiting, (std::vector<std::string>{"s/c"}));
    ASSERT_EQ(report.runs.size(), 2U);
    const LiveRun& binpack = report.runs[0];
    EXPECT_EQ(binpack.rooms[0].node, -1);
    EXPECT_DOUBLE_EQ(binpack.waiting_placed.held, 40);
    EXPECT_EQ(binpack.anew.placed, 3);
    EXPECT_DOUBLE_EQ(binpack.anew.held, 90);
    EXPECT_EQ(report.runs[1].anew.placed, 2) << "Spread takes both cards";
    EXPECT_NE(live_table(report).find("all anew        Binpack                90.00"),
              std::string::npos)
        << live_table(report);
    EXPECT_NE(live_csv(report).find("all anew,Spread,40.0000,"), std::string::npos);
    EXPECT_NE(live_json(report).find(R"("pod": "s/c")"), std::string::npos);
}

// Goal: a waiting pod gets a named node and card; none on a node that is closed, or on a card that
// is out of order.
TEST(LiveReplay, WaitingPods) {
    ClusterSnapshot snapshot = split();
    snapshot.pods[2] = pod("c", gibibytes(5));
    snapshot.nodes[0].cards[0].healthy = false;
    const LiveReport report = replayed(snapshot, {"Binpack"});
    EXPECT_EQ(report.runs[0].rooms[0].node, 0);
    EXPECT_EQ(report.runs[0].rooms[0].cards, 2);
    EXPECT_NE(live_table(report).find("s/c          n:1"), std::string::npos) << live_table(report);
    snapshot.nodes[0].closed = true;
    const LiveReport closed = replayed(snapshot, {"Binpack"});
    EXPECT_EQ(closed.runs[0].rooms[0].node, -1);
    EXPECT_DOUBLE_EQ(closed.runs[0].waiting_placed.fragmentation, closed.as_is.fragmentation);
}

// Goal: thousandths are those of the controller: a share is as much of a card as milli_of() says
// of the card that it is on.
TEST(LiveReplay, CardsOfSeveralSizes) {
    ClusterSnapshot snapshot{
        .taken = "now",
        .nodes = {node("big", 1, gibibytes(80), "H100"), node("small", 1, gibibytes(15), "T4")},
        .pods = {pod("a", gibibytes(16)), pod("b", gibibytes(10)), pod("c", gibibytes(10))}};
    snapshot.pods[1].asks[0].cores = {30};
    const LiveReport report = replayed(snapshot, {"Binpack"});
    const LiveRun& run = report.runs[0];
    EXPECT_EQ(run.rooms[0].node, 0) << "no other card is large enough";
    EXPECT_EQ(run.waiting_placed.placed, 3);
    double milli = 0;
    for (std::size_t i = 0; i < 3; ++i) {
        const SnapshotAsk& ask = snapshot.pods[i].asks[0];
        const auto on_node = static_cast<std::size_t>(run.rooms[i].node);
        milli +=
            milli_of(Bytes{ask.memory.amount}, ask.cores, snapshot.nodes[on_node].cards[0].memory);
    }
    EXPECT_DOUBLE_EQ(run.waiting_placed.held, milli / 20);
}

// Goal: a gang gets room for all of its pods or for none, also where not all of it is there, and
// where a part of it runs.
TEST(LiveReplay, Gangs) {
    ClusterSnapshot snapshot{
        .taken = "now", .nodes = {node("n", 3, gibibytes(10), "T4")}, .pods = {}};
    for (const char* name : {"a", "b"}) {
        snapshot.pods.push_back(pod(name, {}, 2));
        snapshot.pods.back().gang = GangMembership{"g", 2};
    }
    snapshot.pods.push_back(pod("c", {}, 2));
    LiveReport report = replayed(snapshot, {"Binpack"});
    EXPECT_EQ(report.runs[0].rooms[0].node, -1);
    EXPECT_EQ(report.runs[0].rooms[1].node, -1);
    EXPECT_EQ(report.runs[0].rooms[2].node, 0) << "what was tried is free again";
    snapshot.pods[1].asks[0].gpus = snapshot.pods[0].asks[0].gpus = 1;
    report = replayed(snapshot, {"Binpack"});
    EXPECT_EQ(report.runs[0].waiting_placed.placed, 2);
    snapshot.pods.erase(snapshot.pods.begin());
    EXPECT_EQ(replayed(snapshot, {"Binpack"}).runs[0].rooms[0].node, -1) << "one of two";
    snapshot.pods.push_back(on(pod("a", {}), "n", 0));
    snapshot.pods.back().gang = GangMembership{"g", 2};
    EXPECT_EQ(replayed(snapshot, {"Binpack"}).runs[0].rooms[0].node, 0) << "the other one runs";
}

// Goal: a pod's containers go to one node; a pod that the engine has no terms for stays.
TEST(LiveReplay, SeveralContainers) {
    ClusterSnapshot snapshot{
        .taken = "now",
        .nodes = {node("m", 1, gibibytes(10), "T4"), node("n", 2, gibibytes(10), "T4")},
        .pods = {pod("a", {}), on(pod("b", gibibytes(5)), "m", 0)}};
    snapshot.pods[0].asks.push_back({.gpus = 1});
    snapshot.pods[1].asks[0].kind = ContainerKind::init;
    const LiveReport report = replayed(snapshot, {"BestFit"});
    EXPECT_EQ(report.pinned, 1);
    EXPECT_EQ(report.runs[0].rooms[0].node, 1);
    EXPECT_DOUBLE_EQ(report.runs[0].anew.held, 100 * 2.5 / 3);
    EXPECT_EQ(report.runs[0].anew.placed, 2);
}

// Goal: the same whatever the threads.
TEST(LiveReplay, Threads) {
    ClusterSnapshot snapshot{
        .taken = "now",
        .nodes = {node("m", 4, gibibytes(10), "T4"), node("n", 8, gibibytes(40), "A100")}};
    for (int i = 0; i < 60; ++i)
        snapshot.pods.push_back(pod("p" + std::to_string(i), gibibytes(1 + i * 7 % 12)));
    const std::vector<std::string> policies{"FGD", "Random", "ExpectedFill", "Binpack"};
    EXPECT_EQ(live_json(replayed(snapshot, policies, 1)),
              live_json(replayed(snapshot, policies, 3)));
}

}  // namespace
}  // namespace tessera
