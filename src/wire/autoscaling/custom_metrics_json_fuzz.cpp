#include "testing/fuzz/fuzz.hpp"
#include "wire/autoscaling/custom_metrics_json.hpp"
#include "wire/text/url_query.hpp"

// A request for any path and query is read or refused: what is read can stand in a path of the API
// server, and a refusal is valid JSON. What the API server sends in place of an object is read.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const std::string_view text = fuzz_text(data, size);
    const std::size_t end = text.find('\n');
    const std::string_view query = end == std::string_view::npos ? "" : text.substr(end + 1);
    const auto request = read_metrics_request(text.substr(0, end), query);
    if (request) {
        FUZZ_CHECK(request->ns.find_first_of("/?#%") == std::string::npos);
        FUZZ_CHECK(request->pod.find_first_of("/?#%") == std::string::npos);
        FUZZ_CHECK(encode_query(request->label_selector).find_first_of("&#?/ ") ==
                   std::string::npos);
    } else {
        FUZZ_CHECK(JsonDocument::parse(write_failure(request.error())));
    }
    const auto document = JsonDocument::parse(text);
    if (!document) return 0;
    (void)read_front_proxy(document->root());
    const MetricsRegistration read = read_metrics_registration(document->root());
    FUZZ_CHECK(JsonDocument::parse(write_metrics_registration(read, {"r", "u"})));
    FUZZ_CHECK(JsonDocument::parse(write_registration_trust(read, "c")));
    return 0;
}
