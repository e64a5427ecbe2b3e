// Many parallel requests to the API server, over connections that are kept open.
#pragma once

#include <functional>
#include <string>

#include "adapters/http/http.hpp"

namespace tessera::bench {

class LoadClient {
  public:
    explicit LoadClient(HttpEndpoint endpoint) : http_(std::move(endpoint)) {}

    // Returns the body of a 2xx response. Retries for up to a minute while the server is
    // unreachable or busy. Any other response is printed and ends the program.
    std::string send(const HttpRequest& request);

    // Calls `one` with 0 to count - 1 on 24 threads. Returns the seconds that all calls took.
    static double each(int count, const std::function<void(int)>& one);

    // Reads a list page by page, as the controller does, and calls `page` with each body. Returns
    // the number of bytes.
    std::size_t list(const std::string& path, const std::function<void(const std::string&)>& page);

    HttpClient& http() { return http_; }

  private:
    HttpClient http_;
};

}  // namespace tessera::bench
