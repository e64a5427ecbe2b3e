// Counts and times the binds of a group of pods, by a watch of the API server.
#pragma once

#include <string>

#include "adapters/http/http.hpp"

namespace tessera::bench {

struct BindWatch {
    std::string group;  // the label `bench` of the pods
    int count = 0;      // pods to wait for
    int seconds = 0;    // time limit
};

// Prints a JSON line at the first bind, each second, and at the end: bound pods and seconds since
// the first bind. The last line also has the pods/s in ten equal parts. Returns false if the time
// limit is reached first.
bool watch_binds(HttpClient& http, const BindWatch& watch);

}  // namespace tessera::bench
