#include "adapters/http/request_reader.hpp"
#include "adapters/http/sent_bytes_test.hpp"
#include "testing/fuzz/fuzz.hpp"

// A client sends these bytes and ends. A fault has one of the statuses that the server answers. A
// body is not larger than announced, and a request that was read to its end is whole.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const SentBytes sent(fuzz_text(data, size));
    SocketStream stream(sent.fd());
    stream.start({.whole = std::chrono::seconds(60)});
    while (true) {
        RequestReader in(stream);
        const auto fault = in.read_head();
        if (fault) {
            FUZZ_CHECK(fault->status == 0 || fault->status == 400 || fault->status == 431);
            return 0;
        }
        FUZZ_CHECK(!in.method().empty());
        FUZZ_CHECK(in.path().size() + in.query().size() <= SocketStream::kBuffer);
        std::uint64_t got = 0;
        const auto lost = in.read_body([&](std::string_view piece) {
            got += piece.size();
            return true;
        });
        if (in.announced_size()) FUZZ_CHECK(got <= *in.announced_size());
        if (lost) return 0;
        if (in.announced_size()) FUZZ_CHECK(got == *in.announced_size());
        if (!in.is_whole()) return 0;
    }
}
