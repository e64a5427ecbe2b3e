#include "domain/run/run_environment.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "domain/container_start/container_edits.hpp"

namespace tessera {
namespace {

constexpr std::string_view kPreload = "LD_PRELOAD";

bool is_of(std::string_view entry, std::string_view name) {
    return entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=';
}

std::string value_of(const std::vector<std::string>& environment, std::string_view name) {
    const auto entry = std::ranges::find_if(
        environment, [&](const std::string& each) { return is_of(each, name); });
    return entry == environment.end() ? std::string() : entry->substr(name.size() + 1);
}

void set(std::vector<std::string>& environment, std::string_view name, std::string_view value) {
    std::erase_if(environment, [&](const std::string& each) { return is_of(each, name); });
    environment.push_back(fmt::format("{}={}", name, value));
}

}  // namespace

std::vector<std::string> run_environment(std::vector<std::string> environment, std::string_view run,
                                         const RunLease& lease, std::string_view library) {
    const std::string memory = std::to_string(lease.memory.count);
    const std::string preloaded = value_of(environment, kPreload);
    set(environment, kVisibleDevices, lease.gpu.str());
    set(environment, kCudaVisibleDevices, lease.gpu.str());
    set(environment, kMemoryBytes, memory);
    set(environment, kVisibleMemoryBytes, memory);
    set(environment, kRunVariable, run);
    set(environment, kPreload,
        preloaded.empty() ? std::string(library) : fmt::format("{}:{}", library, preloaded));
    return environment;
}

}  // namespace tessera
