// tessera: the user's command. Called as kubectl-inspect-gpushare, it is gpushare's kubectl plugin.
#include <array>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "programs/common/command_line.hpp"
#include "programs/tessera/commands.hpp"
#include "programs/tessera/gpushare_plugin.hpp"
#include "programs/tessera/older_flags.hpp"

int main(int argc, char** argv) {
    using namespace tessera;
    const std::string name = std::filesystem::path(argv[0]).filename().string();
    if (name.starts_with("kubectl-inspect")) return run_gpushare_plugin(argc, argv);
    // In the order of the help.
    const auto commands = std::to_array<CommandRow>({
        inspect_command(), top_command(),     doctor_command(),      resize_command(),
        defrag_command(),  explain_command(), snapshot_command(),    clean_nodes_command(),
        migrate_command(), submit_command(),  list_command(),        get_command(),
        logs_command(),    attach_command(),  tensorboard_command(), delete_command(),
        prune_command(),   serve_command(),   data_command(),        whoami_command(),
        mps_command(),     run_command(),     completion_command(),
    });
    std::vector<std::string> words =
        with_newer_flags({argv, argv + argc},
                         [](const std::string& text) { std::cerr << "tessera: " << text << "\n"; });
    std::vector<char*> pointers;
    pointers.reserve(words.size());
    for (std::string& word : words)
        pointers.push_back(word.data());
    return run_commands({.name = "tessera",
                         .description = "Shared GPUs on Kubernetes.",
                         .footer = exit_statuses(),
                         .commands = commands},
                        argc, pointers.data());
}
