#include "programs/tessera/workload/view_output.hpp"

#include <iostream>

#include "adapters/os/system_clock.hpp"
#include "programs/common/yaml_text.hpp"

namespace tessera {

bool is_object(const std::string& output) {
    return output == "json" || output == "yaml";
}

void print_json(const std::string& json, const std::string& output) {
    std::cout << (output == "yaml" ? yaml_of_json(json) : json + "\n");
}

WorkloadView view_of(const std::vector<NodeInventory>& nodes) {
    constexpr std::int64_t kNsPerSecond = 1'000'000'000;
    return {.nodes = nodes, .now_s = SystemClock().unix_ns() / kNsPerSecond};
}

}  // namespace tessera
