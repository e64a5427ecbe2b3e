// A container of a pod spec, as far as dialects read it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "domain/request/gpu_request.hpp"

namespace tessera {

// Limits only, because the API server makes requests equal to limits for extended resources.
struct ContainerSpec {
    std::string name;
    ContainerKind kind = ContainerKind::app;
    // Resource names of dialects, with the texts of their quantities.
    std::vector<std::pair<std::string, std::string>> limits;

    friend bool operator==(const ContainerSpec&, const ContainerSpec&) = default;
};

}  // namespace tessera
