#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "programs/common/installed_file.hpp"
#include "programs/common/run_options.hpp"
#include "programs/tessera/commands.hpp"

namespace fs = std::filesystem;

namespace tessera {
namespace {

constexpr const char* kHelper = "tessera-run";

// tessera is one static file, and such a file cannot load NVIDIA's libraries. So a second program
// does the work. It is beside this one, or where the guard's library is installed.
Result<fs::path> find_helper(const RunOptions& options) {
    const auto folders = options.helper_folder.empty()
                             ? release_folders({program_folder()})
                             : std::vector<fs::path>{options.helper_folder};
    FoundFile found = find_file(folders, kHelper);
    if (!found.path.empty()) return std::move(found.path);
    return fail(Code::not_found,
                fmt::format("the program {} is not in {}; put it and libtessera-guard.so of the "
                            "same release beside tessera, or name their folder with "
                            "--helper-folder",
                            kHelper, found.searched));
}

// Does not return if the helper starts: it takes the place of this process.
Result<int> run(const RunOptions& options) {
    TRY_VOID(check_run_options(options));
    TRY(const fs::path helper, find_helper(options));
    const std::vector<std::string> arguments = run_arguments(options);
    std::vector<char*> words{const_cast<char*>(helper.c_str())};
    words.reserve(arguments.size() + 2);
    for (const std::string& argument : arguments)
        words.push_back(const_cast<char*>(argument.c_str()));
    words.push_back(nullptr);
    ::execv(helper.c_str(), words.data());
    return fail(Code::unavailable, fmt::format("{}: {}; install the {} of this machine's processor",
                                               helper.string(), std::strerror(errno), kHelper));
}

}  // namespace

CommandRow run_command() {
    return {"run", "Run a program on this machine with a GPU share, without Kubernetes",
            "tessera run --memory 4Gi --cores 30 -- python train.py",
            options_and_run<RunOptions>(add_run_options, run)};
}

}  // namespace tessera
