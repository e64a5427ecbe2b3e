// Links between cards, from the annotation to the cards that a pod is given.
#include "domain/placement/card_sets.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <random>
#include <set>

#include "domain/cluster/islands.hpp"
#include "domain/cluster/state.hpp"
#include "domain/placement/misfit.hpp"
#include "domain/placement/place.hpp"
#include "domain/placement/victims.hpp"
#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

// Cards of 16 GiB, joined by NVLink two by two: 0 and 2, 1 and 3; and 4, 5, 6, 7 each with each, if
// there are so many. The even and the odd ones are on a NUMA node each.
NodeInventory linked_node(int count) {
    constexpr std::array<std::uint64_t, 8> kPeers = {0x04, 0x08, 0x01, 0x02,
                                                     0xE0, 0xD0, 0xB0, 0x70};
    NodeInventory node = build::node("n", count, gibibytes(16));
    for (std::size_t i = 0; i < node.gpus.size(); ++i) {
        node.gpus[i].links.nvlink = kPeers.at(i);
        node.gpus[i].links.numa = static_cast<int>(i % 2);
    }
    return node;
}

class Node {
  public:
    explicit Node(int cards) : Node(linked_node(cards)) {}
    explicit Node(const NodeInventory& node) { state_.set_node(node); }

    static PodFacts pod(const std::string& name, std::vector<ContainerSpec> containers,
                        const std::string& links = "") {
        PodFacts pod = build::pod(name, std::move(containers));
        pod.card_rules.links = links;
        return pod;
    }
    // "0 2": the cards that it is given, or why it is given none.
    std::string place(const PodFacts& pod) {
        const auto made = state_.reserve(build::ask(pod), NodeName("n"));
        if (!made) return made.error().text;
        state_.set_pod(build::bound(pod, made->allocation));
        std::set<int> cards;
        for (const ContainerAllocation& container : made->allocation.containers) {
            for (const GpuShare& share : container.gpus)
                cards.insert(share.index);
        }
        return fmt::format("{}", fmt::join(cards, " "));
    }
    void end(const std::string& name) { state_.remove_pod(PodUid("uid-" + name)); }
    [[nodiscard]] Misfit misfit(const PodFacts& pod) {
        const PodAsk ask = build::ask(pod);
        return Explainer(ask.request).explain(state_.view()->find("n")->offer());
    }
    ClusterState& state() { return state_; }

  private:
    ClusterState state_;
};

TEST(CardSets, SeveralCardsAreNearEachOther) {
    Node node(8);
    EXPECT_EQ(node.place(Node::pod("two", build::whole(2))), "0 2") << "not of the four";
    EXPECT_EQ(node.place(Node::pod("three", build::whole(3))), "4 5 6");
    EXPECT_EQ(node.place(Node::pod("next", build::whole(2))), "1 3");
    EXPECT_EQ(node.place(Node::pod("last", build::whole(1))), "7");
}

// Goal: where no NVLink has the room the NUMA node is next, then any cards.
TEST(CardSets, FartherWhereNothingNearerHasRoom) {
    Node node(4);
    EXPECT_EQ(node.place(Node::pod("a", build::whole(3))), "0 1 2");
    node.end("a");
    EXPECT_EQ(node.place(Node::pod("b", build::whole(4))), "0 1 2 3");
    Node numa(8);
    EXPECT_EQ(numa.place(Node::pod("c", build::whole(4))), "4 5 6 7");
    EXPECT_EQ(numa.place(Node::pod("d", build::whole(1))), "0");
    EXPECT_EQ(numa.place(Node::pod("e", build::whole(1))), "2") << "0's pair is broken already";
    numa.end("d");
    numa.end("c");
    EXPECT_EQ(numa.place(Node::pod("f", build::native(gibibytes(10), 3))), "4 5 6");
}

// Goal: single cards leave pairs and quads whole, those that ask for little too.
TEST(CardSets, OneCardIsTakenWhereItIsMissedLeast) {
    Node node(8);
    EXPECT_EQ(node.place(Node::pod("a", build::whole(1))), "0");
    EXPECT_EQ(node.place(Node::pod("b", build::native(gibibytes(9)))), "2");
    EXPECT_EQ(node.place(Node::pod("c", build::native(gibibytes(9)))), "1");
    auto with_cores = build::native(gibibytes(9));
    with_cores[0].limits.emplace_back("tessera.dev/gpu-cores", "10");
    EXPECT_EQ(node.place(Node::pod("d", with_cores)), "3");
    EXPECT_EQ(node.place(Node::pod("e", build::native(gibibytes(3)))), "1") << "in use first";
    EXPECT_EQ(node.place(Node::pod("quad", build::whole(4), "nvlink")), "4 5 6 7");
}

