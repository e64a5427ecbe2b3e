#include "gpusim/test_support/simulated_node.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace fs = std::filesystem;

namespace gpusim {

SimulatedNode::SimulatedNode(const std::string& yaml) {
    std::string name = (fs::temp_directory_path() / "gpusim-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp " + name);
    scratch_ = name;
    fs::permissions(scratch_, static_cast<fs::perms>(0755));
    root_ = scratch_ / "driver";
    auto gpus = parse_gpus({yaml, "test.yaml", ""});
    if (!gpus) throw std::runtime_error(gpus.error());
    gpus_ = *gpus;
    const auto made = create_root({gpus_, fs::path(TESSERA_BINARY_DIR) / "gpusim/lib", root_});
    if (!made) throw std::runtime_error(made.error());
    state_ = open_root(root_, Access::read_only).value();
}

// The descriptor may be closed here, because this process never holds locks.
SimulatedNode::~SimulatedNode() {
    munmap(state_.file, sizeof(GpusFile));
    close(state_.locks_fd);
    close(state_.memory_fd);
    std::error_code ignored;
    fs::remove_all(scratch_, ignored);
}

fs::path SimulatedNode::library(const char* name) const {
    return root_ / kLibraryDir / name;
}

fs::path SimulatedNode::state_directory() const {
    return root_ / kLibraryDir / "gpusim";
}

int SimulatedNode::control(const std::string& arguments) const {
    const std::string command =
        TESSERA_BINARY_DIR "/bin/gpusimctl --root " + root_.string() + " " + arguments;
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void SimulatedNode::hide(unsigned minor) const {
    fs::remove(state_directory() / "dev" / ("nvidia" + std::to_string(minor)));
}

CommandResult result_of(const std::string& command) {
    std::FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) throw std::runtime_error("popen " + command);
    CommandResult result;
    std::array<char, 4096> buffer = {};
    while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
        result.output.append(buffer.data(), got);
    }
    const int status = pclose(pipe);
    if (WIFEXITED(status)) result.status = WEXITSTATUS(status);
    return result;
}

std::string output_of(const std::string& command) {
    return result_of(command).output;
}

}  // namespace gpusim
