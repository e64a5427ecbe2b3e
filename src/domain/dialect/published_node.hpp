// What an agent has published on its Node object and leaves there when it ends: annotations, labels
// and amounts of resources. The agents of a new installation publish it again.
#pragma once

#include <string>
#include <vector>

#include "base/ids.hpp"
#include "domain/dialect/dialect.hpp"

namespace tessera {

// Keys only; sorted as the API server sends them.
struct PublishedNode {
    NodeName name;
    std::vector<std::string> annotations;
    std::vector<std::string> labels;
    std::vector<std::string> amounts;  // in status.capacity and status.allocatable

    [[nodiscard]] bool empty() const {
        return annotations.empty() && labels.empty() && amounts.empty();
    }
    bool operator==(const PublishedNode&) const = default;
};

// The resources that an agent shows on its Node, through device plugins or as plain amounts.
std::vector<std::string> published_resources(const Dialects& dialects);

}  // namespace tessera
