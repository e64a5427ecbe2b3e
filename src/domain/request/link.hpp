// How two cards of one node reach each other.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tessera {

// In the terms of `nvidia-smi topo -m`: NV#; PIX and PXB; NODE and nearer. As bits, of which the
// nearer link is the larger: sets of them compare as near is to far.
enum class Link : std::uint8_t { numa = 1, pcie = 2, nvlink = 4 };

struct LinkRow {
    Link link;
    std::string_view name;   // in annotations
    std::string_view words;  // after "linked by"
};

// The nearest first.
inline constexpr auto kLinks = std::to_array<LinkRow>({
    {Link::nvlink, "nvlink", "NVLink"},
    {Link::pcie, "pcie", "a PCIe switch"},
    {Link::numa, "numa", "their NUMA node"},
});

constexpr std::string_view words_of(Link link) {
    for (const LinkRow& row : kLinks) {
        if (row.link == link) return row.words;
    }
    return {};
}

}  // namespace tessera
