#include "domain/cluster/topology_groups.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <tuple>

namespace tessera {
namespace {

using Neighbours = std::array<GpuMask, kMostLinkedGpus>;

bool tells(std::uint64_t set, const Gpu& gpu) {
    return gpu.index <= kMostLinkedIndex && ((set >> static_cast<unsigned>(gpu.index)) & 1) != 0;
}

bool is_linked(Link link, const Gpu& a, const Gpu& b) {
    switch (link) {
        case Link::nvlink:
            return tells(a.links.nvlink, b) && tells(b.links.nvlink, a);
        case Link::pcie:
            return tells(a.links.pcie, b) && tells(b.links.pcie, a);
        case Link::numa:
            return a.links.numa != kNumaUnknown && a.links.numa == b.links.numa;
    }
    return false;
}

bool are_linked(unsigned links, const Gpu& a, const Gpu& b) {
    return std::ranges::all_of(kLinks, [&](const LinkRow& row) {
        return (links & static_cast<unsigned>(row.link)) == 0 || is_linked(row.link, a, b);
    });
}

Neighbours neighbours_of(unsigned links, std::span<const Gpu> gpus) {
    Neighbours out{};
    for (std::size_t a = 0; a < gpus.size(); ++a) {
        for (std::size_t b = 0; b < gpus.size(); ++b) {
            if (a != b && are_linked(links, gpus[a], gpus[b])) out.at(a) |= GpuMask{1} << b;
        }
    }
    return out;
}

// Maximal cliques by Bron and Kerbosch, "Algorithm 457: finding all cliques of an undirected
// graph", CACM 16 (1973), with a pivot. Each of `candidates` is linked with all of `clique`; those
// of `done` were candidates before.
void add_cliques(const Neighbours& of, GpuMask clique, GpuMask candidates, GpuMask done,
                 std::vector<GpuMask>& out) {
    if ((candidates | done) == 0) {
        if (std::popcount(clique) > 1) out.push_back(clique);
        return;
    }
    const auto pivot = static_cast<std::size_t>(std::countr_zero(candidates | done));
    for (GpuMask left = candidates & ~of.at(pivot); left != 0; left &= left - 1) {
        const auto gpu = static_cast<std::size_t>(std::countr_zero(left));
        const GpuMask bit = GpuMask{1} << gpu;
        add_cliques(of, clique | bit, candidates & of.at(gpu), done & of.at(gpu), out);
        candidates &= ~bit;
        done |= bit;
    }
}

int crossed_by(const TopologyGroup& topology_group, std::span<const TopologyGroup> all) {
    return static_cast<int>(std::ranges::count_if(all, [&](const TopologyGroup& other) {
        return std::popcount(other.gpus) > std::popcount(topology_group.gpus) &&
               (other.gpus & topology_group.gpus) != 0 && (topology_group.gpus & ~other.gpus) != 0;
    }));
}

}  // namespace

std::vector<TopologyGroup> topology_groups_of(std::span<const Gpu> gpus) {
    std::vector<TopologyGroup> out;
    if (gpus.size() < 2 || gpus.size() > kMostLinkedGpus) return out;
    constexpr unsigned kAllLinks = (1U << kLinks.size()) - 1;
    const GpuMask all = (GpuMask{1} << gpus.size()) - 1;
    for (unsigned links = kAllLinks; links > 0; --links) {
        std::vector<GpuMask> cliques;
        add_cliques(neighbours_of(links, gpus), 0, all, 0, cliques);
        for (const GpuMask clique : cliques) {
            // The same GPUs may already be there with more links; those include these links.
            if (std::ranges::find(out, clique, &TopologyGroup::gpus) == out.end())
                out.push_back({.links = links, .gpus = clique});
        }
    }
    for (TopologyGroup& topology_group : out)
        topology_group.crossed = crossed_by(topology_group, out);
    std::ranges::sort(out, {}, [](const TopologyGroup& of) {
        return std::tuple(~of.links, of.crossed, of.gpus);
    });
    if (out.size() > kMostTopologyGroups) out.resize(kMostTopologyGroups);
    return out;
}

}  // namespace tessera
