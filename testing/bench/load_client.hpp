// Many requests to the API server at once, over connections that stay.
#pragma once

#include <functional>
#include <string>

#include "adapters/http/http.hpp"

namespace tessera::bench {

class LoadClient {
  public:
    explicit LoadClient(HttpEndpoint endpoint) : http_(std::move(endpoint)) {}

    // The body of a 2xx answer. Asked again, for up to a minute, while the server is away or busy;
    // any other answer ends the program with its text.
    std::string send(const HttpRequest& request);

    // Calls `one` with 0 to count - 1, 24 at a time; returns the seconds that all took.
    static double each(int count, const std::function<void(int)>& one);

    // Reads a list as the controller does, page by page; `page` is called with each body. Returns
    // the bytes.
    std::size_t list(const std::string& path, const std::function<void(const std::string&)>& page);

    HttpClient& http() { return http_; }

  private:
    HttpClient http_;
};

}  // namespace tessera::bench
