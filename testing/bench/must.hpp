// What a benchmark does with a failure.
#pragma once

#include <fmt/format.h>

#include <cstdlib>
#include <utility>

#include "base/result.hpp"

namespace tessera::bench {

// A file that is missing or wrong ends the benchmark: nothing it could say then would be true.
template <class T>
T must(Result<T> value) {
    if (value) return *std::move(value);
    fmt::print(stderr, "bench: {}\n", value.error().text);
    std::exit(exit_status(value.error().code));
}

}  // namespace tessera::bench
