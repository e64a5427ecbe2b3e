// A program of this build as a process, and a folder for its files.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tessera {

// A program that takes longer hangs. No test measures time by it: a sanitizer on a busy machine may
// take minutes.
inline constexpr std::chrono::minutes kNotHanging{20};

// A folder for the files of one test.
class Folder {
  public:
    Folder()
        : path_(std::filesystem::temp_directory_path() /
                ("tessera-programs-" + std::to_string(::getpid()))) {
        std::filesystem::create_directories(path_);
    }
    ~Folder() { std::filesystem::remove_all(path_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    [[nodiscard]] std::string file(const std::string& name) const {
        return (path_ / name).string();
    }

  private:
    std::filesystem::path path_;
};

// A started program of this build; its output goes to a file.
class Program {
  public:
    Program(const std::string& name, std::vector<std::string> arguments, std::string output)
        : output_(std::move(output)) {
        arguments.insert(arguments.begin(), std::string(TESSERA_BINARY_DIR) + "/bin/" + name);
        std::vector<char*> pointers;
        pointers.reserve(arguments.size() + 1);
        for (std::string& argument : arguments)
            pointers.push_back(argument.data());
        pointers.push_back(nullptr);
        posix_spawn_file_actions_t files;
        posix_spawn_file_actions_init(&files);
        posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_addopen(&files, 1, output_.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                         0600);
        posix_spawn_file_actions_adddup2(&files, 1, 2);
        EXPECT_EQ(::posix_spawn(&pid_, pointers[0], &files, nullptr, pointers.data(), environ), 0);
        posix_spawn_file_actions_destroy(&files);
    }
    ~Program() {
        if (pid_ <= 0) return;
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    [[nodiscard]] pid_t pid() const { return pid_; }
    void terminate() const { ::kill(pid_, SIGTERM); }
    // The exit status; -1 if the program did not end in time, or was killed.
    int wait(std::chrono::seconds most = std::chrono::seconds(15)) {
        const auto end = std::chrono::steady_clock::now() + most;
        while (std::chrono::steady_clock::now() < end) {
            int status = 0;
            if (::waitpid(pid_, &status, WNOHANG) == pid_) {
                pid_ = 0;
                return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        return -1;
    }
    [[nodiscard]] std::string output() const {
        std::ifstream in(output_);
        return {std::istreambuf_iterator<char>(in), {}};
    }

  private:
    std::string output_;
    pid_t pid_ = 0;
};

// The program's output; the program must succeed.
inline std::string output_of(const std::string& program,
                             const std::vector<std::string>& arguments) {
    const Folder folder;
    Program run(program, arguments, folder.file("output"));
    EXPECT_EQ(run.wait(), 0);
    return run.output();
}

}  // namespace tessera
