#include "domain/workload/gpu_flags.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.hpp"
#include "domain/workload/refuse_flag.hpp"

namespace tessera::workload {
namespace {

constexpr int kMostGpus = 64;
// The unit in which a GPU's driver allocates memory: a smaller share has nothing.
constexpr Bytes kLeastShare = mebibytes(2);
// No GPU has that much (domain/cluster/node.hpp: kMostGpuMemory).
constexpr std::int64_t kMostGib = std::int64_t{1} << 20;

}  // namespace

Result<Bytes> parse_gpu_memory(std::string_view text) {
    const bool is_plain = !text.empty() && std::ranges::all_of(text, is_digit);
    const auto amount = parse_whole_quantity(text);
    if (!amount) return fail(amount.error().in("--gpumemory"));
    if (!is_plain) {
        if (*amount / kGiB > kMostGib)
            return refuse("--gpumemory", fmt::format("{} is more than any GPU has", text));
        if (*amount > 0 && *amount < kLeastShare.count) {
            return refuse("--gpumemory",
                          fmt::format("{} is less than 2Mi; write an amount such as 3Gi, or 3 for "
                                      "3 GiB",
                                      text));
        }
        return Bytes{*amount};
    }
    if (*amount > kMostGib) {
        return refuse("--gpumemory", fmt::format("{0} is {0} GiB, more than any GPU has; for MiB "
                                                 "write {0}Mi",
                                                 text));
    }
    return gibibytes(*amount);
}

Result<Gpus> read_gpu_flags(const GpuFlags& flags) {
    Gpus out{.whole = flags.gpus, .cores = {flags.gpucore}};
    if (!flags.gpumemory.empty()) {
        TRY(out.memory, parse_gpu_memory(flags.gpumemory));
    }
    if (flags.gpus < 0 || flags.gpus > kMostGpus) {
        return refuse("--gpus",
                      fmt::format("{} is not a number from 0 to {}", flags.gpus, kMostGpus));
    }
    if (flags.gpucore < 0 || flags.gpucore > 100) {
        return refuse("--gpucore",
                      fmt::format("{} is not a percentage from 0 to 100", flags.gpucore));
    }
    if (out.whole > 0 && (out.is_share() || out.cores.value > 0)) {
        return refuse("--gpus", fmt::format("cannot be used with {}: --gpus requests whole GPUs, "
                                            "--gpumemory and --gpucore a share of one GPU; choose "
                                            "one of them",
                                            out.is_share() ? "--gpumemory" : "--gpucore"));
    }
    if (out.cores.value > 0 && !out.is_share())
        return refuse("--gpucore", "needs --gpumemory, such as --gpumemory 3");
    return out;
}

}  // namespace tessera::workload
