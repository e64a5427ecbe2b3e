// The base of tests with clients of MPS: a node with a control daemon, and programs.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "gpusim/test_support/cuda_program.hpp"
#include "gpusim/test_support/mps_daemon.hpp"

namespace gpusim {

// Sets a variable of the environment, for the programs that start while this exists.
class Variable {
  public:
    Variable(const char* name, const char* value) : name_(name) {
        if (const char* old = std::getenv(name); old != nullptr) old_ = old;
        setenv(name, value, 1);
    }
    ~Variable() {
        if (old_.empty()) {
            unsetenv(name_);
        } else {
            setenv(name_, old_.c_str(), 1);
        }
    }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;

  private:
    const char* name_;
    std::string old_;
};

class MpsTest : public testing::Test {
  protected:
    explicit MpsTest(const char* gpus) : node_(gpus) {}

    std::filesystem::path library() const { return node_.library("libcuda.so.1"); }

    // A process with a context on device 0. It answers each number that it receives with what an
    // allocation returns, 0 for success; then it ends when the wire does.
    std::unique_ptr<ChildProcess> start_program(uid_t uid = getuid()) const {
        auto child = std::make_unique<ChildProcess>([this, uid](Wire& wire) {
            if (uid != getuid() && setuid(uid) != 0) return;
            CudaProgram program(library());
            wire.send();
            while (wire.receive() != 0)
                wire.send(1000 + static_cast<unsigned>(program.allocate(kMiB)));
        });
        return child;
    }
    std::unique_ptr<ChildProcess> client() const {
        auto child = start_program();
        EXPECT_EQ(child->wire().receive(), 1U);
        return child;
    }
    std::unique_ptr<ChildProcess> program_without_mps() const {
        const Variable no_daemon("CUDA_MPS_PIPE_DIRECTORY", "/nonexistent");
        return client();
    }
    // What the program's next call returns.
    static CUresult call(ChildProcess& program) {
        program.wire().send();
        return static_cast<CUresult>(program.wire().receive() - 1000);
    }
    // What a new program gets for a context on device 0.
    CUresult try_context() const {
        ChildProcess child([this](Wire& wire) {
            const Library cuda(library());
            CUcontext context = nullptr;
            CUresult result = CALL(cuda, cuInit)(0);
            if (result == CUDA_SUCCESS) result = CALL(cuda, cuCtxCreate_v2)(&context, 0, 0);
            wire.send(1000 + static_cast<unsigned>(result));
        });
        const auto result = static_cast<CUresult>(child.wire().receive() - 1000);
        EXPECT_EQ(child.join(), 0);
        return result;
    }
    CUresult try_context_without_mps() const {
        const Variable no_daemon("CUDA_MPS_PIPE_DIRECTORY", "/nonexistent");
        return try_context();
    }
    static std::string pid(const ChildProcess& child) { return std::to_string(child.pid()); }

    SimulatedNode node_;
    MpsDaemon daemon_{node_};
};

}  // namespace gpusim
