#include "gpusim/mps/commands.hpp"

#include <cstdlib>
#include <cstring>

namespace gpusim::mps {
namespace {

constexpr int kMaxWords = 8;
constexpr char kInvalidDevice[] = "Invalid device ordinal!";
constexpr char kInvalidPercentage[] = "Invalid percentage, expected between (0.0, 100.0]";
constexpr char kInvalidPriority[] = "Invalid priority value - must be 0 or 1!";
constexpr char kNoDefaultLimit[] = "No default pinned memory limit set for the device!";

struct Call {
    Control& control;
    const Caller& caller;
    Answer& answer;
    const char* words[kMaxWords] = {};
    int count = 0;

    // An absent word reads as "".
    const char* word(int i) const { return i < count ? words[i] : ""; }
    // As the vendor's program: no number is 0, and the lower 32 bits count.
    int number(int i) const { return static_cast<int>(std::strtol(word(i), nullptr, 10)); }
    bool is(int i, const char* text) const { return std::strcmp(word(i), text) == 0; }
};

// The server that a word names. If there is none, the answer says so.
Server* server_of(const Call& call, int word) {
    const int pid = call.number(word);
    Server* server = pid > 0 ? call.control.servers.find(pid) : nullptr;
    if (server == nullptr) call.answer.line("Server %d not found", pid);
    return server;
}

Outcome note(const char* text) {
    Outcome outcome;
    outcome.note = text;
    return outcome;
}

// 550 keeps changes from callers without privilege, also from root. The answer says so.
bool may_change(const Call& call) {
    if (call.control.version < Version::v550 || call.caller.privileged) return true;
    // The misspelling is the vendor's.
    call.answer.line(
        "Insufficient privileges for UID %u. Control deamon settings can only be modified by the "
        "user started it or by the root user.",
        call.caller.uid);
    return false;
}

// The server of a command that changes it, or null with an answer.
Server* changeable_server(const Call& call) {
    Server* server = server_of(call, 1);
    return server != nullptr && may_change(call) ? server : nullptr;
}

Outcome get_server_list(Call& call) {
    const Servers& servers = call.control.servers;
    for (int i = 0; i < servers.count; i++)
        call.answer.line("%d", servers.list[i].pid);
    return {};
}

Outcome get_server_status(Call& call) {
    const char* word = call.word(1);
    // "0" is a PID, "abc" is none.
    char* end = nullptr;
    std::strtol(word, &end, 10);
    if (end == word) {
        call.answer.line("A server PID is required");
        return {};
    }
    const Server* server = server_of(call, 1);
    if (server == nullptr) return {};
    const char* active = server->has_fault ? "FAULT" : "ACTIVE";
    call.answer.line("%s", server->ready ? active : "INITIALIZING");
    return {};
}

// Calls `body(client, context)` for each context of the server's clients; with 0, of all servers'.
template <typename Body>
void for_each_context(const Control& control, pid_t server, const Body& body) {
    for (int i = 0; i < control.clients.count; i++) {
        const Client& client = control.clients.list[i];
        if (server != 0 && client.server != server) continue;
        for (const ClientContext& context : client.contexts)
            if (context.id != 0) body(client, context);
    }
}

Outcome get_client_list(Call& call) {
    const Server* server = server_of(call, 1);
    if (server == nullptr) return {};
    const Clients& clients = call.control.clients;
    for (int i = 0; i < clients.count; i++)
        if (clients.list[i].server == server->pid) call.answer.line("%d", clients.list[i].pid);
    return {};
}

// The bus ID is as seen: the vendor's program writes zeros.
void list_device(const Call& call, const Server& server, int ordinal) {
    bool has_title = false;
    const std::uint32_t gpu = server.gpus.gpus[ordinal];
    for_each_context(call.control, server.pid, [&](const Client& client, const auto& context) {
        if (context.gpu != gpu) return;
        if (!has_title) call.answer.line("[%d] 00:00.0, %s", ordinal, context.name.model);
        has_title = true;
        call.answer.line("%d.%u", client.pid, context.id);
    });
}

Outcome get_device_client_list(Call& call) {
    const pid_t wanted = call.number(1);
    if (wanted != 0 && server_of(call, 1) == nullptr) return {};
    const Servers& servers = call.control.servers;
    for (int i = 0; i < servers.count; i++) {
        const Server& server = servers.list[i];
        if (wanted != 0 && server.pid != wanted) continue;
        for (int ordinal = 0; ordinal < server.device_count; ordinal++)
            list_device(call, server, ordinal);
    }
    return {};
}

Outcome get_default_percentage(Call& call) {
    call.answer.line("%.1f", call.control.defaults.active_thread_percentage);
    return {};
}

// Answers the value that is valid now.
Outcome change_percentage(const Call& call, Settings& settings, const char* text) {
    const Change change = set_active_thread_percentage(settings, text);
    call.answer.line("%.1f", settings.active_thread_percentage);
    return change == Change::invalid ? note(kInvalidPercentage) : Outcome{};
}

Outcome set_default_percentage(Call& call) {
    if (!may_change(call)) return {};
    return change_percentage(call, call.control.defaults, call.word(1));
}

Outcome get_percentage(Call& call) {
    if (const Server* server = server_of(call, 1); server != nullptr)
        call.answer.line("%.1f", server->settings.active_thread_percentage);
    return {};
}

Outcome set_percentage(Call& call) {
    Server* server = changeable_server(call);
    return server != nullptr ? change_percentage(call, server->settings, call.word(2)) : Outcome{};
}

struct LimitWords {
    int device;  // the place of its word
    int device_count;
};

Outcome change_limit(const Call& call, Settings& settings, LimitWords words) {
    const int device = parse_device(call.word(words.device), words.device_count);
    if (device < 0) return note(kInvalidDevice);
    settings.pinned_limit_bytes[device] = parse_limit(call.word(words.device + 1));
    return {};
}

Outcome show_limit(const Call& call, const Settings& settings, LimitWords words) {
    const int device = parse_device(call.word(words.device), words.device_count);
    if (device < 0) return note(kInvalidDevice);
    const std::uint64_t bytes = settings.pinned_limit_bytes[device];
    if (bytes == 0) return note(kNoDefaultLimit);
    call.answer.line("%s", limit_text(bytes).text);
    return {};
}

Outcome set_default_limit(Call& call) {
    if (!may_change(call)) return {};
    return change_limit(call, call.control.defaults, {1, kMaxDevices});
}

Outcome get_default_limit(Call& call) {
    return show_limit(call, call.control.defaults, {1, kMaxDevices});
}

Outcome set_limit(Call& call) {
    Server* server = changeable_server(call);
    if (server == nullptr) return {};
    return change_limit(call, server->settings, {2, server->device_count});
}

Outcome get_limit(Call& call) {
    const Server* server = server_of(call, 1);
    if (server == nullptr) return {};
    return show_limit(call, server->settings, {2, server->device_count});
}

Outcome get_default_priority(Call& call) {
    call.answer.line("%d", call.control.defaults.client_priority);
    return {};
}

Outcome set_default_priority(Call& call) {
    if (!may_change(call)) return {};
    if (set_client_priority(call.control.defaults, call.word(1)) == Change::invalid)
        call.answer.line("%s", kInvalidPriority);
    return {};
}

// The columns are those of the manual; the width of the gaps is a guess.
void list_processes(const Call& call, pid_t server) {
    bool has_title = false;
    for_each_context(call.control, server, [&](const Client& client, const auto& context) {
        constexpr char kTitle[] =
            "PID       ID    SERVER    DEVICE                  NAMESPACE      COMMAND";
        if (!has_title) call.answer.line("%s", kTitle);
        has_title = true;
        call.answer.line("%-9d %-5u %-9d %-23.22s %-14lu %s", client.pid, context.id, client.server,
                         context.name.uuid, client.pid_namespace, client.command);
    });
}

Outcome ps(Call& call) {
    if (call.is(1, "-p")) {
        if (const Server* server = server_of(call, 2); server != nullptr) {
            list_processes(call, server->pid);
        } else {
            call.answer.line("Server %d not found", call.number(2));
            call.answer.line("%s", "");
        }
    } else if (call.control.servers.count == 0) {
        call.answer.line("Server not found");
    } else {
        list_processes(call, 0);
    }
    return {};
}

Outcome terminate_client(Call& call) {
    const Server* server = server_of(call, 1);
    if (server == nullptr) {
        call.answer.line("Server %d not found!", call.number(1));
    } else if (call.control.clients.find_process(server->pid, call.number(2)) == nullptr) {
        call.answer.line("Client %d not found!", call.number(2));  // a guess: not seen
    } else {
        call.answer.line("0");
        Outcome outcome;
        outcome.action = Action::terminate_client;
        outcome.pid = server->pid;
        outcome.client = call.number(2);
        return outcome;
    }
    call.answer.line("1");
    return {};
}

Outcome start_server(Call& call) {
    char* end = nullptr;
    const char* word = call.word(2);
    const auto uid = static_cast<uid_t>(std::strtol(word, &end, 10));
    if (!call.is(1, "-uid") || end == word) {
        call.answer.line("A user id (UID) is required to start a new server");
        return {};
    }
    if (call.caller.uid != 0 && call.caller.uid != uid) {
        const bool is_550 = call.control.version == Version::v550;
        call.answer.line("Insufficient privileges for UID %u%s", call.caller.uid,
                         is_550 ? ". Only the root user may start server for another user." : "");
        return {};
    }
    Outcome outcome;
    if (call.control.servers.find_of_user(uid) == nullptr) outcome.action = Action::start_server;
    outcome.uid = uid;
    return outcome;
}

Outcome shutdown_server(Call& call) {
    Outcome outcome;
    if (const Server* server = server_of(call, 1); server != nullptr) {
        outcome.action = call.is(2, "-f") ? Action::kill_server : Action::shutdown_server;
        outcome.pid = server->pid;
    }
    return outcome;
}

Outcome quit(Call& call) {
    if (!call.caller.privileged) {
        call.answer.line("Not enough privilege to execute quit command");
        return {};
    }
    Outcome outcome;
    outcome.action = Action::quit;
    if (call.is(1, "-t")) outcome.timeout_s = call.number(2);
    return outcome;
}

struct Command {
    const char* name;
    Outcome (*run)(Call&);
    Version since = Version::v535;
};

constexpr Command kCommands[] = {
    {"get_server_list", get_server_list},
    {"get_server_status", get_server_status, Version::v550},
    {"get_client_list", get_client_list},
    {"get_device_client_list", get_device_client_list},
    {"get_default_active_thread_percentage", get_default_percentage},
    {"set_default_active_thread_percentage", set_default_percentage},
    {"get_active_thread_percentage", get_percentage},
    {"set_active_thread_percentage", set_percentage},
    {"get_default_device_pinned_mem_limit", get_default_limit},
    {"set_default_device_pinned_mem_limit", set_default_limit},
    {"get_device_pinned_mem_limit", get_limit},
    {"set_device_pinned_mem_limit", set_limit},
    {"get_default_client_priority", get_default_priority},
    {"set_default_client_priority", set_default_priority},
    {"ps", ps},
    {"terminate_client", terminate_client},
    {"start_server", start_server},
    {"shutdown_server", shutdown_server},
    {"quit", quit},
};

const Command* find_command(const char* name, Version version) {
    for (const Command& command : kCommands)
        if (command.since <= version && std::strcmp(command.name, name) == 0) return &command;
    return nullptr;
}

}  // namespace

Outcome execute(Control& control, const Caller& caller, char* line, Answer& answer) {
    Call call{control, caller, answer};
    char* rest = nullptr;
    for (char* word = strtok_r(line, " \t\r\n\v\f", &rest); word != nullptr;
         word = strtok_r(nullptr, " \t\r\n\v\f", &rest)) {
        if (call.count == kMaxWords) break;
        call.words[call.count++] = word;
    }
    const Command* command = find_command(call.word(0), control.version);
    if (command == nullptr) {
        answer.line("Unknown command \"%s\"", call.word(0));
        return {};
    }
    return command->run(call);
}

}  // namespace gpusim::mps
