#include "programs/common/run_program.hpp"

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <thread>

#include "adapters/os/text_file.hpp"
#include "base/log.hpp"
#include "programs/common/command_line.hpp"
#include "programs/common/version.hpp"

namespace tessera {
namespace {

constexpr int kConfigRefused = 78;  // EX_CONFIG

std::string flag_name(std::string_view name) {
    std::string out = "--" + std::string(name);
    std::ranges::replace(out, '_', '-');
    return out;
}

std::string help_of(const ConfigRow& row) {
    std::string help(row.help);
    if (!row.default_value.empty()) help += " [" + std::string(row.default_value) + "]";
    if (!row.variable.empty()) help += " (env " + std::string(row.variable) + ")";
    return help;
}

Result<ConfigValues> load(const ProgramInfo& info, const ConfigValues& flags,
                          const std::string& config_path) {
    ConfigValues file;
    if (!config_path.empty()) {
        const auto text = read_text_file(config_path);
        if (!text) return fail(Code::invalid_argument, "cannot be read: " + text.error().text);
        auto read = read_config_file(info.rows, *text);
        if (!read) return fail(read.error().in(config_path));
        file = *std::move(read);
    }
    return resolve_config(info.rows, flags, file,
                          [](const char* name) { return std::getenv(name); });
}

// Turns SIGTERM and SIGINT into one stop request. They are blocked in every thread and taken by
// this one.
class SignalThread {
  public:
    SignalThread() {
        sigemptyset(&set_);
        sigaddset(&set_, SIGTERM);
        sigaddset(&set_, SIGINT);
        sigaddset(&set_, SIGUSR1);
        pthread_sigmask(SIG_BLOCK, &set_, nullptr);
        std::signal(SIGPIPE, SIG_IGN);
        thread_ = std::thread([this] {
            int signal = 0;
            while (sigwait(&set_, &signal) != 0) {
            }
            if (signal != SIGUSR1) log_event(Event::stopping, {{"signal", signal}});
            source_.request_stop();
        });
    }
    ~SignalThread() {
        pthread_kill(thread_.native_handle(), SIGUSR1);
        thread_.join();
    }
    SignalThread(const SignalThread&) = delete;
    SignalThread& operator=(const SignalThread&) = delete;

    [[nodiscard]] std::stop_token token() const { return source_.get_token(); }

  private:
    sigset_t set_{};
    std::stop_source source_;
    std::thread thread_;
};

// An uncaught exception ends the process, on whichever thread it is. This logs which exception it
// was, with time and name; the library's own message has neither.
void log_what_ends_us() {
    std::string what = "std::terminate without an exception";
    if (const auto thrown = std::current_exception()) {
        try {
            std::rethrow_exception(thrown);
        } catch (const std::exception& error) {
            what = error.what();
        } catch (...) {
            what = "an exception of an unknown type";
        }
    }
    log_event(Event::failed, {{"reason", "internal error: " + what}});
    std::abort();
}

}  // namespace

int run_program(const ProgramInfo& info, int argc, char** argv,
                const std::function<Result<>(const ConfigValues&)>& check,
                const std::function<Result<>(const ConfigValues&, const std::stop_token&)>& body) {
    std::set_terminate(log_what_ends_us);
    CLI::App app{std::string(info.summary), std::string(info.name)};
    ConfigValues given;
    for (const ConfigRow& row : info.rows) {
        const std::string name(row.name);
        const auto take = [&given, name](const std::string& value) { given[name] = value; };
        CLI::Option* option =
            app.add_option_function<std::string>(flag_name(row.name), take, help_of(row));
        // The last value wins, as in most programs, so a deployment can append to our arguments.
        option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
        // --name alone means true; --name=false means false.
        if (row.type == ConfigType::flag) option->expected(0, 1)->default_str("true");
    }
    std::string config_path;
    bool check_only = false;
    bool print_only = false;
    app.add_option("--config", config_path, "Read values from this YAML file")
        ->check([](const std::string& path) {
            return path.empty() ? "is empty; leave it out, or name a file" : "";
        });
    app.add_flag("--check-config", check_only, "Check the configuration and exit");
    app.add_flag("--print-config", print_only, "Print the configuration in force and exit");
    app.set_version_flag("--version", version_text(info.name));
    app.failure_message(failure_message_of(std::string(info.name)));
    try {
        app.parse(command_line(app, argc, argv));
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    const auto values = load(info, given, config_path);
    const auto checked = values ? check(*values) : Result<>(fail(values.error()));
    if (!checked) {
        log_event(Event::config_invalid, {{"reason", checked.error().text}});
        return kConfigRefused;
    }
    if (print_only) std::cout << print_config(info.rows, *values);
    if (check_only && !print_only) std::cout << "the configuration is good\n";
    if (print_only || check_only) return 0;
    const SignalThread signals;
    const auto done = body(*values, signals.token());
    if (done) return 0;
    log_event(Event::failed,
              {{"code", code_name(done.error().code)}, {"reason", done.error().text}});
    return exit_status(done.error().code);
}

}  // namespace tessera