TEST(CardSets, InsistOnALink) {
    Node node(4);
    EXPECT_EQ(node.place(Node::pod("a", build::whole(1))), "0");
    EXPECT_EQ(node.place(Node::pod("b", build::native(gibibytes(2), 2), "nvlink")), "1 3");
    const PodFacts late = Node::pod("late", build::whole(2), "nvlink");
    EXPECT_EQ(node.place(late),
              "Insufficient GPU Memory in one device: asked a whole card on each of 2 cards, 1 of "
              "this node's 4 cards have that free");
    node.end("b");
    EXPECT_EQ(node.place(Node::pod("c", build::whole(1), "nvlink")), "2") << "of one card: nothing";
    EXPECT_EQ(node.place(Node::pod("d", build::native(gibibytes(2)))), "1");
    EXPECT_EQ(node.place(Node::pod("e", build::native(gibibytes(2), 2), "numa")), "1 3");
}

// Goal: what could come about by somebody's end is told from what could not.
TEST(CardSets, NeverAndNotNow) {
    Node node(4);
    const Misfit never = node.misfit(Node::pod("p", build::whole(3), "nvlink"));
    EXPECT_TRUE(never.never);
    EXPECT_EQ(never.obstacle, Obstacle::not_linked);
    EXPECT_EQ(never.reason,
              "No GPUs linked as asked for: asked 3 cards linked by NVLink, at most "
              "2 of this node's 4 cards are");
    EXPECT_EQ(node.misfit(Node::pod("p", build::whole(2), "pcie")).reason,
              "No GPUs linked as asked for: asked 2 cards linked by a PCIe switch, none of this "
              "node's 4 cards are");
    EXPECT_EQ(node.place(Node::pod("a", build::whole(1))), "0");
    PodFacts other = Node::pod("b", build::whole(1));
    other.card_rules.uuids = "GPU-n-3";
    EXPECT_EQ(node.place(other), "3");
    const Misfit now = node.misfit(Node::pod("p", build::whole(2), "nvlink"));
    EXPECT_FALSE(now.never);
    EXPECT_EQ(now.obstacle, Obstacle::links);
    EXPECT_EQ(now.reason,
              "No GPUs linked as asked for: asked 2 cards linked by NVLink, 1 of them "
              "have the room");
    PodFacts barred = Node::pod("p", build::whole(2), "nvlink");
    barred.card_rules.uuids = "GPU-n-0, GPU-n-1";
    EXPECT_TRUE(node.misfit(barred).never) << "0 and 1 are not linked";
}

// Goal: what one container would prefer is no reason to refuse another.
TEST(CardSets, APreferenceRefusesNobody) {
    NodeInventory three = build::node("n", 3, gibibytes(80));
    three.gpus[0].links.nvlink = 0b010;
    three.gpus[1].links.nvlink = 0b001;
    Node node(three);
    for (const char* card : {"GPU-n-1", "GPU-n-2"}) {
        PodFacts there = Node::pod(card, build::native(gibibytes(70)));
        there.card_rules.uuids = card;
        node.place(there);
    }
    auto containers = build::native(gibibytes(10), 2);
    containers[0].name = "side";
    containers[0].kind = ContainerKind::sidecar;
    containers.push_back(build::whole(1)[0]);
    EXPECT_EQ(node.place(Node::pod("p", containers)), "0 1 2");
}

