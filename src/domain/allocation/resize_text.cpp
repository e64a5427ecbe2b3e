#include "domain/allocation/resize_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tessera {
namespace {

void add(std::string& text, std::string_view what, const std::string& before,
         const std::string& after) {
    if (before == after) return;
    text += fmt::format("{}{} {} -> {}", text.empty() ? "" : ", ", what, before, after);
}

std::string changes(const GpuShare& before, const GpuShare& after) {
    std::string text;
    // Exact only where a change would not show otherwise.
    const bool is_small = rounded_up(before.memory) == rounded_up(after.memory);
    std::string (*const words)(Bytes) = is_small ? to_string : rounded_up;
    add(text, "memory", words(before.memory), words(after.memory));
    add(text, "cores", std::to_string(before.cores.value), std::to_string(after.cores.value));
    add(text, "compute limit", std::to_string(before.cores_limit.value),
        std::to_string(after.cores_limit.value));
    return text;
}

}  // namespace

std::string resize_text(const Allocation& before, const Allocation& after) {
    std::string text;
    const std::size_t containers = std::min(before.containers.size(), after.containers.size());
    for (std::size_t i = 0; i < containers; ++i) {
        const auto& was = before.containers[i].gpus;
        const auto& is = after.containers[i].gpus;
        for (std::size_t gpu = 0; gpu < std::min(was.size(), is.size()); ++gpu) {
            const std::string changed = changes(was[gpu], is[gpu]);
            if (changed.empty()) continue;
            text += fmt::format("{}{} on GPU {}: {}", text.empty() ? "" : "; ",
                                after.containers[i].container, is[gpu].index, changed);
        }
    }
    return text;
}

}  // namespace tessera
