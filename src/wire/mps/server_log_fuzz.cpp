#include <fmt/format.h>

#include "testing/fuzz/fuzz.hpp"
#include "wire/mps/server_log.hpp"

// Each process that is named has its line in the text.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto text = tessera::fuzz_text(data, size);
    for (const std::int64_t pid : tessera::mps::faulted_clients(text)) {
        FUZZ_CHECK(pid > 0);
        FUZZ_CHECK(text.find(" encountered a fatal GPU error.") != std::string_view::npos);
    }
    return 0;
}