// Goal: two cards are taken out of one quad, not across two; and of one NUMA node the ones that
// NVLink joins.
TEST(CardSets, BreakUpAsLittleAsCanBe) {
    NodeInventory mesh = build::node("n", 8, gibibytes(16));
    for (std::size_t i = 0; i < 8; ++i) {
        const unsigned quad = i < 4 ? 0x0F : 0xF0;
        mesh.gpus[i].links.nvlink = (quad | 1U << ((i + 4) % 8)) & ~(1U << i);
    }
    Node node(mesh);
    EXPECT_EQ(node.place(Node::pod("two", build::whole(2))), "0 1");
    EXPECT_EQ(node.place(Node::pod("more", build::whole(2))), "2 3");
    EXPECT_EQ(node.place(Node::pod("quad", build::whole(4), "nvlink")), "4 5 6 7");

    NodeInventory pairs = build::node("n", 4, gibibytes(16));
    for (std::size_t i = 0; i < 4; ++i) {
        pairs.gpus[i].links.numa = 0;
        pairs.gpus[i].links.nvlink = std::uint64_t{1} << (i ^ 1U);
    }
    Node numa(pairs);
    EXPECT_EQ(numa.place(Node::pod("one", build::whole(1))), "0");
    EXPECT_EQ(numa.place(Node::pod("two", build::whole(2), "numa")), "2 3");
}

// Goal: on a node of one NVSwitch the next nearer links count: PCIe switches, then NUMA nodes.
TEST(CardSets, BehindOneSwitchTheNearerOnes) {
    NodeInventory all = build::node("n", 8, gibibytes(16));
    for (std::size_t i = 0; i < 8; ++i) {
        all.gpus[i].links = {.numa = static_cast<int>(i / 4),
                             .pcie = std::uint64_t{1} << (i ^ 1U),
                             .nvlink = 0xFFU & ~(1U << i)};
    }
    Node node(all);
    EXPECT_EQ(node.place(Node::pod("one", build::whole(1))), "0");
    EXPECT_EQ(node.place(Node::pod("two", build::whole(2))), "2 3");
    EXPECT_EQ(node.place(Node::pod("single", build::whole(1))), "1");
    EXPECT_EQ(node.place(Node::pod("three", build::whole(3))), "4 5 6");
}

TEST(CardSets, SayWhatIsMissing) {
    Node node(4);
    for (const int card : {0, 1}) {
        PodFacts full = Node::pod(std::to_string(card), build::native(gibibytes(16)));
        full.card_rules.uuids = "GPU-n-" + std::to_string(card);
        node.place(full);
    }
    auto with_cores = build::native(gibibytes(10), 2);
    with_cores[0].limits.emplace_back("tessera.dev/gpu-cores", "50");
    EXPECT_EQ(node.misfit(Node::pod("p", with_cores, "nvlink")).obstacle, Obstacle::links);
    Node untold(build::node("n", 20, gibibytes(16)));
    EXPECT_EQ(untold.misfit(Node::pod("p", build::whole(2), "nvlink")).reason,
              "No GPUs linked as asked for: asked 2 cards linked by NVLink, this node does not say "
              "how its 20 cards are");
}

// Goal: of a pod's containers each is near itself, and they may be far from each other.
TEST(CardSets, EachContainerForItself) {
    Node node(4);
    auto containers = build::whole(2);
    containers.push_back(build::whole(2)[0]);
    containers[1].name = "side";
    EXPECT_EQ(node.place(Node::pod("a", containers, "nvlink")), "0 1 2 3");
}

// Goal: those end who are on cards that are linked, though others are less important.
TEST(CardSets, PreemptionMakesRoomOnLinkedCards) {
    Node node(4);
    const auto put = [&](const std::string& name, int priority, const std::string& card) {
        PodFacts pod = Node::pod(name, build::whole(1));
        pod.priority = priority;
        pod.card_rules.uuids = card;
        EXPECT_EQ(node.place(pod), card.substr(card.size() - 1));
    };
    put("zero", 2, "GPU-n-0");
    put("one", 1, "GPU-n-1");
    put("two", 5, "GPU-n-2");
    put("three", 6, "GPU-n-3");
    PodFacts pod = Node::pod("p", build::whole(2), "nvlink");
    pod.priority = 10;
    const auto view = node.state().view();
    const Preemption plan = plan_preemption(*view->find("n"), build::ask(pod));
    std::set<std::string> victims;
    for (const Tenant* victim : plan.victims)
        victims.insert(victim->name.name);
    EXPECT_EQ(victims, (std::set<std::string>{"zero", "two"}));
}

