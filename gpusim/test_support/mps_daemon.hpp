// A simulated MPS control daemon for a test, and its commands. Processes that the test starts while
// it exists are its clients.
#pragma once

#include <memory>
#include <string>

#include "gpusim/test_support/child_process.hpp"
#include "gpusim/test_support/simulated_node.hpp"

namespace gpusim {

class MpsDaemon {
  public:
    explicit MpsDaemon(const SimulatedNode& node);
    ~MpsDaemon();  // kills the daemon, whose servers end with it
    MpsDaemon(const MpsDaemon&) = delete;
    MpsDaemon& operator=(const MpsDaemon&) = delete;

    // What nvidia-cuda-mps-control answers. It throws if that ends with another status than 0, for
    // example because the daemon is gone.
    std::string command(const std::string& line) const;
    // The pid of the only server, as text; starts it if there is none.
    std::string server() const;
    // Repeats the command until it answers this.
    void wait_for(const std::string& line, const std::string& answer) const;

    ChildProcess& process() { return *process_; }

  private:
    CommandResult run(const std::string& line) const;

    std::string program_;
    std::unique_ptr<ChildProcess> process_;
};

}  // namespace gpusim
