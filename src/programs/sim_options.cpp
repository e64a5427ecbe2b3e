#include "programs/sim_options.hpp"

#include <algorithm>
#include <thread>

namespace tessera {

void add_jobs(CLI::App& command, int& threads, const std::string& what) {
    threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    command.add_option("-j,--jobs", threads, what + " at a time")
        ->check(CLI::Range(1, 1024))
        ->capture_default_str();
}

void add_output(CLI::App& command, std::string& output) {
    command.add_option("-o,--output", output, "table, json or csv")
        ->check(CLI::IsMember({"table", "json", "csv"}))
        ->capture_default_str();
}

}  // namespace tessera