// Goal: whoever insists on a link gets it; he is refused only where no linked cards have the room;
// and where he does not insist, near cards that have room are not passed over for far ones.
RC_GTEST_PROP(CardSets, HoldForRandomPods, ()) {
    std::mt19937 random(*rc::gen::arbitrary<std::uint32_t>());
    const auto below = [&](int end) {
        return static_cast<int>(random() % static_cast<unsigned>(end));
    };
    Node node(8);
    const auto islands = islands_of(linked_node(8).gpus);
    std::vector<std::string> there;
    for (int step = 0; step < 60; ++step) {
        if (!there.empty() && below(3) == 0) {
            node.end(there.back());
            there.pop_back();
            continue;
        }
        const std::string name = fmt::format("p{}", step);
        const int count = 1 + below(4);
        const bool insists = below(2) == 0;
        const bool is_whole = below(2) == 0;
        const int gib = 1 + below(12);
        const auto before = node.state().view();
        const NodeView& view = *before->find("n");
        const auto has_room = [&](std::size_t card) {
            const Card& of = view.cards[card];
            return is_whole ? of.holders == 0 : gibibytes(gib) <= of.free();
        };
        bool is_near_possible = false;
        for (const Island& island : islands) {
            if (!island.has(Link::nvlink)) continue;
            int room = 0;
            for (std::size_t card = 0; card < 8; ++card)
                room += is_among(island.cards, card) && has_room(card) ? 1 : 0;
            is_near_possible = is_near_possible || room >= count;
        }
        const PodFacts pod =
            Node::pod(name, is_whole ? build::whole(count) : build::native(gibibytes(gib), count),
                      insists ? "nvlink" : "");
        const std::string given = node.place(pod);
        const bool is_placed = given.size() < 10;
        if (is_placed) there.push_back(name);
        if (count == 1) continue;
        if (insists) RC_ASSERT(is_placed == is_near_possible);
        if (!is_placed) continue;
        CardMask cards = 0;
        for (const char c : given)
            if (c != ' ') cards |= CardMask{1} << static_cast<unsigned>(c - '0');
        RC_ASSERT(std::popcount(cards) == count);
        const bool is_near = std::ranges::any_of(islands, [&](const Island& island) {
            return island.has(Link::nvlink) && (cards & ~island.cards) == 0;
        });
        RC_ASSERT(is_near == is_near_possible);
    }
}

// Goal: who does not insist is placed wherever he would be without links.
RC_GTEST_PROP(CardSets, RefuseNobodyWhoDoesNotInsist, ()) {
    std::mt19937 random(*rc::gen::arbitrary<std::uint32_t>());
    const auto below = [&](int end) {
        return static_cast<int>(random() % static_cast<unsigned>(end));
    };
    NodeInventory with = build::node("n", 6, gibibytes(16));
    for (Gpu& gpu : with.gpus) {
        gpu.links = {.numa = below(2),
                     .pcie = static_cast<std::uint64_t>(below(64)),
                     .nvlink = static_cast<std::uint64_t>(below(64))};
    }
    ClusterState state;
    state.set_node(with);
    for (int i = 0; i < 4; ++i) {
        PodFacts there = build::pod(std::to_string(i), build::native(gibibytes(1 + below(16))));
        there.card_rules.uuids = fmt::format("GPU-n-{}", below(6));
        const auto made = state.reserve(build::ask(there), NodeName("n"));
        if (made) state.set_pod(build::bound(there, made->allocation));
    }
    const auto view = state.view();
    std::vector<ContainerSpec> containers;
    for (int i = 0; i <= below(3); ++i) {
        const int count = 1 + below(4);
        auto container = below(3) == 0 ? build::whole(count)[0]
                                       : build::native(gibibytes(1 + below(12)), count)[0];
        container.name = std::to_string(i);
        if (below(3) == 0) container.kind = ContainerKind::sidecar;
        containers.push_back(container);
    }
    std::ranges::stable_partition(containers, [](const ContainerSpec& container) {
        return container.kind == ContainerKind::sidecar;
    });
    const PodAsk pod = build::ask(build::pod("p", containers));
    const Offer offer = view->find("n")->offer();
    Offer without = offer;
    without.islands = {};
    Placer near(pod.request);
    Placer plain(pod.request);
    RC_ASSERT((near.try_node(offer) != nullptr) || (plain.try_node(without) == nullptr));
}

}  // namespace
}  // namespace tessera
