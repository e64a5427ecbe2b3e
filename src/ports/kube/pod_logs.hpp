// Logs of containers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/ids.hpp"
#include "base/result.hpp"

namespace tessera {

struct PodLogOptions {
    std::string container;  // empty: the only one
    bool follow = false;    // until the container ends
    bool previous = false;  // of the container's start before this one
    bool timestamps = false;
    std::int64_t tail = -1;    // lines; below 0: all
    std::int64_t since_s = 0;  // of the last seconds; 0: from the start
    std::string since_time;    // of this time on, of RFC 3339; empty: from the start
};

class PodLogs {
  public:
    virtual ~PodLogs() = default;

    // Passes the log to `print` as it arrives, until `print` returns false. Errors: those of the
    // API server, which name the missing right.
    virtual Result<> print(const PodName& pod, const PodLogOptions& options,
                           const std::function<bool(std::string_view)>& print) = 0;
};

}  // namespace tessera
