// The figures of a churn()'s measured window: waiting times, allocation, and the cost of moves.
#pragma once

#include <span>
#include <vector>

#include "simulator/churn/churn.hpp"

namespace tessera {

// The waiting times of arrived tasks, or of gangs.
class Waits {
  public:
    void note_asked(double milli) { asked_milli_ += milli; }
    void note_waits() { ++waited_; }
    void note_placed(double after_s) { waits_.push_back(after_s); }
    void note_gave_up(double after_s, double milli) {
        waits_.push_back(after_s);
        abandoned_milli_ += milli;
    }

    ChurnWaits result();

  private:
    double asked_milli_ = 0;
    double abandoned_milli_ = 0;
    std::size_t waited_ = 0;
    std::vector<double> waits_;
};

// The mean over the window's time of a value that changes at instants.
class Level {
  public:
    explicit Level(const ChurnWindow& window) : window_(window) {}

    void add(double at_s, double by) { set(at_s, value_ + by); }
    void set(double at_s, double value);
    double mean();

  private:
    const ChurnWindow window_;
    double value_ = 0;
    double sum_ = 0;  // value times seconds
    double since_s_ = window_.from_s;
};

// The thousandths of GPUs that the task, or the whole gang, requests.
double milli_of_all(const ChurnTask& task);

// Times never decrease. `tasks` outlive this.
class Ledger {
  public:
    Ledger(std::span<const ChurnTask> tasks, const ChurnWindow& window)
        : tasks_(tasks), window_(window), allocated_(window), fragments_(window) {}

    // The allocated GPUs change at that time.
    void allocate(double at_s, double by_milli) { allocated_.add(at_s, by_milli); }
    // FGD's fragmentation of all nodes, from that time on.
    void note_fragments(double at_s, double milli) { fragments_.set(at_s, milli); }
    void note_placed(std::size_t task, double at_s);
    // The task fitted nowhere on arrival.
    void note_waits(std::size_t task) {
        if (counts(task)) waits_of(task).note_waits();
    }
    void note_gave_up(std::size_t task);
    // A plan is sought.
    void note_plan_attempt() { ++moves_.plan_attempts; }
    void note_deviation() { ++moves_.deviations; }
    // Moves made room for the task.
    void note_helped(std::size_t task, double at_s);
    // A running task is evicted and begins again; `lost_s` of its work is done again.
    void note_evicted(std::size_t task, double at_s, double lost_s);

    // All figures except moves and decisions.
    ChurnResult result(double capacity_milli);
    [[nodiscard]] ChurnMoves moves(double capacity_milli) const;

  private:
    // Whether the task arrived in the window.
    [[nodiscard]] bool counts(std::size_t task) const { return is_measured(tasks_[task].comes_s); }
    [[nodiscard]] bool is_measured(double at_s) const {
        return at_s >= window_.from_s && at_s < window_.to_s;
    }
    Waits& waits_of(std::size_t task) { return tasks_[task].gang > 1 ? gangs_ : single_; }

    std::span<const ChurnTask> tasks_;
    const ChurnWindow window_;
    Level allocated_;
    Level fragments_;
    Waits single_;
    Waits gangs_;
    ChurnMoves moves_;
    double lost_milli_s_ = 0;
};

}  // namespace tessera
