// Sees pods of one group being bound, by a watch of the API server: when, and how many.
#pragma once

#include <string>

#include "adapters/http/http.hpp"

namespace tessera::bench {

struct BindWatch {
    std::string group;  // the label `bench` of the pods
    int count = 0;      // pods to wait for
    int seconds = 0;    // at most
};

// Prints a JSON line at the first bind, each second, and at the end: bound, seconds since the first
// bind, and at the end the pods/s in ten equal parts. False when the time was over before.
bool watch_binds(HttpClient& http, const BindWatch& watch);

}  // namespace tessera::bench
