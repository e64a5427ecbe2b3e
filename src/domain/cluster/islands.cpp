#include "domain/cluster/islands.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <tuple>

namespace tessera {
namespace {

using Neighbours = std::array<CardMask, kMostLinkedCards>;

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
            if (a != b && are_linked(links, gpus[a], gpus[b])) out.at(a) |= CardMask{1} << b;
        }
    }
    return out;
}

// Maximal cliques by Bron and Kerbosch, "Algorithm 457: finding all cliques of an undirected
// graph", CACM 16 (1973), with a pivot: `clique` and each of `candidates` are linked, those of
// `done` were candidates before.
void add_cliques(const Neighbours& of, CardMask clique, CardMask candidates, CardMask done,
                 std::vector<CardMask>& out) {
    if ((candidates | done) == 0) {
        if (std::popcount(clique) > 1) out.push_back(clique);
        return;
    }
    const auto pivot = static_cast<std::size_t>(std::countr_zero(candidates | done));
    for (CardMask left = candidates & ~of.at(pivot); left != 0; left &= left - 1) {
        const auto card = static_cast<std::size_t>(std::countr_zero(left));
        const CardMask bit = CardMask{1} << card;
        add_cliques(of, clique | bit, candidates & of.at(card), done & of.at(card), out);
        candidates &= ~bit;
        done |= bit;
    }
}

int crossed_by(const Island& island, std::span<const Island> all) {
    return static_cast<int>(std::ranges::count_if(all, [&](const Island& other) {
        return std::popcount(other.cards) > std::popcount(island.cards) &&
               (other.cards & island.cards) != 0 && (island.cards & ~other.cards) != 0;
    }));
}

}  // namespace

std::vector<Island> islands_of(std::span<const Gpu> gpus) {
    std::vector<Island> out;
    if (gpus.size() < 2 || gpus.size() > kMostLinkedCards) return out;
    constexpr unsigned kAllLinks = (1U << kLinks.size()) - 1;
    const CardMask all = (CardMask{1} << gpus.size()) - 1;
    for (unsigned links = kAllLinks; links > 0; --links) {
        std::vector<CardMask> cliques;
        add_cliques(neighbours_of(links, gpus), 0, all, 0, cliques);
        for (const CardMask cards : cliques) {
            // The same cards with more links came before: with both sets of links together, too.
            if (std::ranges::find(out, cards, &Island::cards) == out.end())
                out.push_back({.links = links, .cards = cards});
        }
    }
    for (Island& island : out)
        island.crossed = crossed_by(island, out);
    std::ranges::sort(out, {},
                      [](const Island& of) { return std::tuple(~of.links, of.crossed, of.cards); });
    if (out.size() > kMostIslands) out.resize(kMostIslands);
    return out;
}

}  // namespace tessera
