// Removes duplicates, so that no mean leans toward a value given twice.
#pragma once

#include <algorithm>
#include <vector>

namespace tessera {

// In the order of first occurrence.
template <class T>
std::vector<T> each_once(const std::vector<T>& values) {
    std::vector<T> out;
    for (const T& value : values) {
        if (std::ranges::find(out, value) == out.end()) out.push_back(value);
    }
    return out;
}

}  // namespace tessera
