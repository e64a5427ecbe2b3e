// The text that describes a simulated node's cards.
//
//     seed: node-a                  # optional: other text, other generated UUIDs
//     cards:                        # 1 to 64 of
//       - model: Tesla T4
//         memory: 15360MiB          # digits and "", B, KiB, MiB, GiB or TiB
//         reserved: 0               # optional: the driver's own share of memory; 0
//         uuid: GPU-<8-4-4-4-12>    # optional: made from seed and index
//         minor: 3                  # optional: the index; names the marker dev/nvidia3
//         pci_bus_id: 0000:17:00.0  # optional: 0000:<16 + index in hex>:00.0
//         compute_capability: 7.5   # optional: 7.5
//         context_overhead: 0       # optional: what each CUDA context costs; 0
//         graph_overhead: 0         # optional: what each executable graph costs; 0
//         numa: 0                   # optional: the NUMA node of its slot, to 63; 0
//         pcie_switch: 0            # optional: cards with the same number are behind one; none
//         nvlink: 0                 # optional: cards with the same number are linked; none
//         event_clock_fast_ppm: 0   # optional: the clock of events beside the host's, to 9999; 0
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "gpusim/state/layout.hpp"

namespace gpusim {

struct CardSpec {
    std::string model;
    std::uint64_t memory_bytes = 0;
    std::uint64_t reserved_bytes = 0;
    std::uint64_t context_overhead_bytes = 0;
    std::uint64_t graph_overhead_bytes = 0;
    std::string uuid;
    unsigned minor = 0;
    unsigned pci_domain = 0;
    unsigned pci_bus = 0;
    unsigned pci_device = 0;
    int compute_major = 7;
    int compute_minor = 5;
    unsigned numa = 0;
    std::uint32_t pcie_switch = kNone;
    std::uint32_t nvlink = kNone;
    unsigned event_clock_fast_ppm = 0;
};

struct CardsText {
    std::string text;
    std::string name;  // for messages: the file's
    std::string seed;  // wins over the file's own where not empty
};

// The cards in order, all checked, or a message that begins with "NAME:LINE: FIELD: ".
tl::expected<std::vector<CardSpec>, std::string> parse_cards(const CardsText& input);

}  // namespace gpusim
