#include "simulator/program/churn_command.hpp"

#include <algorithm>

#include "programs/common/validators.hpp"
#include "simulator/program/plot_option.hpp"

namespace tessera {
namespace {

std::string load_fault(const std::string& text) {
    const auto load = read_load(text);
    return load ? std::string() : load.error().text;
}

constexpr const char* kFooter =
    "The trace's pods arrive repeatedly, at random instants, at the rate at which they request the "
    "given percentage of the GPUs. The cluster is full to that level from the start. ARRIVED: "
    "tasks, "
    "or gangs, that arrived in the measured time. ALLOC%: the part of all GPUs that is allocated, "
    "as the mean over that time. FRAG%: FGD's fragmentation, as the mean over that time. WAITED%: "
    "the tasks that fitted nowhere when they arrived. GAVE UP%: the part of the requested GPUs "
    "that belongs to tasks that gave up. All values are means over the seeds; except for ARRIVED, "
    "the "
    "half-width of a 95 % interval over the seeds is shown. A gang waits and gives up as a whole; "
    "gangs have lines of their own. docs/placement.md says more.\n\n";

void add_moves(CLI::App& app_command, ChurnCommand& command) {
    CLI::Option* after =
        app_command
            .add_option("--defrag-after", command.defrag_after_s,
                        "seconds after which running tasks are moved to make room for a waiting "
                        "task or gang with GPUs, as tessera defrag --for POD --apply does; by "
                        "default no task is moved")
            ->check(between(0.001, 1e9));
    app_command
        .add_option("--most-moves", command.most_moves,
                    "with --defrag-after: maximum number of moves for one waiting task")
        ->transform(whole_number(1, 1000))
        ->needs(after)
        ->capture_default_str();
    app_command
        .add_option("--checkpoint", command.checkpoint_s,
                    "with --defrag-after: interval in seconds at which a running task writes a "
                    "checkpoint; a moved task resumes from its last one. 0: no work is lost. "
                    "By default a moved task starts again from the beginning")
        ->check(between(0, 1e9))
        ->needs(after);
}

}  // namespace

void add_churn_options(CLI::App& command, ChurnCommand& options) {
    ChurnSweepOptions& churn = options.churn;
    churn.trace = {"default", 42};
    churn.source.seed_option = "--order";
    churn.policies = {"fgd", "binpack", "expected-fill"};
    add_source(command, churn.source, options.source);
    add_trace(command, churn.trace.trace, options.source, "the trace, with times");
    command
        .add_option("--order", churn.trace.seed,
                    "seed of one of the trace's orders of arrival: nodes are tried in that order; "
                    "the seed also selects random gangs and the nodes of --without")
        ->transform(order_seed())
        ->capture_default_str();
    command
        .add_option(
            "--load", options.loads,
            "percentage of all GPUs that tasks request on average; or as-recorded: each pod of "
            "the trace once, with its recorded arrival and run time. as-recorded ignores "
            "--longest and --days, and runs one seed unless the policy breaks ties at random; "
            "several separated by commas")
        ->delimiter(',')
        ->check(CLI::Validator(load_fault, "PERCENT or as-recorded"))
        ->capture_default_str();
    command
        .add_option("--policy", churn.policies,
                    "policies, separated by commas (see tessera-sim replay); the first is the "
                    "baseline for the others")
        ->delimiter(',')
        ->capture_default_str();
    command
        .add_option("--seeds", churn.seeds,
                    "number of random sequences of arrivals; their seeds are 1, 2, ...")
        ->transform(whole_number(1, 1000))
        ->capture_default_str();
    add_sampling_seed(command, churn.sampling_seed);
    command
        .add_option("--longest", churn.longest_s,
                    "maximum run time in seconds; longer run times are cut to it")
        ->check(between(1, 1e9))
        ->capture_default_str();
    command
        .add_option("--days", churn.days,
                    "days to measure; a warm-up of one --longest before them is not measured")
        ->check(between(0.01, 1e5))
        ->capture_default_str();
    command.add_option("--patience", churn.patience_s, "seconds after which a task gives up")
        ->check(between(0, 1e9))
        ->capture_default_str();
    add_moves(command, options);
    add_plot(command, options.plot, "the figures over the load, without as-recorded runs,");
    add_jobs(command, churn.threads, "seeds");
    add_output(command, options.output);
    command.footer(kFooter + sim_exit_statuses());
}

Result<std::string> run_churn(const ChurnCommand& command, const Progress& progress) {
    ChurnSweepOptions options = command.churn;
    TRY_VOID(read_source(command.source, options.source));
    for (const std::string& load : command.loads)
        options.loads.push_back(*read_load(load));
    if (!command.plot.empty()) {
        const bool has_load =
            std::ranges::any_of(options.loads, [](int load) { return load != kAsRecorded; });
        if (!has_load) {
            return fail(Code::invalid_argument,
                        "--plot: the curves are over the load; name one in percent with --load");
        }
        TRY_VOID(check_plot(command.plot));
    }
    if (command.defrag_after_s) {
        options.moves = {.after_s = *command.defrag_after_s, .most_moves = command.most_moves};
        if (command.checkpoint_s) options.moves->checkpoint_s = *command.checkpoint_s;
    }
    TRY(const auto runs, churn_sweep(options, reader_beside(command.plot), progress));
    TRY_VOID(write_plot(command.plot, churn_chart(runs)));
    if (command.output == "json") return churn_json(runs);
    if (command.output == "csv") return churn_csv(runs);
    return churn_table(runs);
}

}  // namespace tessera
