// The GPUs of a workload, from the flags of `tessera serve` and `tessera submit`, which are those
// of Arena (docs/compat/arena.md).
#pragma once

#include <string>
#include <string_view>

#include "base/quantity.hpp"
#include "base/result.hpp"

namespace tessera::workload {

// What each pod requests: whole GPUs, or one GPU share, or nothing.
struct Gpus {
    int whole = 0;  // tessera.dev/gpu
    Bytes memory;   // of one share; 0: no share
    Percent cores;  // guaranteed compute of the share; 0: no guarantee

    [[nodiscard]] bool is_share() const { return memory.count > 0; }

    friend bool operator==(const Gpus&, const Gpus&) = default;
};

struct GpuFlags {
    int gpus = 0;           // --gpus
    std::string gpumemory;  // --gpumemory; empty: not given
    int gpucore = 0;        // --gpucore
};

// A plain number is in GiB, as in Arena: "3" is "3Gi". Otherwise a Kubernetes quantity in bytes,
// such as 3Gi or 3072Mi. "0" is 0. invalid_argument names the flag.
Result<Bytes> parse_gpu_memory(std::string_view text);

// invalid_argument names the flag and the fix: flags that exclude each other, values out of range.
Result<Gpus> read_gpu_flags(const GpuFlags& flags);

}  // namespace tessera::workload
