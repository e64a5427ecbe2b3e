#include "testing/fuzz/fuzz.hpp"
#include "wire/kube/exec_credential_json.hpp"

// What is accepted can be used: a token or a certificate with its key, and no second header.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const auto read =
        read_exec_credential(fuzz_text(data, size), "client.authentication.k8s.io/v1");
    if (!read) return 0;
    FUZZ_CHECK(!read->token.empty() || !read->client_cert_pem.empty());
    FUZZ_CHECK(read->client_cert_pem.empty() == read->client_key_pem.empty());
    FUZZ_CHECK(read->token.find('\n') == std::string::npos);
    return 0;
}
