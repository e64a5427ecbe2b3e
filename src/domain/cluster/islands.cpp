#include "domain/cluster/islands.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <tuple>

namespace tessera {
namespace {

using Neighbours = std::array<CardMask, kMostLinkedCards>;

bool tells(std::uint64_t set, const Gpu& gpu) {
    return gpu.index < 64 && ((set >> static_cast<unsigned>(gpu.index)) & 1) != 0;
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

Neighbours neighbours_of(Link link, std::span<const Gpu> gpus) {
    Neighbours out{};
    for (std::size_t a = 0; a < gpus.size(); ++a) {
        for (std::size_t b = 0; b < gpus.size(); ++b) {
            if (a != b && is_linked(link, gpus[a], gpus[b])) out.at(a) |= CardMask{1} << b;
        }
    }
    return out;
}

// Maximal cliques by Bron and Kerbosch, "Algorithm 457: finding all cliques of an undirected
// graph", CACM 16 (1973), with a pivot: `clique` and each of `candidates` are linked, those of
// `done` were candidates before.
void add_islands(Link link, const Neighbours& of, CardMask clique, CardMask candidates,
                 CardMask done, std::vector<Island>& out) {
    if ((candidates | done) == 0) {
        if (std::popcount(clique) > 1) out.push_back({link, clique});
        return;
    }
    const auto pivot = static_cast<std::size_t>(std::countr_zero(candidates | done));
    for (CardMask left = candidates & ~of.at(pivot); left != 0; left &= left - 1) {
        const auto card = static_cast<std::size_t>(std::countr_zero(left));
        const CardMask bit = CardMask{1} << card;
        add_islands(link, of, clique | bit, candidates & of.at(card), done & of.at(card), out);
        candidates &= ~bit;
        done |= bit;
    }
}

}  // namespace

std::vector<Island> islands_of(std::span<const Gpu> gpus) {
    std::vector<Island> out;
    if (gpus.size() < 2 || gpus.size() > kMostLinkedCards) return out;
    const CardMask all = (CardMask{1} << gpus.size()) - 1;
    for (const LinkRow& row : kLinks)
        add_islands(row.link, neighbours_of(row.link, gpus), 0, all, 0, out);
    std::ranges::sort(out, {}, [](const Island& of) { return std::tuple(of.link, of.cards); });
    return out;
}

}  // namespace tessera
