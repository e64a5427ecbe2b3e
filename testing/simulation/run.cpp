#include "testing/simulation/run.hpp"

#include <fmt/format.h>

#include "base/log.hpp"
#include "testing/simulation/cluster.hpp"
#include "testing/simulation/invariant_checker.hpp"

namespace tessera::simulation {
namespace {

// Longer than any bind stays uncertain (scheduler.cpp, kUncertain), so what remains after it is
// leaked.
constexpr Time kRest = 150s;

// Adds the product's log to the journal, with the name of the process whose task logs.
class ProductLog {
  public:
    explicit ProductLog(Scene& scene) {
        set_log_sink([&scene](Event event, std::initializer_list<LogField> fields) {
            const SimulatedTask* task = scene.loop.current();
            scene.note(task == nullptr ? "keeper" : task->process->name(), [&] {
                std::string text(event_name(event));
                for (const LogField& field : fields)
                    text += fmt::format(" {}={}", field.name, field.text);
                return text;
            });
        });
    }
    ~ProductLog() { set_log_sink({}); }
    ProductLog(const ProductLog&) = delete;
    ProductLog& operator=(const ProductLog&) = delete;
};

class Run {
  public:
    explicit Run(const RunOptions& options)
        : scene_(options.seed, options.keep_log, options.unpromised),
          log_(scene_),
          cluster_(scene_),
          checker_(cluster_) {}

    ~Run() { scene_.over = true; }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    void go() {
        until(scene_.rng.between(Time(60s), Time(300s)), [] { return false; });
        scene_.has_faults = false;
        scene_.note("run", [] { return "the faults stop"; });
        const bool drained = until(InvariantChecker::kDrain, [this] {
            cluster_.users->clean_up();
            checker_.check_waiting();
            return cluster_.server.pods().empty();
        });
        if (!drained) {
            scene_.journal.violation(scene_.loop.now(),
                                     fmt::format("{} pods neither run nor end, the first is {}",
                                                 cluster_.server.pods().size(),
                                                 cluster_.server.pods().begin()->first.name));
        }
        until(kRest, [] { return false; });
        if (!scene_.journal.broken()) checker_.check_all_free();
    }

    [[nodiscard]] Outcome outcome() const {
        return {.seed = 0,
                .steps = scene_.loop.steps(),
                .simulated = scene_.loop.now(),
                .pods = cluster_.users->created(),
                .bound = cluster_.ground_truth.bound(),
                .started = cluster_.ground_truth.started(),
                .evicted = cluster_.server.evicted(),
                .nominated = cluster_.server.nominated(),
                .followed = cluster_.server.followed(),
                .orphans_met = cluster_.ground_truth.orphans_met(),
                .orphans_started = cluster_.ground_truth.orphans_started(),
                .faults = scene_.journal.faults(),
                .violation = scene_.journal.violation(),
                .log = scene_.journal.log()};
    }

  private:
    // Runs steps until `done` returns true; it is called every simulated second. False if `longest`
    // passes before that, or an invariant is broken.
    template <class Done>
    bool until(Time longest, const Done& done) {
        const Time end = scene_.loop.now() + longest;
        Time look = scene_.loop.now();
        while (scene_.loop.now() < end && !scene_.journal.broken()) {
            scene_.loop.step();
            cluster_.maybe_trouble();
            if (scene_.loop.now() < look) continue;
            look = scene_.loop.now() + 1s;
            checker_.look();
            if (done()) return true;
        }
        return false;
    }

    Scene scene_;
    ProductLog log_;
    Cluster cluster_;
    InvariantChecker checker_;
};

}  // namespace

Outcome run(const RunOptions& options) {
    Run one(options);
    one.go();
    Outcome outcome = one.outcome();
    outcome.seed = options.seed;
    return outcome;
}

}  // namespace tessera::simulation
