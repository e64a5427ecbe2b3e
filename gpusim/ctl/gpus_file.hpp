// The text that describes a simulated node's GPUs.
//
//     seed: node-a                  # Optional: another text gives other generated UUIDs.
//     gpus:                         # 1 to 64 of these.
//       - model: Tesla T4
//         memory: 15360MiB          # Digits and "", B, KiB, MiB, GiB or TiB.
//         reserved: 0               # Optional: memory of the driver itself; 0.
//         uuid: GPU-<8-4-4-4-12>    # Optional: made from seed and index.
//         minor: 3                  # Optional: the index; names the marker dev/nvidia3.
//         pci_bus_id: 0000:17:00.0  # Optional: 0000:<16 + index in hex>:00.0.
//         compute_capability: 7.5   # Optional: 7.5.
//         multiprocessors: 40       # Optional: 1 to 999; those of known models, else 40.
//         context_overhead: 0       # Optional: what each CUDA context costs; 0.
//         graph_overhead: 0         # Optional: what each executable graph costs; 0.
//         time_slice: 2ms           # Optional: of each process that has work, from 10us to 10s;
//                                   # 0, which means infinitely short ones.
//         switch_time: 270us        # Optional: between two processes' slices, to 10s; 0.
//         numa: 0                   # Optional: the NUMA node of its slot, to 63; 0.
//         pcie_switch: 0            # Optional: GPUs with the same number are behind one; none.
//         nvlink: 0                 # Optional: GPUs with the same number are linked; none.
//         event_clock_fast_ppm: 0   # Optional: how fast the event clock is, to 9999; 0.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "gpusim/state/layout.hpp"

namespace gpusim {

struct GpuSpec {
    std::string model;
    std::uint64_t memory_bytes = 0;
    std::uint64_t reserved_bytes = 0;
    std::uint64_t context_overhead_bytes = 0;
    std::uint64_t graph_overhead_bytes = 0;
    std::int64_t time_slice_ns = 0;
    std::int64_t switch_ns = 0;
    std::string uuid;
    unsigned minor = 0;
    unsigned pci_domain = 0;
    unsigned pci_bus = 0;
    unsigned pci_device = 0;
    int compute_major = 7;
    int compute_minor = 5;
    unsigned multiprocessors = 0;
    unsigned numa = 0;
    std::uint32_t pcie_switch = kNone;
    std::uint32_t nvlink = kNone;
    unsigned event_clock_fast_ppm = 0;
};

struct GpusText {
    std::string text;
    std::string name;  // the file name, for messages
    std::string seed;  // replaces the file's own seed if not empty
};

// The GPUs in order, all checked, or a message that begins with "NAME:LINE: FIELD: ".
tl::expected<std::vector<GpuSpec>, std::string> parse_gpus(const GpusText& input);

}  // namespace gpusim
