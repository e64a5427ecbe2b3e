// A view that is shown again and again, as Arena's -r does.
#pragma once

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <iostream>
#include <thread>

#include "base/result.hpp"

namespace tessera {

// Calls `show` once or, with `is_refreshed`, every 2 seconds with a line of the time before it,
// until it fails or nothing reads the output any more.
template <class Show>
Result<int> shown_once_or_refreshed(bool is_refreshed, Show show) {
    while (is_refreshed) {
        const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
        std::cout << fmt::format("{0} {1:%Y-%m-%d %H:%M:%S} {0}\n", std::string(37, '-'), now);
        TRY_VOID(show());
        if (!std::cout.flush()) return 0;
        std::this_thread::sleep_for(std::chrono::seconds(2));
    }
    TRY_VOID(show());
    return 0;
}

}  // namespace tessera
