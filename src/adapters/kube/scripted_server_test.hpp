// A scripted API server, over real HTTP.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "adapters/http/http.hpp"
#include "base/mutex.hpp"

namespace tessera {

// Answers by a script: for each path (without the query) and method, a list of answers; the last
// one is repeated.
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
    void answer(const std::string& method_and_path, int status, std::string body,
                int retry_after_s = 0) {
        const MutexLock lock(mutex_);
        script_[method_and_path].push_back(
            {.status = status, .body = std::move(body), .retry_after_s = retry_after_s});
    }
    [[nodiscard]] HttpEndpoint endpoint() const {
        HttpEndpoint out;
        out.host = "127.0.0.1";
        out.port = port_;
        out.tls = false;
        return out;
    }
    HttpClient& client() {
        if (!client_) client_ = std::make_unique<HttpClient>(endpoint());
        return *client_;
    }
    [[nodiscard]] std::vector<HttpRequest> requests() {
        const MutexLock lock(mutex_);
        return requests_;
    }

  private:
    HttpResponse handle(const HttpRequest& request) {
        const MutexLock lock(mutex_);
        requests_.push_back(request);
        auto& answers = script_[request.method + " " + request.path];
        if (answers.empty()) return {.status = 404, .body = R"({"message":"no such thing"})"};
        HttpResponse out = answers.front();
        if (answers.size() > 1) answers.pop_front();
        return out;
    }

    Mutex mutex_;
    std::map<std::string, std::deque<HttpResponse>> script_;
    std::vector<HttpRequest> requests_;
    HttpServer server_{{}, [this](HttpRequest& request) { return handle(request); }};
    int port_ = 0;
    std::jthread thread_;
    std::unique_ptr<HttpClient> client_;
};

}  // namespace tessera
