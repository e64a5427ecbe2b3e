#include "domain/placement/place.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "domain/placement/misfit.hpp"
#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

using build::container;

constexpr auto kGib = MemoryUnit::gib;
const std::string kMem(resource::kAliyunMem);
const std::string kCount(resource::kAliyunCount);
const std::string kPercentage(resource::kAliyunCores);

std::vector<Card> cards(int count, int gib) {
    return std::vector<Card>(static_cast<std::size_t>(count), Card{.capacity = gibibytes(gib)});
}

// The cards that the best fit takes; empty when there is none.
std::vector<int> place(const std::vector<ContainerSpec>& containers, std::span<const Card> on,
                       MemoryUnit unit = kGib) {
    const PodRequest request = build::request(containers);
    Placer placer(request);
    const Fit* fit = placer.try_node(build::node_view(on, unit).offer());
    return fit == nullptr ? std::vector<int>{} : fit->cards;
}

using Cards = std::vector<int>;

// Goal: the choices that gpushare's scheduler made on 2 cards of 16 (docs/research/gpushare.md
// §2.5). Method: its own sequence, with what was given held before the next.
TEST(Place, BestFitAsGpushare) {
    auto two = cards(2, 16);
    const std::vector<std::pair<int, int>> steps = {{8, 0}, {5, 0}, {4, 1}, {3, 0}};
    for (const auto& [units, expected] : steps) {
        const Cards chosen = place(build::aliyun(units), two);
        ASSERT_EQ(chosen, Cards{expected}) << units;
        two[static_cast<std::size_t>(expected)].held += gibibytes(units);
        two[static_cast<std::size_t>(expected)].holders += 1;
    }
    EXPECT_EQ(two[0].free(), gibibytes(0));
    EXPECT_EQ(two[1].free(), gibibytes(12));
}

// Goal: the card with the least room that is enough wins; the lowest index among equals; a card
// that is too full, unhealthy or short of compute never does. Method: a table of card states.
TEST(Place, ChoosesAmongCards) {
    struct Case {
        const char* what;
        std::vector<Card> on;
        std::vector<ContainerSpec> containers;
        Cards expected;
    };
    const auto held = [](int gib, int cores = 0, bool healthy = true) {
        return Card{gibibytes(16), gibibytes(gib), {cores}, gib > 0 ? 1 : 0, healthy};
    };
    const std::vector<ContainerSpec> with_cores = {
        container("main", {{kMem, "4"}, {kPercentage, "50"}})};
    const std::vector<Case> cases = {
        {"tie", {held(0), held(0)}, build::aliyun(4), {0}},
        {"fuller card", {held(0), held(8), held(4)}, build::aliyun(4), {1}},
        {"fullest is too full", {held(0), held(13), held(4)}, build::aliyun(4), {2}},
        {"exactly the rest", {held(0), held(12)}, build::aliyun(4), {1}},
        {"all of a card", {held(1), held(0)}, build::aliyun(16), {1}},
        {"nothing is enough", {held(13), held(14)}, build::aliyun(4), {}},
        {"no cards", {}, build::aliyun(1), {}},
        {"unhealthy is skipped", {held(8, 0, false), held(0)}, build::aliyun(4), {1}},
        {"only unhealthy", {held(0, 0, false)}, build::aliyun(1), {}},
        {"compute is short", {held(8, 60), held(0, 50)}, with_cores, {1}},
        {"compute is short everywhere", {held(8, 60), held(0, 51)}, with_cores, {}},
        {"no compute asked", {held(8, 100), held(0)}, build::aliyun(4), {0}},
        {"whole card", {held(1), held(0)}, build::whole(), {1}},
        {"no whole card left", {held(1), held(1)}, build::whole(), {}},
        {"two whole cards", {held(0), held(1), held(0)}, build::whole(2), {0, 2}},
        {"too few whole cards", {held(0), held(1), held(2)}, build::whole(2), {}},
        {"distinct cards", {held(0), held(0)}, build::native(gibibytes(4), 2), {0, 1}},
        {"fuller cards first", {held(0), held(8), held(4)}, build::native(gibibytes(4), 2), {1, 2}},
        {"more cards than there are", {held(0), held(0)}, build::native(gibibytes(4), 3), {}},
        {"one of the cards is too full", {held(0), held(15)}, build::native(gibibytes(4), 2), {}},
    };
    for (const Case& c : cases)
        EXPECT_EQ(place(c.containers, c.on), c.expected) << c.what;
}

