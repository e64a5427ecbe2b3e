// An API server that answers as a test says, over real HTTP.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "adapters/http/http.hpp"

namespace tessera {

// An API server that answers by a script: path (without the query) and method to the answers to
// give, the last of them again and again.
class ScriptedServer {
  public:
    ScriptedServer() {
        const auto port = server_.listen();
        EXPECT_TRUE(port);
        port_ = *port;
        thread_ = std::jthread([this](const std::stop_token& stop) { server_.serve(stop); });
    }
    ~ScriptedServer() {
        thread_.request_stop();
        thread_.join();
    }
    void answer(const std::string& method_and_path, int status, std::string body) {
        const std::scoped_lock lock(mutex_);
        script_[method_and_path].push_back({.status = status, .body = std::move(body)});
    }
    [[nodiscard]] HttpEndpoint endpoint() const {
        HttpEndpoint out;
        out.host = "127.0.0.1";
        out.port = port_;
        out.tls = false;
        return out;
    }
    [[nodiscard]] std::vector<HttpRequest> requests() {
        const std::scoped_lock lock(mutex_);
        return requests_;
    }

  private:
    HttpResponse handle(const HttpRequest& request) {
        const std::scoped_lock lock(mutex_);
        requests_.push_back(request);
        auto& answers = script_[request.method + " " + request.path];
        if (answers.empty()) return {.status = 404, .body = R"({"message":"no such thing"})"};
        HttpResponse out = answers.front();
        if (answers.size() > 1) answers.pop_front();
        return out;
    }

    std::mutex mutex_;
    std::map<std::string, std::deque<HttpResponse>> script_;
    std::vector<HttpRequest> requests_;
    HttpServer server_{{}, [this](HttpRequest& request) { return handle(request); }};
    int port_ = 0;
    std::jthread thread_;
};

}  // namespace tessera
