// Forwards connections on a port of this machine to a port of a pod, by the API server.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "adapters/http/http.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"

namespace tessera {

// Its functions are called by one thread. It has a thread of its own for each connection.
class PortForward {
  public:
    // Called by those threads. `find_pod` names the pod for a new connection; `warn` gets why a
    // connection failed, with the right that is missing.
    struct Callbacks {
        std::function<Result<PodName>()> find_pod;
        std::function<void(const std::string&)> warn;
    };

    // Listens on 127.0.0.1. `api`: the API server; outlives this. `local_port` 0: any free one.
    // `remote_port`: of the pod. Errors: unavailable if the port is taken.
    static Result<std::unique_ptr<PortForward>> open(HttpClient& api, int local_port,
                                                     int remote_port, Callbacks callbacks);
    // Ends all connections.
    ~PortForward();

    [[nodiscard]] int port() const;  // of this machine
    // Accepts connections for this time.
    void serve_for(std::chrono::milliseconds time);

  private:
    class Impl;
    explicit PortForward(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace tessera
