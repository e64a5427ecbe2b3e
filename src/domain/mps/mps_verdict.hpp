// Whether a container gets what it was granted by NVIDIA MPS, by what a program in it found.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/quantity.hpp"
#include "domain/mps/mps_grant.hpp"

namespace tessera {

// What the probe found (guard/probe/mps_probe.cpp).
struct MpsProbe {
    int device_multiprocessors = 0;  // that the driver shows
    int used_multiprocessors = 0;    // on which a kernel with enough blocks ran
    std::int64_t blocks_per_s = 0;   // of that kernel
    Bytes total;                     // memory that cuMemGetInfo shows
    Bytes free;                      // likewise
    bool is_limited = false;         // more than `total` was refused
    std::optional<Bytes> filled;     // what it got in pieces, if it was to fill the memory

    friend bool operator==(const MpsProbe&, const MpsProbe&) = default;
};

struct MpsFinding {
    std::string check;
    std::string granted;
    std::string found;
    bool is_ok = false;

    friend bool operator==(const MpsFinding&, const MpsFinding&) = default;
};

// `multiprocessors`: of the whole GPU; 0: not known, so compute cannot be judged, which is not ok.
// Compute may differ by three percent of the GPU, and at least two multiprocessors. Memory that was
// filled must be at least 95 percent of the share, with what other programs of the container use.
std::vector<MpsFinding> verify_mps(const MpsGrant& grant, int multiprocessors,
                                   const MpsProbe& probe);

bool is_well(const std::vector<MpsFinding>& findings);

// The percentages of a capacity test: ten steps up to the grant, each at least 1.
std::vector<Percent> sweep_of(const MpsGrant& grant);

}  // namespace tessera