// Goal: a whole card is one that nobody else holds, even if what is held there is nothing.
TEST(Place, WholeCardIsShared) {
    std::vector<Card> on = cards(1, 16);
    on[0].holders = 1;
    EXPECT_EQ(place(build::whole(), on), Cards{});
    on[0].holders = 0;
    EXPECT_EQ(place(build::whole(), on), Cards{0});
}

// Goal: cards of one node may differ in size; each is asked for what the request means on it.
TEST(Place, DifferentCardsOnOneNode) {
    const std::vector<Card> on = {{.capacity = gibibytes(80)}, {.capacity = gibibytes(24)}};
    EXPECT_EQ(place(build::aliyun(20), on), Cards{1});
    EXPECT_EQ(place(build::aliyun(25), on), Cards{0});
    EXPECT_EQ(place(build::whole(2), on), (Cards{0, 1}));
    const auto given = containers_of(
        build::request(build::whole(2)), {.cards = {1, 0}},
        std::vector{build::gpu("n", 0, gibibytes(80)), build::gpu("n", 1, gibibytes(24))}, kGib);
    EXPECT_EQ(given[0].gpus[0].memory, gibibytes(24));
    EXPECT_EQ(given[0].gpus[1].memory, gibibytes(80));
}

// Goal: aliyun.com/gpu-mem counts in the node's own unit; a quantity of bytes never does.
TEST(Place, UnitOfTheNode) {
    const std::vector<Card> on = {{.capacity = mebibytes(100)}};
    EXPECT_EQ(place(build::aliyun(100), on, MemoryUnit::mib), Cards{0});
    EXPECT_EQ(place(build::aliyun(101), on, MemoryUnit::mib), Cards{});
    EXPECT_EQ(place(build::aliyun(1), on, kGib), Cards{});
    EXPECT_EQ(place(build::native(mebibytes(100)), on, kGib), Cards{0});
}

// Goal: the containers of a pod share a card as they run: apps and sidecars together, an init
// container before them. Method: a table on one card of 16 with 2 held.
TEST(Place, ContainersOfOnePodTogether) {
    struct Case {
        const char* what;
        std::vector<std::pair<ContainerKind, int>> containers;
        bool fits;
    };
    constexpr auto kApp = ContainerKind::app;
    constexpr auto kInit = ContainerKind::init;
    constexpr auto kSidecar = ContainerKind::sidecar;
    const std::vector<Case> cases = {
        {"two apps fit", {{kApp, 7}, {kApp, 7}}, true},
        {"two apps do not", {{kApp, 7}, {kApp, 8}}, false},
        {"init and app share", {{kInit, 14}, {kApp, 14}}, true},
        {"inits share", {{kInit, 14}, {kInit, 13}, {kApp, 1}}, true},
        {"init is too large", {{kInit, 15}, {kApp, 1}}, false},
        {"sidecar and app add up", {{kSidecar, 7}, {kApp, 8}}, false},
        {"sidecar and later init add up", {{kSidecar, 7}, {kInit, 8}, {kApp, 1}}, false},
        {"sidecar after init does not", {{kInit, 14}, {kSidecar, 7}, {kApp, 7}}, true},
    };
    std::vector<Card> on = cards(1, 16);
    on[0].held = gibibytes(2);
    for (const Case& c : cases) {
        std::vector<ContainerSpec> containers;
        for (const auto& [kind, units] : c.containers)
            containers.push_back(container("c", {{kMem, std::to_string(units)}}, kind));
        EXPECT_EQ(!place(containers, on).empty(), c.fits) << c.what;
    }
}

// Goal: a pod's containers may lie on different cards, each on one that is enough.
TEST(Place, ContainersOfOnePodApart) {
    const std::vector<ContainerSpec> two = {container("a", {{kMem, "10"}}),
                                            container("b", {{kMem, "10"}})};
    EXPECT_EQ(place(two, cards(2, 16)), (Cards{0, 1}));
    EXPECT_EQ(place(two, cards(1, 16)), Cards{});
    const std::vector<ContainerSpec> small = {container("a", {{kMem, "6"}}),
                                              container("b", {{kMem, "6"}})};
    EXPECT_EQ(place(small, cards(2, 16)), (Cards{0, 0}));
}

