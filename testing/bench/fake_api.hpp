// An API server for benchmarks: lists in pages, watches without events, single pods, bindings,
// Secrets, and "/floor", which answers with the request's body.
#pragma once

#include <string>
#include <thread>

#include "base/mutex.hpp"
#include "testing/bench/cluster_text.hpp"
#include "testing/bench/raw_http.hpp"

namespace tessera::bench {

// Its threads end with the process, so an object of it must live as long.
class FakeApi {
  public:
    // `text` outlives this.
    explicit FakeApi(const ClusterText& text);
    [[nodiscard]] int port() const { return listener_.port; }

  private:
    void serve(int fd);
    [[nodiscard]] std::string reply(const std::string& line, const std::string& body);
    [[nodiscard]] std::string reply_of_secrets(const std::string& line, const std::string& body);

    const ClusterText& text_;
    Listener listener_;
    Mutex mutex_;
    std::string secret_ TESSERA_GUARDED_BY(mutex_);  // the only one
};

}  // namespace tessera::bench
