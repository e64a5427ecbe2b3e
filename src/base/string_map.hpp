// Texts by name: annotations, labels, amounts of resources.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>

namespace tessera {

using StringMap = std::map<std::string, std::string, std::less<>>;

// Whether `shown` has each entry of `wanted`. An empty value is wanted to be empty or missing.
inline bool shows_all(const StringMap& shown, const StringMap& wanted) {
    return std::ranges::all_of(wanted, [&](const auto& entry) {
        const auto at = shown.find(entry.first);
        return (at == shown.end() ? std::string() : at->second) == entry.second;
    });
}

}  // namespace tessera
