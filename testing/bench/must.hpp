// How a benchmark handles a failure.
#pragma once

#include <fmt/format.h>

#include <cstdlib>
#include <utility>

#include "base/result.hpp"

namespace tessera::bench {

// Returns the value. Prints an error, such as a missing or invalid file, and ends the benchmark,
// because its figures would be wrong.
template <class T>
T must(Result<T> value) {
    if (value) return *std::move(value);
    fmt::print(stderr, "bench: {}\n", value.error().text);
    std::exit(exit_status(value.error().code));
}

}  // namespace tessera::bench
