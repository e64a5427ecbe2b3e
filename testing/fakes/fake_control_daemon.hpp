// A control daemon of MPS that answers by the protocol, and the compute modes of its GPU. A test
// makes it fail: by `hangs`, `ignores_settings`, `start_error` and by setting `running` to 0.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ports/mps/compute_modes.hpp"
#include "ports/mps/control_daemon.hpp"

namespace tessera {

class FakeControlDaemon final : public ControlDaemon {
  public:
    struct Settings {
        std::string threads = "100.0";
        std::string memory;  // empty: no limit
        std::string status = "ACTIVE";
        std::vector<std::int64_t> clients = {};
    };

    Result<std::optional<std::int64_t>> pid() override {
        if (pid_error) return fail(*pid_error);
        if (running == 0) return std::optional<std::int64_t>();
        return std::optional(running);
    }
    bool has_servers() override { return !servers.empty(); }
    Result<> start() override {
        starts++;
        if (!start_error.empty()) return fail(Code::unavailable, start_error);
        running = 100 + starts;
        defaults = {};
        servers.clear();
        return {};
    }
    Result<> kill(std::int64_t pid) override {
        killed.push_back(pid);
        running = 0;
        hangs = false;
        return {};
    }
    std::vector<std::int64_t> faulted_clients() override { return std::exchange(faulted, {}); }
    Result<> end_server(std::int64_t pid) override {
        servers.erase(std::to_string(pid));
        ended_servers.push_back(pid);
        return {};
    }
    Result<std::string> execute(std::string_view command) override {
        asked.emplace_back(command);
        if (execute_error) return fail(*execute_error);
        if (hangs) return fail(Code::unavailable, "no answer within 2 s");
        return answer(command);
    }
    Result<std::string> execute_as_tenant(std::string_view command) override {
        if (!is_open) return fail(Code::conflict, "Cannot find MPS control daemon process");
        if (protects) return "Insufficient privileges for UID 0.\n";
        return execute(command);
    }
    Result<> open() override {
        is_open = true;
        return {};
    }
    void close() override { is_open = false; }
    Result<> clear() override {
        clears++;
        if (clear_error) return fail(*clear_error);
        return {};
    }

    std::int64_t running = 0;
    int starts = 0;
    int clears = 0;
    bool is_open = false;
    bool hangs = false;
    bool ignores_settings = false;
    bool ignores_quit = false;
    bool starts_servers = true;
    int last_server = 500;  // the pid of the last one that it started
    bool protects = true;
    std::string start_error;
    std::optional<Error> pid_error;
    std::optional<Error> execute_error;
    std::optional<Error> clear_error;
    Settings defaults;
    std::map<std::string, Settings> servers;  // by pid
    std::vector<std::int64_t> killed;
    std::vector<std::int64_t> faulted;  // the answer of the next faulted_clients()
    std::vector<std::int64_t> ended_servers;
    std::vector<std::string> asked;

  private:
    // As the drivers 535 and 550 show a limit, in whole GiB if it is so large.
    static std::string shown(const std::string& memory) {
        const long mebibytes = memory.ends_with('M') ? std::stol(memory) : 0;
        return mebibytes >= 1024 ? std::to_string(mebibytes / 1024) + "G" : memory;
    }
    static std::vector<std::string> words(std::string_view text) {
        std::vector<std::string> out(1);
        for (const char c : text) {
            if (c == ' ') {
                out.emplace_back();
            } else {
                out.back() += c;
            }
        }
        return out;
    }
    std::string answer(std::string_view command) {
        const std::vector<std::string> word = words(command);
        if (word[0] == "quit") {
            if (!ignores_quit) running = 0;
            return "";
        }
        if (word[0] == "start_server") {
            if (starts_servers) servers[std::to_string(++last_server)] = defaults;
            return "";
        }
        if (word[0] == "get_server_list") {
            std::string pids;
            for (const auto& [pid, settings] : servers)
                pids += pid + "\n";
            return pids;
        }
        if (word[0] == "get_server_status" && servers.contains(word[1]))
            return servers[word[1]].status + "\n";
        if (word[0] == "get_client_list") {
            std::string pids;
            for (const std::int64_t pid : servers[word[1]].clients)
                pids += std::to_string(pid) + "\n";
            return pids;
        }
        const bool is_default = word[0].find("_default_") != std::string::npos;
        if (!is_default && !servers.contains(word[1])) return "Server " + word[1] + " not found\n";
        Settings& settings = is_default ? defaults : servers[word[1]];
        const bool sets = word[0].starts_with("set_") && !ignores_settings;
        if (word[0].ends_with("percentage")) {
            if (sets) settings.threads = word.back() + ".0";
            return settings.threads + "\n";
        }
        if (word[0].starts_with("get_")) return shown(settings.memory) + "\n";
        if (sets) settings.memory = word.back();
        return "";
    }
};

class FakeComputeModes final : public ComputeModes {
  public:
    Result<ComputeMode> get(const GpuUuid&) override {
        if (error) return fail(*error);
        return mode;
    }
    Result<> set(const GpuUuid&, ComputeMode wanted) override {
        if (error) return fail(*error);
        if (!ignores) mode = wanted;
        return {};
    }

    ComputeMode mode = ComputeMode::shared;
    bool ignores = false;
    std::optional<Error> error;
};

}  // namespace tessera