// Goal: the order in which containers stand decides nothing where it need not: a small one does not
// take the only card that is large enough for another. What was given is told in the pod's order.
TEST(Place, SmallContainersBeforeLargeOnes) {
    const std::vector<Card> on = {{.capacity = gibibytes(15)}, {.capacity = gibibytes(24)}};
    const auto apps = [](const std::vector<int>& sizes) {
        std::vector<ContainerSpec> out;
        for (const int gib : sizes)
            out.push_back(container("c", {{kMem, std::to_string(gib)}}));
        return out;
    };
    EXPECT_EQ(place(apps({15, 15, 4}), on), (Cards{0, 1, 1}));
    EXPECT_EQ(place(apps({4, 15, 15}), on), (Cards{1, 0, 1}));
    EXPECT_EQ(place(apps({4, 15, 16}), on), (Cards{1, 0, 1}));
    EXPECT_EQ(place(apps({4, 15, 21}), on), Cards{});

    std::vector<ContainerSpec> pod = apps({3});
    pod.insert(pod.begin(), container("init", {{kMem, "10"}}, ContainerKind::init));
    pod.insert(pod.begin() + 1, container("sidecar", {{kMem, "1"}}, ContainerKind::sidecar));
    pod.push_back(container("two", {{kMem, "24"}, {kCount, "2"}}));
    EXPECT_EQ(place(pod, on), (Cards{0, 0, 1, 0, 1}));
}

// Goal: a placer is used for node after node without remembering the last one.
TEST(Place, PlacerForgetsTheLastNode) {
    const PodRequest request = build::request(build::aliyun(10));
    Placer placer(request);
    const auto full = cards(1, 4);
    const auto roomy = cards(1, 16);
    ASSERT_NE(placer.try_node(build::node_view(roomy, kGib).offer()), nullptr);
    const std::int64_t price = placer.try_node(build::node_view(roomy, kGib).offer())->price;
    EXPECT_EQ(placer.try_node(build::node_view(full, kGib).offer()), nullptr);
    ASSERT_NE(placer.try_node(build::node_view(roomy, kGib).offer()), nullptr);
    EXPECT_EQ(placer.try_node(build::node_view(roomy, kGib).offer())->price, price);
    EXPECT_EQ(placer.try_node(build::node_view(roomy, kGib).offer())->cards, Cards{0});
}

// Goal: the price orders nodes: the one with less room left is cheaper, and what the pod's own
// containers take counts.
TEST(Place, PriceOrdersNodes) {
    const PodRequest request = build::request(build::aliyun(4));
    Placer placer(request);
    auto used = cards(1, 16);
    used[0].held = gibibytes(8);
    const auto empty = cards(1, 16);
    const std::int64_t empty_price = placer.try_node(build::node_view(empty, kGib).offer())->price;
    const std::int64_t used_price = placer.try_node(build::node_view(used, kGib).offer())->price;
    EXPECT_LT(used_price, empty_price);
    EXPECT_EQ(used_price, 4 * kGiB);
}

// Goal: the allocation says of each container which cards it was given, in the request's order.
TEST(ContainersOf, TurnsAFitIntoShares) {
    const PodRequest request = build::request({
        container("prepare", {{kMem, "6"}}, ContainerKind::init),
        container("main", {{kMem, "8"}, {kCount, "2"}, {kPercentage, "25"}}),
    });
    const std::vector<Gpu> gpus = {build::gpu("n", 0, gibibytes(16)),
                                   build::gpu("n", 1, gibibytes(16))};
    const auto given = containers_of(request, {.cards = {1, 1, 0}}, gpus, kGib);
    ASSERT_EQ(given.size(), 2U);
    EXPECT_EQ(given[0],
              (ContainerAllocation{
                  "prepare", ContainerKind::init, {{gpus[1].uuid, 1, gibibytes(6), {0}, false}}}));
    EXPECT_EQ(given[1], (ContainerAllocation{"main",
                                             ContainerKind::app,
                                             {{gpus[1].uuid, 1, gibibytes(4), {25}, false},
                                              {gpus[0].uuid, 0, gibibytes(4), {25}, false}}}));
}

std::vector<Card> random_cards() {
    std::vector<Card> out;
    const int count = *rc::gen::inRange(0, 6);
    for (int i = 0; i < count; ++i) {
        const auto capacity = *rc::gen::inRange<std::int64_t>(1, 24);
        const auto held = *rc::gen::inRange<std::int64_t>(0, capacity + 1);
        out.push_back({.capacity = gibibytes(capacity),
                       .held = gibibytes(held),
                       .cores_held = {*rc::gen::inRange(0, 101)},
                       .holders = held > 0 ? 1 : *rc::gen::inRange(0, 2),
                       .usable = *rc::gen::inRange(0, 5) > 0});
    }
    return out;
}

