// How two cards of one node reach each other.
#pragma once

#include <array>
#include <string_view>

namespace tessera {

// The nearest first. In the terms of `nvidia-smi topo -m`: NV#; PIX and PXB; NODE and nearer.
enum class Link { nvlink, pcie, numa };

struct LinkRow {
    Link link;
    std::string_view name;   // in annotations
    std::string_view words;  // after "linked by"
};

inline constexpr auto kLinks = std::to_array<LinkRow>({
    {Link::nvlink, "nvlink", "NVLink"},
    {Link::pcie, "pcie", "a PCIe switch"},
    {Link::numa, "numa", "their NUMA node"},
});

constexpr std::string_view words_of(Link link) {
    return kLinks[static_cast<std::size_t>(link)].words;
}

}  // namespace tessera
