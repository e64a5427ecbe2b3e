#include "domain/cluster/topology_groups.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>

#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

std::vector<Gpu> make_gpus(int count) {
    return build::node("n", count, gibibytes(16)).gpus;
}

void link(std::uint64_t GpuLinks::* kind, std::vector<Gpu>& gpus, std::size_t a, std::size_t b) {
    gpus[a].links.*kind |= std::uint64_t{1} << static_cast<unsigned>(gpus[b].index);
    gpus[b].links.*kind |= std::uint64_t{1} << static_cast<unsigned>(gpus[a].index);
}

std::vector<GpuMask> masks(Link link, const std::vector<Gpu>& gpus) {
    std::vector<GpuMask> out;
    for (const TopologyGroup& topology_group : topology_groups_of(gpus)) {
        if (topology_group.has(link)) out.push_back(topology_group.gpus);
    }
    return out;
}

using Masks = std::vector<GpuMask>;

TEST(TopologyGroups, PairsSwitchesAndNumaNodes) {
    auto gpus = make_gpus(4);
    EXPECT_EQ(topology_groups_of(gpus), std::vector<TopologyGroup>{}) << "no links are reported";
    link(&GpuLinks::nvlink, gpus, 0, 2);
    link(&GpuLinks::nvlink, gpus, 1, 3);
    link(&GpuLinks::pcie, gpus, 0, 1);
    for (std::size_t i = 0; i < 4; ++i)
        gpus[i].links.numa = i < 3 ? 0 : 1;
    constexpr unsigned kNumaOnly = 1, kNvlinkAndNuma = 5, kNvlinkOnly = 4, kPcieAndNuma = 3;
    const std::vector<TopologyGroup> expected = {{kNvlinkAndNuma, 0b0101, 0},
                                                 {kNvlinkOnly, 0b1010, 1},
                                                 {kPcieAndNuma, 0b0011, 0},
                                                 {kNumaOnly, 0b0111, 0}};
    EXPECT_EQ(topology_groups_of(gpus), expected);
}

// Goal: positions and the driver's indices are different; a GPU that fell off the bus leaves a gap.
TEST(TopologyGroups, GoByPosition) {
    auto gpus = make_gpus(4);
    link(&GpuLinks::nvlink, gpus, 1, 3);
    gpus.erase(gpus.begin());
    EXPECT_EQ(masks(Link::nvlink, gpus), Masks{0b101});
}

// Goal: a link that only one GPU reports does not count.
TEST(TopologyGroups, WantBothEnds) {
    auto gpus = make_gpus(2);
    gpus[0].links.nvlink = 0b10;
    EXPECT_EQ(topology_groups_of(gpus), std::vector<TopologyGroup>{});
    gpus[1].links.nvlink = 0b01;
    EXPECT_EQ(masks(Link::nvlink, gpus), Masks{0b11});
}

// Goal: quads that single links connect, as in a DGX-1: each two GPUs of a topology group are
// linked.
TEST(TopologyGroups, OfMeshes) {
    auto gpus = make_gpus(8);
    for (std::size_t quad : {0U, 4U}) {
        for (std::size_t a = 0; a < 4; ++a) {
            for (std::size_t b = a + 1; b < 4; ++b)
                link(&GpuLinks::nvlink, gpus, quad + a, quad + b);
        }
    }
    for (std::size_t a = 0; a < 4; ++a)
        link(&GpuLinks::nvlink, gpus, a, a + 4);
    EXPECT_EQ(masks(Link::nvlink, gpus), (Masks{0x0F, 0xF0, 0x11, 0x22, 0x44, 0x88}))
        << "quads first: a pair across two quads breaks both up";
}

TEST(TopologyGroups, NoneOfManyGpus) {
    auto gpus = make_gpus(kMostLinkedGpus + 1);
    for (Gpu& gpu : gpus)
        gpu.links.numa = 0;
    EXPECT_EQ(topology_groups_of(gpus), std::vector<TopologyGroup>{});
    gpus.pop_back();
    EXPECT_EQ(masks(Link::numa, gpus), Masks{0xFFFF});
}

// Goal: for any links, the topology groups are exactly the maximal ones. Method: compare with all
// sets of up to eight GPUs.
RC_GTEST_PROP(TopologyGroups, AreTheMaximalCliques, ()) {
    const int count = *rc::gen::inRange(1, 9);
    auto gpus = make_gpus(count);
    std::vector<GpuMask> linked(gpus.size());
    for (std::size_t a = 0; a < gpus.size(); ++a) {
        for (std::size_t b = a + 1; b < gpus.size(); ++b) {
            if (!*rc::gen::arbitrary<bool>()) continue;
            link(&GpuLinks::pcie, gpus, a, b);
            linked[a] |= GpuMask{1} << b;
            linked[b] |= GpuMask{1} << a;
        }
    }
    const auto is_clique = [&](GpuMask set) {
        for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu) {
            const GpuMask others = set & ~(GpuMask{1} << gpu);
            if (is_among(set, gpu) && (others & ~linked[gpu]) != 0) return false;
        }
        return true;
    };
    std::vector<GpuMask> expected;
    for (GpuMask set = 0; set < GpuMask{1} << gpus.size(); ++set) {
        bool is_maximal = std::popcount(set) > 1 && is_clique(set);
        for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu) {
            if (!is_among(set, gpu) && is_clique(set | GpuMask{1} << gpu)) is_maximal = false;
        }
        if (is_maximal) expected.push_back(set);
    }
    auto found = masks(Link::pcie, gpus);
    std::ranges::sort(found);
    RC_ASSERT(found == expected || expected.size() > kMostTopologyGroups);
}

}  // namespace
}  // namespace tessera
