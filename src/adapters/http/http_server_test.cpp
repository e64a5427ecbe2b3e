#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "adapters/http/http.hpp"

namespace tessera {
namespace {

constexpr std::chrono::seconds kDeadline{10};

class Server : public ::testing::Test {
  protected:
    Server() {
        const auto port = server_.listen();
        EXPECT_TRUE(port);
        port_ = port.value_or(0);
        thread_ = std::jthread([this](const std::stop_token& stop) { server_.serve(stop); });
    }

    [[nodiscard]] int post(std::size_t body_bytes) const {
        HttpClient client({.host = "127.0.0.1", .port = port_, .tls = false});
        const auto answer =
            client.send({"POST", "/echo", std::string(body_bytes, 'x'), ""}, kDeadline);
        EXPECT_TRUE(answer) << answer.error().text;
        return answer ? answer->status : 0;
    }

    HttpResponse answer(const HttpRequest& request) {
        if (request.body.size() > kLarge) {
            inside_.set_value();
            release_.get_future().wait();
        }
        return {.status = 200, .body = std::to_string(request.body.size())};
    }

    static constexpr std::size_t kLarge = 1'000;
    std::promise<void> inside_;
    std::promise<void> release_;
    HttpServer server_{
        {.max_body_bytes = 10'000, .large_body_bytes = kLarge, .large_bodies_at_once = 1},
        [this](HttpRequest& request) { return answer(request); }};
    int port_ = 0;
    std::jthread thread_;
};

// Goal: few large bodies are in memory at once; small ones do not wait for them, and the turn comes
// back.
TEST_F(Server, LargeBodiesAtOnce) {
    auto first = std::async(std::launch::async, [this] { return post(kLarge + 1); });
    inside_.get_future().wait();
    EXPECT_EQ(post(kLarge + 1), 503);
    EXPECT_EQ(post(kLarge), 200);
    inside_ = {};
    release_.set_value();
    EXPECT_EQ(first.get(), 200);
    EXPECT_EQ(post(kLarge), 200);
    release_ = {};
    release_.set_value();
    EXPECT_EQ(post(kLarge + 1), 200);
}

// Goal: a connection is good for another request after a refusal.
TEST_F(Server, RefusalKeepsTheConnection) {
    auto first = std::async(std::launch::async, [this] { return post(kLarge + 1); });
    inside_.get_future().wait();
    HttpClient client({.host = "127.0.0.1", .port = port_, .tls = false});
    const std::string large(kLarge + 1, 'x');
    EXPECT_EQ(client.send({"POST", "/echo", large, ""}, kDeadline)->status, 503);
    EXPECT_EQ(client.send({"POST", "/echo", "abc", ""}, kDeadline)->body, "3");
    release_.set_value();
    EXPECT_EQ(first.get(), 200);
}

TEST_F(Server, BodyAboveTheLimit) {
    EXPECT_EQ(post(10'001), 413);
    EXPECT_EQ(post(3), 200);
}

}  // namespace
}  // namespace tessera
