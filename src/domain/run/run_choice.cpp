#include "domain/run/run_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <tuple>
#include <vector>

namespace tessera {
namespace {

// What is free on a GPU. `memory` may be negative: processes outside of runs take what they want.
struct Free {
    std::size_t gpu;  // index
    Bytes memory;
    Bytes leased;
    int runs = 0;
    Percent cores{100};

    [[nodiscard]] bool fits(const RunRequest& request) const {
        return memory >= request.memory && cores >= request.cores;
    }
};

Free free_of(std::span<const RunGpu> gpus, std::size_t index, std::span<const LiveRun> runs) {
    const RunGpu& gpu = gpus[index];
    Free free{.gpu = index, .memory = gpu.memory - gpu.used_outside, .leased = {}};
    for (const LiveRun& run : runs) {
        if (run.lease.gpu != gpu.uuid) continue;
        free.leased += run.lease.memory;
        free.memory -= run.lease.memory;
        free.cores = free.cores - run.lease.cores;
        free.runs++;
    }
    return free;
}

std::string name_of(const RunGpu& gpu) {
    return gpu.model.empty() ? fmt::format("GPU {}", gpu.index)
                             : fmt::format("GPU {} ({})", gpu.index, gpu.model);
}

bool is_meant(const RunGpu& gpu, const std::string& selector) {
    return selector.empty() || selector == gpu.uuid.str() || selector == std::to_string(gpu.index);
}

std::string runs_text(int runs) {
    return runs == 1 ? "1 run" : fmt::format("{} runs", runs);
}

// "3Gi of its 15Gi are free: 2 runs have 10Gi, and other processes use 2Gi"
std::string memory_text(const RunGpu& gpu, const Free& free) {
    std::string text =
        fmt::format("{} of its {} are free: {} {} {}", rounded_down(std::max(free.memory, Bytes{})),
                    rounded_down(gpu.memory), runs_text(free.runs), free.runs == 1 ? "has" : "have",
                    rounded_up(free.leased));
    if (gpu.used_outside > Bytes{}) {
        text += fmt::format(", and processes outside of tessera run use {}",
                            rounded_up(gpu.used_outside));
    }
    return text;
}

// Why a request does not fit now, by the numbers of one GPU.
std::string closest_text(const RunGpu& gpu, const Free& free, const RunRequest& request) {
    std::string text = name_of(gpu) + (request.gpu.empty() ? " comes closest: " : ": ");
    if (free.memory < request.memory) text += memory_text(gpu, free);
    if (free.cores < request.cores) {
        if (free.memory < request.memory) text += "; ";
        text += fmt::format("{} of its 100 percent of compute are free", free.cores.value);
    }
    return text;
}

std::string requested(const RunRequest& request) {
    const std::string memory = rounded_up(request.memory);
    return request.cores.value == 0
               ? memory
               : fmt::format("{} and {} percent of compute", memory, request.cores.value);
}

RunChoice no_gpu_meant(std::span<const RunGpu> gpus, const RunRequest& request) {
    if (gpus.empty()) return {.gpu = {}, .reason = "the driver lists no GPU"};
    std::string known;
    for (const RunGpu& gpu : gpus)
        known += fmt::format("{}{} ({})", known.empty() ? "" : ", ", gpu.index, gpu.uuid.str());
    return {.gpu = {},
            .reason = fmt::format("--gpu: no GPU \"{}\"; there is {}", request.gpu, known)};
}

// The refusal of a request that no usable GPU can ever have, or nothing.
std::optional<RunChoice> never_fits(std::span<const RunGpu> gpus, const std::vector<Free>& usable,
                                    const RunRequest& request) {
    const auto largest = std::ranges::max_element(
        usable, {}, [&](const Free& free) { return gpus[free.gpu].memory; });
    const RunGpu& gpu = gpus[largest->gpu];
    if (gpu.memory >= request.memory) return std::nullopt;
    return RunChoice{
        .gpu = {},
        .reason =
            request.gpu.empty()
                ? fmt::format("no GPU has {}; the largest is {} with {}",
                              rounded_up(request.memory), name_of(gpu), rounded_down(gpu.memory))
                : fmt::format("{} has {}, less than {}", name_of(gpu), rounded_down(gpu.memory),
                              rounded_up(request.memory))};
}

}  // namespace

RunChoice choose_run_gpu(std::span<const RunGpu> gpus, std::span<const LiveRun> runs,
                         const RunRequest& request) {
    std::vector<Free> usable;
    const RunGpu* unusable = nullptr;
    for (std::size_t i = 0; i < gpus.size(); i++) {
        if (!is_meant(gpus[i], request.gpu)) continue;
        if (gpus[i].unusable.empty()) {
            usable.push_back(free_of(gpus, i, runs));
        } else if (unusable == nullptr) {
            unusable = &gpus[i];
        }
    }
    if (usable.empty() && unusable == nullptr) return no_gpu_meant(gpus, request);
    if (usable.empty()) {
        return {
            .gpu = {},
            .reason = fmt::format("{} cannot be used: {}", name_of(*unusable), unusable->unusable)};
    }
    if (auto refusal = never_fits(gpus, usable, request)) return *refusal;
    const auto order = [&](const Free& free) {
        return std::tuple(!free.fits(request), free.memory, free.cores, gpus[free.gpu].index);
    };
    const auto best = std::ranges::min_element(usable, {}, order);
    if (best->fits(request)) return {.gpu = best->gpu, .reason = {}};
    // Closest: the GPU where the least memory is missing, then the least compute.
    const auto missing = [&](const Free& free) {
        return std::tuple(std::max(request.memory - free.memory, Bytes{}),
                          std::max(request.cores - free.cores, Percent{}), gpus[free.gpu].index);
    };
    const auto closest = std::ranges::min_element(usable, {}, missing);
    const bool fits_without_outside = std::ranges::any_of(usable, [&](Free free) {
        free.memory += gpus[free.gpu].used_outside;
        return free.fits(request);
    });
    return {.gpu = {},
            .reason = fmt::format("no GPU has {} free; {}", requested(request),
                                  closest_text(gpus[closest->gpu], *closest, request)),
            .may_fit_later = true,
            .fits_without_outside = fits_without_outside};
}

}  // namespace tessera
