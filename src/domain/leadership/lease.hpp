// A Lease of the API server (coordination.k8s.io/v1), as its holder wrote it.
#pragma once

#include <cstdint>
#include <string>

namespace tessera {

struct Lease {
    std::string holder;            // empty: none
    std::string url;               // where the holder answers requests
    std::int64_t duration_s = 0;   // after this time without a change any controller may take it
    std::int64_t acquired_ns = 0;  // since 1970, for people: no controller trusts another's clock
    std::int64_t renewed_ns = 0;   // likewise
    std::int64_t transitions = 0;  // how often the holder changed
    std::string version;           // resourceVersion of the stored object; empty: there is none yet

    friend bool operator==(const Lease&, const Lease&) = default;
};

}  // namespace tessera
