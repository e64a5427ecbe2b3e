#include "adapters/kubeconfig/kubeconfig.hpp"
#include "testing/fuzz/fuzz.hpp"

// A text that is accepted has a host and a port. File names are relative to a folder that does not
// exist.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const auto read =
        read_kubeconfig({{std::string(fuzz_text(data, size)), "/nonexistent", ""}}, "");
    if (!read) return 0;
    FUZZ_CHECK(!read->endpoint.host.empty());
    FUZZ_CHECK(read->endpoint.port >= 1 && read->endpoint.port <= 65535);
    FUZZ_CHECK(read->endpoint.client_cert_pem.empty() == read->endpoint.client_key_pem.empty());
    return 0;
}
