#include "domain/cluster/islands.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>

#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

std::vector<Gpu> cards(int count) {
    return build::node("n", count, gibibytes(16)).gpus;
}

void link(std::uint64_t CardLinks::* kind, std::vector<Gpu>& gpus, std::size_t a, std::size_t b) {
    gpus[a].links.*kind |= std::uint64_t{1} << static_cast<unsigned>(gpus[b].index);
    gpus[b].links.*kind |= std::uint64_t{1} << static_cast<unsigned>(gpus[a].index);
}

std::vector<CardMask> masks(Link link, const std::vector<Gpu>& gpus) {
    std::vector<CardMask> out;
    for (const Island& island : islands_of(gpus)) {
        if (island.has(link)) out.push_back(island.cards);
    }
    return out;
}

using Masks = std::vector<CardMask>;

TEST(Islands, PairsSwitchesAndNumaNodes) {
    auto gpus = cards(4);
    EXPECT_EQ(islands_of(gpus), std::vector<Island>{}) << "nothing is told";
    link(&CardLinks::nvlink, gpus, 0, 2);
    link(&CardLinks::nvlink, gpus, 1, 3);
    link(&CardLinks::pcie, gpus, 0, 1);
    for (std::size_t i = 0; i < 4; ++i)
        gpus[i].links.numa = i < 3 ? 0 : 1;
    constexpr unsigned kNumaOnly = 1, kNvlinkAndNuma = 5, kNvlinkOnly = 4, kPcieAndNuma = 3;
    const std::vector<Island> expected = {{kNvlinkAndNuma, 0b0101, 0},
                                          {kNvlinkOnly, 0b1010, 1},
                                          {kPcieAndNuma, 0b0011, 0},
                                          {kNumaOnly, 0b0111, 0}};
    EXPECT_EQ(islands_of(gpus), expected);
}

// Goal: positions and the driver's indices are two things; a card that fell off leaves a gap.
TEST(Islands, GoByPosition) {
    auto gpus = cards(4);
    link(&CardLinks::nvlink, gpus, 1, 3);
    gpus.erase(gpus.begin());
    EXPECT_EQ(masks(Link::nvlink, gpus), Masks{0b101});
}

// Goal: what one card alone tells is no link.
TEST(Islands, WantBothEnds) {
    auto gpus = cards(2);
    gpus[0].links.nvlink = 0b10;
    EXPECT_EQ(islands_of(gpus), std::vector<Island>{});
    gpus[1].links.nvlink = 0b01;
    EXPECT_EQ(masks(Link::nvlink, gpus), Masks{0b11});
}

// Goal: quads that hang together by single links, as in a DGX-1: each two of an island are linked.
TEST(Islands, OfMeshes) {
    auto gpus = cards(8);
    for (std::size_t quad : {0U, 4U}) {
        for (std::size_t a = 0; a < 4; ++a) {
            for (std::size_t b = a + 1; b < 4; ++b)
                link(&CardLinks::nvlink, gpus, quad + a, quad + b);
        }
    }
    for (std::size_t a = 0; a < 4; ++a)
        link(&CardLinks::nvlink, gpus, a, a + 4);
    EXPECT_EQ(masks(Link::nvlink, gpus), (Masks{0x0F, 0xF0, 0x11, 0x22, 0x44, 0x88}))
        << "quads first: who takes a pair across breaks two of them up";
}

TEST(Islands, NoneOfManyCards) {
    auto gpus = cards(kMostLinkedCards + 1);
    for (Gpu& gpu : gpus)
        gpu.links.numa = 0;
    EXPECT_EQ(islands_of(gpus), std::vector<Island>{});
    gpus.pop_back();
    EXPECT_EQ(masks(Link::numa, gpus), Masks{0xFFFF});
}

// Goal: of any links, islands are all that cannot grow, and nothing else.
// Method: compare with all sets of up to eight cards.
RC_GTEST_PROP(Islands, AreTheMaximalCliques, ()) {
    const int count = *rc::gen::inRange(1, 9);
    auto gpus = cards(count);
    std::vector<CardMask> linked(gpus.size());
    for (std::size_t a = 0; a < gpus.size(); ++a) {
        for (std::size_t b = a + 1; b < gpus.size(); ++b) {
            if (!*rc::gen::arbitrary<bool>()) continue;
            link(&CardLinks::pcie, gpus, a, b);
            linked[a] |= CardMask{1} << b;
            linked[b] |= CardMask{1} << a;
        }
    }
    const auto is_clique = [&](CardMask set) {
        for (std::size_t card = 0; card < gpus.size(); ++card) {
            const CardMask others = set & ~(CardMask{1} << card);
            if (is_among(set, card) && (others & ~linked[card]) != 0) return false;
        }
        return true;
    };
    std::vector<CardMask> expected;
    for (CardMask set = 0; set < CardMask{1} << gpus.size(); ++set) {
        bool is_maximal = std::popcount(set) > 1 && is_clique(set);
        for (std::size_t card = 0; card < gpus.size(); ++card) {
            if (!is_among(set, card) && is_clique(set | CardMask{1} << card)) is_maximal = false;
        }
        if (is_maximal) expected.push_back(set);
    }
    auto found = masks(Link::pcie, gpus);
    std::ranges::sort(found);
    RC_ASSERT(found == expected || expected.size() > kMostIslands);
}

}  // namespace
}  // namespace tessera
