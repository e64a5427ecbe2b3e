// A dialect that Tessera does not have, to show how one is added (docs/internals/extending.md): the
// annotation example.com/gpu-fraction asks for a part of one GPU, for the pod's first container. It
// has no resource, so kubelet counts nothing.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "domain/dialect/dialect.hpp"

namespace tessera::toy {

inline constexpr std::string_view kFraction = "example.com/gpu-fraction";
inline constexpr std::string_view kGpuIndex = "example.com/gpu-index";
inline constexpr std::array kAnnotations = {kFraction};

extern const Dialect kDialect;

// "0.25" is 25 percent of a GPU's memory and of its compute.
inline Result<ContainerRequests> read(const GpuTexts& texts) {
    const std::string& text = texts.annotations.find(kFraction)->second;
    const bool is_fraction = text.size() == 4 && text.starts_with("0.") &&
                             text.find_first_not_of("0123456789", 2) == std::string::npos;
    if (!is_fraction || text == "0.00") {
        return fail(Code::invalid_argument, "annotation " + std::string(kFraction) + ": \"" + text +
                                                "\" is not a fraction; write 0.01 to 0.99");
    }
    const int percent = std::stoi(text.substr(2));
    for (const ContainerSpec& container : texts.containers) {
        if (container.kind != ContainerKind::app) continue;
        return ContainerRequests{{.container = container.name,
                                  .kind = container.kind,
                                  .gpu = {.memory = {MemoryRequest::Kind::percent, percent},
                                          .cores = {percent},
                                          .dialect = &kDialect}}};
    }
    return ContainerRequests{};
}

inline void annotate(const Allocation& allocation, const NodeInventory&, std::int64_t,
                     StringMap& out) {
    out.emplace(kGpuIndex, std::to_string(allocation.containers.front().gpus.front().index));
}

inline void add_env(const Allocation&, const ContainerAllocation&, const NodeInventory&,
                    std::span<const Gpu> gpus,
                    std::vector<std::pair<std::string, std::string>>& env) {
    env.emplace_back("EXAMPLE_GPU", std::to_string(gpus.front().index));
}

inline constinit const Dialect kDialect = {
    .name = "toy",
    .summary = "a fraction of one GPU, as an annotation",
    .resources = {},
    .annotations = kAnnotations,
    .hints = {},
    .read = read,
    .device_lists = {},
    .annotate = annotate,
    .add_env = add_env,
    .former_variable = {},
};

}  // namespace tessera::toy
