#include "app/sim/churn.hpp"

#include <algorithm>
#include <cmath>
#include <queue>
#include <random>
#include <vector>

#include "app/sim/trial.hpp"
#include "app/sim/waiting_line.hpp"
#include "domain/placement/fleet/fleet.hpp"
#include "domain/placement/fleet/index.hpp"

namespace tessera {
namespace {

struct Leaving {
    double at_s;
    std::size_t task;
    std::vector<Placed> places;  // one, or a gang's

    // The first to leave on top; among equals the first that came.
    bool operator<(const Leaving& other) const {
        return at_s != other.at_s ? at_s > other.at_s : task > other.task;
    }
};

// How long who came waited: of tasks, or of gangs.
class Waits {
  public:
    void note_asked(double milli) { asked_milli_ += milli; }
    void note_placed(double after_s) { waits_.push_back(after_s); }
    void note_gave_up(double after_s, double milli) {
        waits_.push_back(after_s);
        refused_milli_ += milli;
    }

    ChurnWaits result() {
        ChurnWaits out;
        out.came = waits_.size();
        if (waits_.empty()) return out;
        double sum = 0;
        double waited = 0;
        for (const double wait : waits_) {
            sum += wait;
            waited += wait > 0 ? 1 : 0;
        }
        const auto count = static_cast<double>(waits_.size());
        out.mean_wait_s = sum / count;
        out.waited = waited / count;
        out.refused_demand = asked_milli_ > 0 ? refused_milli_ / asked_milli_ : 0;
        const auto p99 = waits_.begin() + static_cast<std::ptrdiff_t>(0.99 * (count - 1));
        std::ranges::nth_element(waits_, p99);
        out.p99_wait_s = *p99;
        return out;
    }

  private:
    double asked_milli_ = 0;
    double refused_milli_ = 0;
    std::vector<double> waits_;
};

double milli_of_all(const ChurnTask& task) {
    return static_cast<double>(milli_of(task.task)) * task.gang;
}

// What the window saw.
class Ledger {
  public:
    Ledger(std::span<const ChurnTask> tasks, const ChurnWindow& window)
        : tasks_(tasks), window_(window) {}

    // The cards held change at that time.
    void hold(double at_s, double by_milli) {
        const double now = std::clamp(at_s, window_.from_s, window_.to_s);
        held_milli_s_ += held_milli_ * (now - since_s_);
        since_s_ = now;
        held_milli_ += by_milli;
    }
    void note_placed(std::size_t task, double at_s) {
        if (counts(task)) waits_of(task).note_placed(at_s - tasks_[task].comes_s);
    }
    void note_gave_up(std::size_t task) {
        if (counts(task))
            waits_of(task).note_gave_up(window_.patience_s, milli_of_all(tasks_[task]));
    }

    ChurnResult result(double capacity_milli) {
        hold(window_.to_s, 0);
        ChurnResult out;
        const double span = std::max(window_.to_s - window_.from_s, 1.0);
        out.held = held_milli_s_ / span / std::max(capacity_milli, 1.0);
        for (std::size_t i = 0; i < tasks_.size(); ++i) {
            if (counts(i)) waits_of(i).note_asked(milli_of_all(tasks_[i]));
        }
        out.tasks = single_.result();
        out.gangs = gangs_.result();
        return out;
    }

  private:
    [[nodiscard]] bool counts(std::size_t task) const {
        const double comes = tasks_[task].comes_s;
        return comes >= window_.from_s && comes < window_.to_s;
    }
    Waits& waits_of(std::size_t task) { return tasks_[task].gang > 1 ? gangs_ : single_; }

    std::span<const ChurnTask> tasks_;
    const ChurnWindow window_;
    double held_milli_ = 0;
    double held_milli_s_ = 0;
    double since_s_ = window_.from_s;
    Waits single_;
    Waits gangs_;
};

class Churn {
  public:
    Churn(const Workload& workload, std::span<const ChurnTask> tasks, const ChurnWindow& window,
          FleetPolicy& policy, int draws)
        : tasks_(tasks),
          window_(window),
          fleet_(workload.nodes),
          index_(fleet_, policy),
          draws_(static_cast<std::uint64_t>(draws)),
          line_(tasks),
          ledger_(tasks, window) {}

    ChurnResult run() {
        double capacity = 0;
        for (std::size_t node = 0; node < fleet_.size(); ++node)
            capacity += fleet_.load(node).free_milli();
        for (std::size_t task = 0; task < tasks_.size(); ++task) {
            const double now = tasks_[task].comes_s;
            leave_until(now);
            give_up(now);
            for (int i = 0; i < tasks_[task].gang; ++i)
                index_.arrived(tasks_[task].task);
            if (!try_to_place(task, now)) line_.add(task);
        }
        // Who came last has his time to wait.
        leave_until(window_.to_s + window_.patience_s);
        give_up(window_.to_s + 2 * window_.patience_s);
        return ledger_.result(capacity);
    }

  private:
    bool try_to_place(std::size_t task, double now) {
        const ChurnTask& of = tasks_[task];
        const std::vector<Task> alike(static_cast<std::size_t>(of.gang), of.task);
        auto places = place_together(fleet_, index_, caps_, alike, of.cap, draws_);
        if (!places) return false;
        leaving_.push({now + of.lasts_s, task, *std::move(places)});
        ledger_.hold(now, milli_of_all(of));
        ledger_.note_placed(task, now);
        return true;
    }
    void leave_until(double time_s) {
        while (!leaving_.empty() && leaving_.top().at_s <= time_s) {
            const Leaving one = leaving_.top();
            leaving_.pop();
            const ChurnTask& of = tasks_[one.task];
            for (const Placed& place : one.places) {
                fleet_.release(static_cast<std::size_t>(place.node), of.task, place.cards);
                caps_.remove(of.cap, static_cast<std::size_t>(place.node));
            }
            ledger_.hold(one.at_s, -milli_of_all(of));
            give_up(one.at_s);
            for (const Placed& place : one.places) {
                line_.offer(fleet_, static_cast<std::size_t>(place.node),
                            [&](std::size_t task) { return try_to_place(task, one.at_s); });
            }
        }
    }
    void give_up(double now) {
        while (const auto task = line_.take_before(now - window_.patience_s))
            ledger_.note_gave_up(*task);
    }

    std::span<const ChurnTask> tasks_;
    const ChurnWindow window_;
    Fleet fleet_;
    FleetIndex index_;
    NodeCaps caps_;
    std::mt19937_64 draws_;
    WaitingLine line_;
    Ledger ledger_;
    std::priority_queue<Leaving> leaving_;
};

}  // namespace

ChurnResult churn(const Workload& workload, std::span<const ChurnTask> tasks,
                  const ChurnWindow& window, const FleetPolicyRow& policy,
                  const ReplaySeeds& seeds) {
    const auto rates = policy.make({.mix = workload.mix, .sampling_seed = seeds.sampling});
    return Churn(workload, tasks, window, *rates, seeds.draws).run();
}

}  // namespace tessera
