// The processes of a run:
//
//     tessera-run     the user's: it has the terminal, forwards signals and returns the status
//       supervisor    in a session of its own: parent of the program, and of each process of the
//                     run whose parent has ended; removes the run when the last one has ended
//         program
//
// Each of the first two may be killed at any time. The program then goes on, and the other one does
// the rest. If both are killed, the run is live while one of its processes has the lock's
// descriptor or uses the GPU (run_folder.hpp).
#pragma once

#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include "adapters/run/run_folder.hpp"
#include "base/result.hpp"
#include "domain/run/run_end.hpp"

namespace tessera {

struct RunProgram {
    std::vector<std::string> words;        // the program and its arguments
    std::vector<std::string> environment;  // NAME=VALUE
};

class RunProcesses {
  public:
    // Forks the supervisor and the program, which does not start before begin(). If this process
    // ends before that, they end too. `folder_lock` is not left to them. Errors: unavailable; then
    // the run is removed.
    static Result<RunProcesses> start(const RunProgram& program, const RunFolder& folder,
                                      NewRun run, const OwnedDescriptor& folder_lock);

    [[nodiscard]] const NewRun& run() const { return run_; }
    [[nodiscard]] pid_t program() const { return program_; }
    // Starts the program. Errors: not_found or permission_denied if it cannot be executed.
    Result<> begin();
    // Forwards signals until the program has ended. Errors: unavailable if its status was lost.
    Result<RunEnd> wait();

  private:
    RunProcesses(RunFolder folder, NewRun run) : folder_(std::move(folder)), run_(std::move(run)) {}

    Result<> fork_processes(const RunProgram& program, const OwnedDescriptor& folder_lock);
    void forward(int signal) const;
    void forward_pending();
    Result<RunEnd> take_over();

    RunFolder folder_;
    NewRun run_;
    std::string name_;  // of the program
    pid_t program_ = 0;
    OwnedDescriptor program_fd_;  // its pidfd; closed where the kernel has none
    OwnedDescriptor supervisor_;  // messages from the supervisor; ends with it
    OwnedDescriptor begin_;       // to the program
    OwnedDescriptor failure_;     // from the program: why it cannot be executed
    OwnedDescriptor signals_;
    std::int64_t started_ns_ = 0;
};

}  // namespace tessera
