// How two GPUs of a node are linked.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tessera {

// In the terms of `nvidia-smi topo -m`: nvlink is NV#; pcie is PIX and PXB; numa is NODE and
// nearer. Each is one bit, and the nearer link is the larger, so sets of links can be compared by
// distance.
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
