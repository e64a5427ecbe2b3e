#include "testing/fuzz/fuzz.hpp"
#include "wire/access_review_json.hpp"

// Whoever an answer names, the question about him is JSON.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const auto document = JsonDocument::parse(fuzz_text(data, size));
    if (!document) return 0;
    (void)read_access_review(document->root());
    const auto user = read_token_review(document->root());
    if (user) FUZZ_CHECK(JsonDocument::parse(write_access_review(*user, "/metrics")));
    return 0;
}
