// Reads one HTTP/1 request from a stream. Boost.Beast parses it; this class decides what is read
// and when, so that a request is judged before its body takes memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "adapters/http/socket_stream.hpp"

namespace tessera {

// A request that cannot be read. `status` is that of the answer; 0: the peer is gone or too slow,
// and gets none. Nothing more can be read from the connection.
struct ReadFault {
    int status = 0;
};

// One thread at a time. The stream must outlive it.
class RequestReader {
  public:
    explicit RequestReader(SocketStream& stream);
    ~RequestReader();
    RequestReader(const RequestReader&) = delete;
    RequestReader& operator=(const RequestReader&) = delete;

    // Reads the request line and the header fields; call it first. They may have
    // SocketStream::kBuffer bytes together (431).
    [[nodiscard]] std::optional<ReadFault> read_head();

    // The following functions are valid after read_head() succeeded.
    [[nodiscard]] std::string_view method() const;
    // Without query and fragment, and with %XX decoded.
    [[nodiscard]] std::string path() const;
    // What follows the first "?", as it was sent; empty if there is none.
    [[nodiscard]] std::string query() const;
    // Empty if there is no such field; the first one if there are several.
    [[nodiscard]] std::string_view field(std::string_view name) const;
    [[nodiscard]] bool has_field(std::string_view name) const;
    [[nodiscard]] bool is_repeated(std::string_view name) const;
    // Content-Length; nothing for a body in chunks and for a request without the field.
    [[nodiscard]] std::optional<std::uint64_t> announced_size() const;
    // Whether the client wants to use the connection again.
    [[nodiscard]] bool keeps_alive() const;
    [[nodiscard]] bool is_http_1_0() const;
    // Whether the whole request was read, so that the next one follows on the connection.
    [[nodiscard]] bool is_whole() const;

    // Passes the body to `take`, piece by piece, until it returns false. A piece is valid only
    // during the call. Succeeds if the body ends or `take` returned false.
    [[nodiscard]] std::optional<ReadFault> read_body(
        const std::function<bool(std::string_view)>& take);

  private:
    struct Parser;

    SocketStream& stream_;
    const std::unique_ptr<Parser> parser_;
};

}  // namespace tessera
