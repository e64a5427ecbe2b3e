#include "domain/allocation/resize.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "domain/allocation/resize_text.hpp"
#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

constexpr auto kApp = ContainerKind::app;

GpuShare share(int card, int gib, int cores = 0, int ceiling = 100) {
    return {.uuid = GpuUuid("GPU-n-" + std::to_string(card)),
            .index = card,
            .memory = gibibytes(gib),
            .cores = {cores},
            .ceiling = {ceiling}};
}

// "main" has 4 GiB and 30 percent of card 0, "side" 2 GiB of both cards, "large" card 2 whole.
Allocation example() {
    GpuShare whole = share(2, 16);
    whole.whole = true;
    return {PodUid("u"),
            NodeName("n"),
            DialectId::native,
            {{"main", kApp, {share(0, 4, 30)}},
             {"side", kApp, {share(0, 2), share(1, 2)}},
             {"large", kApp, {whole}}}};
}

// Three cards of 16 GiB; others hold 6 GiB and 50 percent of card 0, and card 1 is sick.
class Room {
  public:
    [[nodiscard]] ResizeRoom of(MemoryUnit unit = MemoryUnit::gib) const {
        return {node_.gpus, cards_, unit};
    }

    Room() {
        node_.gpus[1].condition = GpuCondition::unhealthy;
        node_.gpus[1].reason = "Xid 79";
        cards_[0].held = gibibytes(6);
        cards_[0].cores_held = {50};
        cards_[1].usable = false;
    }

  private:
    NodeInventory node_ = build::node("n", 3, gibibytes(16));
    std::vector<Card> cards_ = std::vector<Card>(3, Card{.capacity = gibibytes(16)});
};

using Wish = ResizeWish::Container;

// Goal: what can be is granted, exactly as it was wished. Method: a table of wishes with what
// changes in words.
TEST(Resize, Grants) {
    struct Case {
        std::vector<Wish> wish;
        const char* text;
    };
    const std::vector<Case> cases = {
        {{{"main", gibibytes(8), {}, {}}}, "main on card 0: memory 4Gi -> 8Gi"},
        {{{"main", kSmallestShare, {}, {}}}, "main on card 0: memory 4Gi -> 2Mi"},
        {{{"main", {}, Percent{50}, {}}}, "main on card 0: cores 30 -> 50"},
        {{{"main", {}, Percent{0}, {}}}, "main on card 0: cores 30 -> 0"},
        {{{"main", {}, {}, Percent{30}}}, "main on card 0: ceiling 100 -> 30"},
        {{{"main", gibibytes(1), Percent{1}, Percent{2}}},
         "main on card 0: memory 4Gi -> 1Gi, cores 30 -> 1, ceiling 100 -> 2"},
        {{{"side", gibibytes(1), {}, {}}},
         "side on card 0: memory 2Gi -> 1Gi; side on card 1: memory 2Gi -> 1Gi"},
        {{{"main", gibibytes(9), {}, {}}, {"side", gibibytes(1), {}, {}}},
         "main on card 0: memory 4Gi -> 9Gi; side on card 0: memory 2Gi -> 1Gi; "
         "side on card 1: memory 2Gi -> 1Gi"},
        {{{"main", {}, {}, {}}}, ""},
    };
    const Room room;
    for (const Case& c : cases) {
        const ResizeWish wish{c.wish};
        const auto after = resize(example(), wish, room.of());
        ASSERT_TRUE(after) << after.error().text;
        EXPECT_EQ(resize_text(example(), *after), c.text);
        EXPECT_EQ(after->revision, 1);
        EXPECT_TRUE(is_granted(wish, *after));
        EXPECT_EQ(is_granted(wish, example()), *c.text == '\0');
        EXPECT_TRUE(is_resize_of(example(), *after));
        EXPECT_FALSE(is_resize_of(*after, example()));
    }
}

// Goal: what cannot be is refused with the reason, and with a code that says whether it may be
// later. Method: a table.
TEST(Resize, Refuses) {
    struct Case {
        Wish wish;
        Code code;
        const char* text;
    };
    const std::vector<Case> cases = {
        {{"mian", gibibytes(1), {}, {}},
         Code::not_found,
         "the pod has no container mian with a share of a card; it has main, side, large"},
        {{"large", {}, Percent{10}, {}},
         Code::unsupported,
         "container large has whole cards: there is nothing to resize"},
        {{"main", mebibytes(1), {}, {}},
         Code::invalid_argument,
         "container main: memory: 1Mi is less than 2Mi, what a card gives out at a time"},
        {{"main", gibibytes(17), {}, {}},
         Code::invalid_argument,
         "container main: memory: 17Gi is more than card 0 has, 16Gi"},
        {{"main", {}, Percent{101}, {}},
         Code::invalid_argument,
         "container main: cores: 101 is not a percentage of one card; write 0 to 100"},
        {{"main", {}, Percent{-1}, {}},
         Code::invalid_argument,
         "container main: cores: -1 is not a percentage of one card; write 0 to 100"},
        {{"main", {}, {}, Percent{0}},
         Code::invalid_argument,
         "container main: ceiling: 0 is not a percentage of one card; write 1 to 100"},
        {{"main", {}, {}, Percent{29}},
         Code::invalid_argument,
         "container main: ceiling: 29 percent would be below the cores, 30 percent; raise the "
         "ceiling too"},
        {{"main", gibibytes(9), {}, {}},
         Code::unavailable,
         "no room on card 0: the pod would hold 11Gi of it, and beside the others it can have "
         "10Gi"},
        {{"main", {}, Percent{51}, {}},
         Code::unavailable,
         "no room on card 0: the pod would be sure of 51 percent of it, and beside the others it "
         "can be of 50"},
        {{"side", gibibytes(3), {}, {}}, Code::unavailable, "card 1 is out of use: Xid 79"},
    };
    const Room room;
    for (const Case& c : cases) {
        const auto after = resize(example(), {{c.wish}}, room.of());
        ASSERT_FALSE(after) << c.text;
        EXPECT_EQ(after.error().text, c.text);
        EXPECT_EQ(after.error().code, c.code) << c.text;
    }
}

