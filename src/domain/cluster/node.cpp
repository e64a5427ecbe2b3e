#include "domain/cluster/node.hpp"

#include <fmt/format.h>

namespace tessera {

std::string_view words_of(GpuCondition condition) {
    switch (condition) {
        case GpuCondition::healthy:
            return "healthy";
        case GpuCondition::unhealthy:
            return "unhealthy";
        case GpuCondition::not_shareable:
            return "not shareable";
    }
    return "";
}

GpuUuid uuid_of_index(int index) {
    return GpuUuid(fmt::format("index:{}", index));
}

GpuUuid unidentified_gpu(int index) {
    return GpuUuid(fmt::format("unidentified:{}", index));
}

std::vector<GpuState> empty_gpus(std::span<const Gpu> gpus) {
    std::vector<GpuState> out;
    out.reserve(gpus.size());
    for (const Gpu& gpu : gpus) {
        out.push_back(
            {.capacity = gpu.capacity(), .usable = gpu.usable(), .over_limit = gpu.over_limit});
    }
    return out;
}

const Gpu* find_gpu(std::span<const Gpu> gpus, const GpuUuid& uuid) {
    const auto by_uuid = std::ranges::find(gpus, uuid, &Gpu::uuid);
    if (by_uuid != gpus.end()) return &*by_uuid;
    if (!uuid.str().starts_with("index:")) return nullptr;
    const auto by_index =
        std::ranges::find(gpus, uuid, [](const Gpu& gpu) { return uuid_of_index(gpu.index); });
    return by_index == gpus.end() ? nullptr : &*by_index;
}

}  // namespace tessera
