#include "programs/churn_command.hpp"

#include <algorithm>

#include "programs/common/validators.hpp"
#include "programs/plot_option.hpp"

namespace tessera {
namespace {

std::string load_fault(const std::string& text) {
    const auto load = read_load(text);
    return load ? std::string() : load.error().text;
}

constexpr const char* kFooter =
    "The pods of the trace come again and again, at random instants, at the rate at which they ask "
    "for that much of the cards; the cluster is full to it from the start. CAME: the tasks, or "
    "gangs, in the time that is measured. HELD%: of all cards, in the mean over the time. FRAG%: "
    "FGD's fragmentation, the same. WAITED%: of the tasks, those that fitted nowhere when they "
    "came. REFUSED%: of the cards asked for, by tasks that gave up. All are means over the seeds, "
    "and but for CAME with half the width of an interval of 95 % over the seeds. Gangs, which wait "
    "and give up whole, have lines of their "
    "own. docs/placement.md says more.\n\n";

void add_moves(CLI::App& app_command, ChurnCommand& command) {
    CLI::Option* after =
        app_command
            .add_option("--defrag-after", command.defrag_after_s,
                        "seconds: for a task or gang with cards that has waited so long, room is "
                        "made by moves of running tasks, as tessera defrag --for POD --apply makes "
                        "it; by default nobody is moved")
            ->check(between(0.001, 1e9));
    app_command
        .add_option("--most-moves", command.most_moves,
                    "with --defrag-after: so many for one waiting task and no more")
        ->transform(whole_number(1, 1000))
        ->needs(after)
        ->capture_default_str();
    app_command
        .add_option("--checkpoint", command.checkpoint_s,
                    "with --defrag-after: seconds of a run after each of which a task writes down "
                    "what it has done; one that is moved goes on from there. 0: no work is lost. "
                    "By default it begins anew")
        ->check(between(0, 1e9))
        ->needs(after);
}

}  // namespace

CLI::App* add_churn(CLI::App& app, ChurnCommand& command) {
    ChurnSweepOptions& churn = command.churn;
    churn.trace = {"default", 42};
    churn.source.seed_option = "--order";
    churn.policies = {"fgd", "binpack", "expected-fill"};
    CLI::App* app_command = app.add_subcommand(
        "churn",
        "Let a trace's tasks come and go, and measure how long they wait and what is held");
    add_source(*app_command, churn.source, command.source);
    add_trace(*app_command, churn.trace.trace, command.source, "the trace, with times");
    app_command
        ->add_option("--order", churn.trace.seed,
                     "seed of an order of arrival that the trace has: its nodes are tried in that "
                     "order, and it draws gangs and nodes to do without")
        ->transform(order_seed())
        ->capture_default_str();
    app_command
        ->add_option(
            "--load", command.loads,
            "percent of all cards that tasks ask for in the mean; or as-recorded: each pod "
            "of the trace once, when it came and for as long as it ran, so that --longest and "
            "--days count for nothing and one seed is played, but of policies that draw lots; "
            "several separated by commas")
        ->delimiter(',')
        ->check(CLI::Validator(load_fault, "PERCENT or as-recorded"))
        ->capture_default_str();
    app_command
        ->add_option("--policy", churn.policies,
                     "policies, separated by commas: see tessera-sim replay; the others are "
                     "compared with the first")
        ->delimiter(',')
        ->capture_default_str();
    app_command->add_option("--seeds", churn.seeds, "how many: 1, 2, ... of who comes when")
        ->transform(whole_number(1, 1000))
        ->capture_default_str();
    add_sampling_seed(*app_command, churn.sampling_seed);
    app_command
        ->add_option("--longest", churn.longest_s,
                     "seconds: a pod that ran longer is taken to have run that long")
        ->check(between(1, 1e9))
        ->capture_default_str();
    app_command
        ->add_option("--days", churn.days, "that are measured, after one --longest that is not")
        ->check(between(0.01, 1e5))
        ->capture_default_str();
    app_command->add_option("--patience", churn.patience_s, "seconds after which a task gives up")
        ->check(between(0, 1e9))
        ->capture_default_str();
    add_moves(*app_command, command);
    add_plot(*app_command, command.plot, "the figures over the load, runs as recorded left out,");
    add_jobs(*app_command, churn.threads, "seeds");
    add_output(*app_command, command.output);
    app_command->footer(kFooter + sim_exit_statuses());
    return app_command;
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