// Goal: a pod of gpushare's dialect holds whole units of its node, as its annotations say them.
TEST(Resize, GpushareCountsInUnits) {
    Allocation aliyun = example();
    aliyun.dialect = DialectId::aliyun;
    const Room room;
    const ResizeWish odd{{{"main", mebibytes(1536), {}, {}}}};
    const auto refused = resize(aliyun, odd, room.of());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().text,
              "container main: memory: 1.5Gi is no multiple of 1Gi, in which its node counts the "
              "pod's aliyun.com/gpu-mem");
    EXPECT_TRUE(resize(aliyun, odd, room.of(MemoryUnit::mib)));
    EXPECT_TRUE(resize(example(), odd, room.of())) << "of the native dialect";
}

// Goal: a card that has left the node can be given less of, and no more.
TEST(Resize, OfACardThatIsGone) {
    Allocation gone = example();
    gone.containers[0].gpus[0].uuid = GpuUuid("GPU-gone");
    const Room room;
    EXPECT_TRUE(resize(gone, {{{"main", gibibytes(3), {}, {}}}}, room.of()));
    const auto more = resize(gone, {{{"main", gibibytes(5), {}, {}}}}, room.of());
    ASSERT_FALSE(more);
    EXPECT_EQ(more.error().text, "card GPU-gone is no longer on this node");
}

// Goal: only amounts may differ between an allocation and a resize of it. Method: one thing changed
// at a time.
TEST(Resize, TheCardsStay) {
    const auto changed = [](const std::function<void(Allocation&)>& change) {
        Allocation after = example();
        after.revision = 1;
        change(after);
        return is_resize_of(example(), after);
    };
    EXPECT_TRUE(changed([](Allocation& a) { a.containers[0].gpus[0].memory = {1}; }));
    EXPECT_FALSE(changed([](Allocation& a) { a.revision = 0; }));
    EXPECT_FALSE(changed([](Allocation& a) { a.pod = PodUid("v"); }));
    EXPECT_FALSE(changed([](Allocation& a) { a.node = NodeName("m"); }));
    EXPECT_FALSE(changed([](Allocation& a) { a.dialect = DialectId::aliyun; }));
    EXPECT_FALSE(changed([](Allocation& a) { a.containers.pop_back(); }));
    EXPECT_FALSE(changed([](Allocation& a) { a.containers[0].container = "x"; }));
    EXPECT_FALSE(changed([](Allocation& a) { a.containers[0].kind = ContainerKind::init; }));
    EXPECT_FALSE(changed([](Allocation& a) { a.containers[1].gpus.pop_back(); }));
    EXPECT_FALSE(changed([](Allocation& a) { a.containers[0].gpus[0].uuid = GpuUuid("x"); }));
    EXPECT_FALSE(changed([](Allocation& a) { a.containers[0].gpus[0].whole = true; }));
}

TEST(Resize, AnUnknownOrAWholeContainerIsNeverGranted) {
    EXPECT_FALSE(is_granted({{{"mian", {}, {}, {}}}}, example()));
    EXPECT_FALSE(is_granted({{{"large", {}, {}, {}}}}, example()));
}

// Goal: what is granted has room on each card beside the others, or was held already. Method:
// random pods, others and wishes.
RC_GTEST_PROP(ResizeProperty, NeverBeyondACard, ()) {
    const auto draw = [](int least, int most) { return *rc::gen::inRange(least, most + 1); };
    const NodeInventory node = build::node("n", 2, gibibytes(16));
    Allocation now{PodUid("u"), NodeName("n"), DialectId::native, {}};
    for (int i = 0; i < 3; ++i) {
        const auto kind = static_cast<ContainerKind>(draw(0, 2));
        now.containers.push_back(
            {"c" + std::to_string(i), kind, {share(draw(0, 1), draw(1, 5), draw(0, 30))}});
    }
    const auto before = holds(now.containers);
    std::vector<Card> cards(2, Card{.capacity = gibibytes(16)});
    for (Card& card : cards) {
        card.held = gibibytes(draw(0, 16));
        card.cores_held = {draw(0, 100)};
    }
    ResizeWish wish;
    for (int i = draw(0, 2); i >= 0; --i)
        wish.containers.push_back(
            {"c" + std::to_string(i), gibibytes(draw(1, 16)), Percent{draw(0, 100)}, {}});
    const auto after = resize(now, wish, {node.gpus, cards, MemoryUnit::gib});
    if (!after) return;
    RC_ASSERT(is_granted(wish, *after));
    for (const Hold& hold : holds(after->containers)) {
        const auto card = static_cast<std::size_t>(hold.uuid == node.gpus[0].uuid ? 0 : 1);
        const auto was = std::ranges::find(before, hold.uuid, &Hold::uuid);
        RC_ASSERT(was != before.end());
        RC_ASSERT(hold.memory <= std::max(was->memory, cards[card].free()));
        RC_ASSERT(hold.cores.value <=
                  std::max(was->cores.value, 100 - cards[card].cores_held.value));
    }
    RC_ASSERT(larger(before, holds(after->containers)).size() == before.size());
}

}  // namespace
}  // namespace tessera
