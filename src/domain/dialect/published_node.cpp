#include "domain/dialect/published_node.hpp"

namespace tessera {

std::vector<std::string> published_resources(const Dialects& dialects) {
    StringMap names;
    for (const Dialect* dialect : dialects.all()) {
        for (const DeviceList& list : dialect->device_lists)
            names.emplace(list.resource, "");
        // A dialect adds the same names for every node, also for one without GPUs.
        if (dialect->add_amounts != nullptr) dialect->add_amounts(NodeInventory{}, names);
    }
    std::vector<std::string> out;
    for (const auto& [name, amount] : names)
        out.push_back(name);
    return out;
}

}  // namespace tessera
