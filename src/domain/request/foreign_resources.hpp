// The extended resources by which other programs assign NVIDIA GPUs.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace tessera {

struct ForeignResource {
    std::string_view beginning;  // of its name
    std::string_view product;
};
inline constexpr auto kForeignResources = std::to_array<ForeignResource>({
#define FOREIGN_RESOURCE(beginning, product) {beginning, product},
#include "domain/request/foreign_resources.def"
#undef FOREIGN_RESOURCE
});

// The product that offers this resource; empty if it is not one of these.
inline std::string_view product_of_resource(std::string_view name) {
    const auto* at = std::ranges::find_if(kForeignResources, [&](const ForeignResource& foreign) {
        return name.starts_with(foreign.beginning);
    });
    return at == kForeignResources.end() ? std::string_view() : at->product;
}

inline bool is_foreign_gpu_resource(std::string_view name) {
    return !product_of_resource(name).empty();
}

}  // namespace tessera
