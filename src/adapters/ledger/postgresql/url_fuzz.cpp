#include "adapters/ledger/postgresql/url.hpp"
#include "testing/fuzz/fuzz.hpp"

// Any text gives a URL that reads as itself, or an error that does not depend on the text.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const auto url = read_postgresql_url(std::string(fuzz_text(data, size)));
    if (url) {
        FUZZ_CHECK(read_postgresql_url(*url).value() == *url);
        FUZZ_CHECK(url->find('@') == std::string::npos);
    } else {
        FUZZ_CHECK(url.error().code == Code::invalid_argument);
        FUZZ_CHECK(url.error() == read_postgresql_url("").error() ||
                   url.error() == read_postgresql_url("postgresql://h:p/d").error());
    }
    return 0;
}
