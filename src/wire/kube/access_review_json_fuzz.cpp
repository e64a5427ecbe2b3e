#include "testing/fuzz/fuzz.hpp"
#include "wire/kube/access_review_json.hpp"

// For any user that an answer names, the access review is valid JSON.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const auto document = JsonDocument::parse(fuzz_text(data, size));
    if (!document) return 0;
    (void)read_access_review(document->root());
    (void)read_self_review(document->root());
    (void)read_token_review(document->root(), "ledger");
    const auto user = read_token_review(document->root(), "");
    if (user) {
        const PathRequest request{.verb = "get", .path = "/metrics"};
        FUZZ_CHECK(JsonDocument::parse(write_access_review(*user, request)));
    }
    return 0;
}
