// A tessera-controller that a benchmark has started, and that has listed the whole cluster.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace tessera::bench {

class StartedController {
  public:
    // `program`: its file. `api_port`: of the API server, on loopback. `options`: further options.
    StartedController(const std::string& program, int api_port, std::vector<std::string> options);
    StartedController(const StartedController&) = delete;
    StartedController& operator=(const StartedController&) = delete;
    ~StartedController();

    [[nodiscard]] int port() const { return port_; }

    // Returns when the controller is idle, that is, when its policies have learnt from the pods.
    void wait_idle() const;

    // CPU time of all its threads. It is exact for threads that sleep.
    // Source: /proc/PID/task/TID/schedstat, nanoseconds first (sched-stats.rst).
    [[nodiscard]] double cpu_ms() const;
    [[nodiscard]] double rss_mb() const;

  private:
    [[nodiscard]] double cpu_seconds() const;
    void wait_ready() const;

    int port_;
    pid_t pid_ = 0;
    std::filesystem::path path_;  // of its kubeconfig
};

}  // namespace tessera::bench
