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
    add(text, "memory", to_string(before.memory), to_string(after.memory));
    add(text, "cores", std::to_string(before.cores.value), std::to_string(after.cores.value));
    add(text, "ceiling", std::to_string(before.ceiling.value), std::to_string(after.ceiling.value));
    return text;
}

}  // namespace

std::string resize_text(const Allocation& before, const Allocation& after) {
    std::string text;
    const std::size_t containers = std::min(before.containers.size(), after.containers.size());
    for (std::size_t i = 0; i < containers; ++i) {
        const auto& was = before.containers[i].gpus;
        const auto& is = after.containers[i].gpus;
        for (std::size_t card = 0; card < std::min(was.size(), is.size()); ++card) {
            const std::string changed = changes(was[card], is[card]);
            if (changed.empty()) continue;
            text += fmt::format("{}{} on card {}: {}", text.empty() ? "" : "; ",
                                after.containers[i].container, is[card].index, changed);
        }
    }
    return text;
}

}  // namespace tessera
