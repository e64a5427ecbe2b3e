// A connection to the server of an HttpEndpoint for another protocol than requests and answers,
// such as WebSocket. Made by libcurl, so TLS, proxy and credentials are as for HttpClient.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "adapters/http/http.hpp"

namespace tessera {

// Used by one thread at a time. No function waits, unless it says so.
class HttpConnection {
  public:
    // Waits until `deadline` is over. Errors: unavailable with the reason.
    static Result<std::unique_ptr<HttpConnection>> open(const HttpEndpoint& endpoint,
                                                        HttpCredentials credentials,
                                                        std::chrono::milliseconds deadline);
    ~HttpConnection();

    // For poll().
    [[nodiscard]] int fd() const;
    // The number of bytes; 0: there are none now. unavailable: the peer has closed, or an error.
    Result<std::size_t> read_some(char* data, std::size_t size);
    // The number of bytes; 0: none can be sent now, and the next call must begin with these bytes.
    Result<std::size_t> write_some(const char* data, std::size_t size);

    // What a request on this connection must have in its headers.
    [[nodiscard]] const std::string& authorization() const;  // empty: none
    [[nodiscard]] const HttpEndpoint& endpoint() const;

  private:
    class Impl;
    explicit HttpConnection(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace tessera