std::vector<ContainerSpec> random_containers() {
    std::vector<ContainerSpec> out;
    const bool native = *rc::gen::arbitrary<bool>();
    const int count = *rc::gen::inRange(1, 4);
    for (int i = 0; i < count; ++i) {
        const int gpus = *rc::gen::inRange(1, 4);
        const int gib = *rc::gen::inRange(1, 12);
        const int cores = *rc::gen::inRange(0, 101);
        build::Limits limits;
        if (!native) {
            limits = {{kMem, std::to_string(gib * gpus)}, {kCount, std::to_string(gpus)}};
            if (cores > 0) limits.emplace_back(kPercentage, std::to_string(cores));
        } else {
            limits = {{std::string(resource::kGpu), std::to_string(gpus)}};
            if (gib < 8) limits.emplace_back(resource::kGpuMemory, std::to_string(gib) + "Gi");
            if (gib < 8 && cores > 0)
                limits.emplace_back(resource::kGpuCores, std::to_string(cores));
        }
        const auto kind = static_cast<ContainerKind>(*rc::gen::inRange(0, 3));
        out.push_back(container("c" + std::to_string(i), limits, kind));
    }
    std::ranges::stable_sort(out, {},
                             [](const ContainerSpec& c) { return c.kind == ContainerKind::app; });
    return out;
}

// Goal: a fit never takes what is not there. Method: random cards and pods; add the holds of the
// fit to the cards and look for a card over its memory or compute, sick, or shared though whole.
RC_GTEST_PROP(PlaceProperty, AFitIsWithinEveryCard, ()) {
    const auto on = random_cards();
    const PodRequest request = build::request(random_containers());
    Placer placer(request);
    const Fit* fit = placer.try_node(build::node_view(on, kGib).offer());
    if (fit == nullptr) {
        RC_ASSERT(!Explainer(request).explain(build::node_view(on).offer()).reason.empty());
        return;
    }
    std::vector<Gpu> gpus;
    for (std::size_t i = 0; i < on.size(); ++i)
        gpus.push_back(build::gpu("n", static_cast<int>(i), on[i].capacity));
    const auto given = containers_of(request, *fit, gpus, kGib);
    for (const Hold& hold : holds(given)) {
        const auto at = std::ranges::find(gpus, hold.uuid, &Gpu::uuid) - gpus.begin();
        const Card& card = on[static_cast<std::size_t>(at)];
        RC_ASSERT(card.usable);
        RC_ASSERT(card.held + hold.memory <= card.capacity);
        RC_ASSERT((card.cores_held + hold.cores).value <= 100);
    }
    for (const ContainerAllocation& c : given) {
        std::set<int> distinct;
        for (const GpuShare& share : c.gpus) {
            RC_ASSERT(distinct.insert(share.index).second);
            const Card& card = on[static_cast<std::size_t>(share.index)];
            RC_ASSERT(!share.whole || (card.holders == 0 && share.memory == card.capacity));
        }
    }
}

// Goal: for one share, best fit is the best: no healthy card with room enough has less of it, and
// "no" is only said when there is none. Method: compare with a plain search.
RC_GTEST_PROP(PlaceProperty, OneShareTakesTheTightestCard, ()) {
    const auto on = random_cards();
    const int units = *rc::gen::inRange(1, 24);
    std::vector<int> enough;
    for (std::size_t i = 0; i < on.size(); ++i) {
        if (on[i].usable && on[i].free() >= gibibytes(units)) enough.push_back(static_cast<int>(i));
    }
    const auto tightest = std::ranges::min_element(
        enough, {}, [&](int i) { return on[static_cast<std::size_t>(i)].free(); });
    RC_ASSERT(place(build::aliyun(units), on) == (enough.empty() ? Cards{} : Cards{*tightest}));
}

// Goal: "never" is only said when no other state of these cards would help. Method: what is called
// never must not fit even when every card is empty and healthy.
RC_GTEST_PROP(PlaceProperty, NeverMeansNever, ()) {
    auto on = random_cards();
    const PodRequest request = build::request(random_containers());
    Placer placer(request);
    if (placer.try_node(build::node_view(on, kGib).offer()) != nullptr) return;
    if (!Explainer(request).explain(build::node_view(on).offer()).never) return;
    for (Card& card : on)
        card = {.capacity = card.capacity};
    RC_ASSERT(placer.try_node(build::node_view(on, kGib).offer()) == nullptr);
}

}  // namespace
}  // namespace tessera
