// A server on loopback for tests of clients.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <list>
#include <stop_token>
#include <thread>
#include <tuple>
#include <utility>

#include "adapters/http/http.hpp"

namespace tessera {

// Calls `serve` for each connection, in a thread of its own. Its end waits for all of them.
class LoopbackServer {
  public:
    using Socket = boost::asio::ip::tcp::socket;

    explicit LoopbackServer(std::function<void(Socket)> serve)
        : acceptor_(context_, {boost::asio::ip::make_address("127.0.0.1"), 0}),
          thread_([this, serve = std::move(serve)](const std::stop_token& stop) {
              std::list<std::jthread> all;
              while (true) {
                  Socket socket(context_);
                  boost::system::error_code error;
                  std::ignore = acceptor_.accept(socket, error);
                  if (error || stop.stop_requested()) return;
                  all.emplace_back(
                      [&serve, one = std::move(socket)]() mutable { serve(std::move(one)); });
              }
          }) {}
    ~LoopbackServer() {
        thread_.request_stop();
        Socket last(context_);
        boost::system::error_code error;
        std::ignore = last.connect(acceptor_.local_endpoint(), error);
    }

    [[nodiscard]] HttpEndpoint endpoint() const {
        return {.host = "127.0.0.1", .port = acceptor_.local_endpoint().port(), .tls = false};
    }

  private:
    boost::asio::io_context context_;
    boost::asio::ip::tcp::acceptor acceptor_;
    std::jthread thread_;
};

}  // namespace tessera
